"""One call and all its tries, as decisions without I/O: what to send, how long to pause, when to stop.

`tries` is a generator. It yields `Send` and `Pause`, is sent back how each try `Ended`, and returns why it stopped.
Whoever drives it does the sending and the sleeping, with threads or on asyncio; the loop is written once, here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from random import SystemRandom
from time import monotonic

from simlib.live.tape import NO_TAPE, NOBODY, Try, Writer
from simlib.policy.backoff import Rng
from simlib.policy.classify import Outcome, classify_http
from simlib.policy.retry import Policy, Stop, ask
from simlib.policy.retry_after import parse_retry_after


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request, as this try, and wait for its answer at most `timeout` seconds in all."""

    attempt: int
    timeout: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Let this many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How a try ended: with an answer (`status`, `headers`), or without one.

    `sent=False` tells that the request surely never left; `timed_out`, that the limit ran out.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timed_out: bool = False
    sent: bool = True


@dataclass(frozen=True)
class Surroundings:
    """What a call needs of the world: the time since some moment, the date, and luck."""

    clock: Callable[[], float] = monotonic
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    rng: Rng = field(default_factory=SystemRandom)


HERE = Surroundings()


def tries(
    policy: Policy,
    here: Surroundings = HERE,
    *,
    running: bool = True,
    about: Try = NOBODY,
    tape: Writer = NO_TAPE,
    actor: str = "phone",
    peer: str = "server",
) -> Generator[Send | Pause, Ended | None, str]:
    """All tries of one intent. Returns the policy's reason to stop.

    `running` tells that this API answers 409 only while the same key is being worked on, so that it is worth another
    try. The deadline is one, for all tries and waits: a try never outlasts it, a wait that would is not begun, and if
    the sleep took longer than asked (a laptop was closed), nothing more is sent.
    """
    began = here.clock()
    guard = _Guard(policy)
    previous: float | None = None
    if policy.budget is not None and not policy.budget.on_request(began, here.rng):
        return "budget"
    for attempt in count(1):
        now = here.clock()
        left = policy.deadline - max(0.0, now - began)
        this = Try(about.intent, attempt, about.key)
        reason = _barred(policy, left, now)
        if reason is not None:
            guard.unsent(now)
            tape.add(actor, "give_up", this, status=reason)
            return reason
        tape.add(actor, "send", this, peer)
        try:
            ended = yield Send(attempt, min(policy.per_try, left))
        except GeneratorExit:  # whoever drives this was stopped in mid-try
            guard.ended(False, here.clock())
            raise
        assert ended is not None
        now = here.clock()
        outcome = _outcome(ended, running)
        if ended.status is None:
            tape.add(actor, "timeout", this, peer, "" if ended.timed_out else "dropped")
        else:
            tape.add(actor, "receive", this, peer, str(ended.status))
        guard.ended(outcome in (Outcome.SUCCESS, Outcome.PERMANENT), now)
        step = ask(
            policy,
            attempt,
            outcome,
            elapsed=now - began,
            now=now,
            rng=here.rng,
            previous=previous,
            retry_after=parse_retry_after(ended.headers.get("retry-after"), here.today()),
            timed_out=ended.status is None,
        )
        if isinstance(step, Stop):
            if step.reason not in ("success", "permanent"):
                tape.add(actor, "give_up", this, status=step.reason)
            return step.reason
        guard.granted(timed_out=ended.status is None)
        tape.add(actor, "backoff", this, value=step.seconds)
        try:
            yield Pause(step.seconds)
        except GeneratorExit:
            guard.unsent(here.clock())
            raise
        previous = step.seconds
    raise AssertionError("count() has no end")


class _Guard:
    """What budget and breaker are told: how each try that was granted ended, or that it was never sent."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._retry = False
        self._after_timeout = False

    def granted(self, *, timed_out: bool) -> None:
        """The next try is a retry; `timed_out`: the one before it had no answer."""
        self._retry, self._after_timeout = True, timed_out

    def ended(self, ok: bool, now: float) -> None:
        if self._policy.budget is not None:
            self._policy.budget.on_result(ok, now, retry=self._retry, timed_out=self._after_timeout)
        if self._policy.breaker is not None:
            self._policy.breaker.record(ok, now)

    def unsent(self, now: float) -> None:
        if self._policy.budget is not None:
            self._policy.budget.on_unsent(now, retry=self._retry, timed_out=self._after_timeout)


def _barred(policy: Policy, left: float, now: float) -> str | None:
    """Why a try may not be sent after all."""
    if left <= 0.0:
        return "deadline"
    if policy.breaker is not None and not policy.breaker.allow(now):
        return "breaker"
    return None


def _outcome(ended: Ended, running: bool) -> Outcome:
    if ended.status is not None:
        return classify_http(ended.status, running=running)
    return Outcome.UNKNOWN if ended.sent else Outcome.TRANSIENT
