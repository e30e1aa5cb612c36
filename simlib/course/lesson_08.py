"""The exercises of lesson 08."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from typing import Any

from simlib.course.check import NotYet, a_function
from simlib.policy.classify import GRPC, HTTP, Outcome
from simlib.policy.retry_after import parse_retry_after
from simlib.scenarios.jitter import Jitter

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)
HEADERS = ("3", "0", "", "soon", "-5", "1m0s", "Wed, 21 Oct 2026 07:28:30 GMT", "Wed, 21 Oct 2026 07:00:00 GMT")
CLIENTS, SEEDS = 50, range(30, 36)


def exercise_1(answer: Any) -> str:
    """Whether to try again, from the status of an answer to a request that carries a key."""
    fn = a_function(answer)
    for status, row in HTTP.items():
        right = row.outcome in (Outcome.TRANSIENT, Outcome.UNKNOWN)
        if bool(fn(status)) is not right:
            should = "is worth another try" if right else "is not"
            raise NotYet(f"{status} {should}: {row.why} ({row.source}).")
    if fn(200) or fn(201):
        raise NotYet("200 and 201 say that it was done; there is nothing to try again.")
    return f"{len(HTTP)} statuses, and each as the tables have it; gRPC's {len(GRPC)} say the same in other words."


def exercise_2(answer: Any) -> str:
    """A backoff that gets fifty writers through with few calls and in good time."""
    if not hasattr(answer, "delay"):
        raise NotYet(
            f"Your answer is {answer!r}; give an object with delay(attempt, rng, previous), such as sl.Backoff()."
        )
    _reasonable(answer)
    mine = [Jitter(clients=CLIENTS).run_with(answer, seed).counts for seed in SEEDS]
    ours = [Jitter(clients=CLIENTS, backoff="full").run(seed).counts for seed in SEEDS]
    calls, ms = (sum(c[name] for c in mine) / sum(c[name] for c in ours) for name in ("calls", "finish_ms"))
    if calls > 1.25:
        raise NotYet(
            f"It gets {CLIENTS} writers through, with {calls:.1f} times the writes of full jitter: wait longer."
        )
    if ms > 2.5:
        raise NotYet(f"It takes {ms:.1f} times as long as full jitter until the last of {CLIENTS} writers is done.")
    return f"{calls:.2f} of full jitter's writes, {ms:.2f} of its time."


def exercise_3(answer: Any) -> str:
    """Seconds to wait as a Retry-After header says, or None where it says nothing that can be used."""
    fn = a_function(answer)
    for header in HEADERS:
        right, said = parse_retry_after(header, NOW), fn(header, NOW)
        if not _same(said, right):
            raise NotYet(f"For {header!r}, at {NOW:%H:%M:%S} GMT, yours says {said!r}. {_hint(header, right)}")
    return f"{len(HEADERS)} headers, garbage and past dates among them, and no sleep that is negative or for ever."


def _reasonable(backoff: Any) -> None:
    rng = random.Random(7)
    for attempt in (1, 2, 10, 1000):
        wait = backoff.delay(attempt, rng, None if attempt == 1 else 1.0)
        if not isinstance(wait, int | float) or not 0 <= wait <= 10:
            raise NotYet(f"After try {attempt} it waits {wait!r}; a wait is a number of seconds from 0 to, here, 10.")


def _same(said: Any, right: float | None) -> bool:
    if right is None or said is None:
        return said is right
    return isinstance(said, int | float) and math.isclose(said, right, abs_tol=0.01)


def _hint(header: str, right: float | None) -> str:
    if right is None:
        return "It is no number of seconds and no date, so it says nothing; it does not say now."
    return (
        "A date in the past means now."
        if right == 0
        else "A header is whole seconds, or an HTTP date, which is in GMT."
    )
