"""Pitfalls of work that takes more than one transaction."""

from __future__ import annotations

from typing import Any

from simlib.course.pitfalls.pair import Finding, Pitfall, broken, on_postgres, sound
from simlib.live.provider_client import ProviderTimeout
from simlib.live.provider_server import provider
from simlib.live.recovery_points import pay_external
from simlib.scenarios.recovery_points import RecoveryPoints


def _points(**knobs: Any) -> Any:
    def run() -> Finding:
        story = RecoveryPoints(**knobs)
        done = story.run()
        return Finding(story.describe(done.counts), story.headline(done.counts).good)

    return run


def _timed_out(saved: bool) -> Any:
    """A provider that charges and does not answer; then the client comes again."""

    def ask_twice(conn: Any) -> Finding:
        kept: int | None = None
        codes: list[int] = []
        with provider("charge-then-drop") as bank:
            for _ in range(2):
                if kept is None:
                    try:
                        codes.append(pay_external(conn, bank, 1, "k", 5000).code)
                    except ProviderTimeout:
                        codes.append(504)
                    kept = codes[0] if saved else None
                else:
                    codes.append(kept)
            charged = len(bank.charges())
        told = " and ".join(map(str, codes))
        return Finding(f"told {told}; charged {charged} time", codes[-1] == 201)

    return on_postgres(ask_twice)


LEASES = (
    Pitfall(
        "lease without a token",
        "06",
        "look only whether a lease is there",
        "a random token, named by every later write",
        _points(fenced=False),
        _points(fenced=True),
    ),
    Pitfall(
        "lease that does not end",
        "06",
        "mark the row as running, and wait for its owner",
        "a lease that ends by itself",
        _points(ends=False, trouble="dies after charge"),
        _points(trouble="dies after charge"),
    ),
    Pitfall(
        "lease kept on an error",
        "06",
        "raise, and leave the lease where it is",
        "let go of it, then raise",
        broken("lease_kept_on_error"),
        sound(3),
    ),
    Pitfall(
        "request compared after the lease",
        "06",
        "take the lease, then look whether it is the same request",
        "compare first; a 422 takes nothing",
        broken("fingerprint_after_the_lease"),
        sound(1),
    ),
    Pitfall(
        "replay that takes the lease",
        "06",
        "take the lease, then see that it is done",
        "serve what is saved before any lease",
        broken("replay_takes_the_lease"),
        sound(0),
    ),
    Pitfall(
        "lease shorter than the call",
        "06",
        "a lease of 5 s around a call that may take longer, without a key downstream",
        "a lease well over the call's limit, and a key for the provider",
        _points(lease=5, downstream=False),
        _points(lease=30, downstream=True),
    ),
    Pitfall(
        "two calls in one step",
        "06",
        "charge and ship between two saves",
        "one outside call for each recovery point",
        broken("two_calls_in_one_phase"),
        sound(3),
    ),
    Pitfall(
        "time-out saved as an answer",
        "06",
        "save 504 under the key: final",
        "free the lease; the retry finds out",
        _timed_out(True),
        _timed_out(False),
    ),
    Pitfall(
        "500 saved for ever",
        "06",
        "save whatever the handler said",
        "save what is final, retry the rest",
        broken("saved_500"),
        sound(3),
    ),
)
