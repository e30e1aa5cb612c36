"""One decision after every failed try: wait so long and try again, or stop and say why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from simlib.policy.backoff import Backoff, Delays, Rng
from simlib.policy.breaker import CircuitBreaker
from simlib.policy.budget import Budget
from simlib.policy.classify import Outcome
from simlib.policy.settings import above_zero, is_wait, whole

Reason = Literal["success", "permanent", "attempts", "deadline", "budget", "breaker"]
Delay: TypeAlias = Callable[[int, Rng, float | None], float]
"""A backoff as a plain function: (attempt, rng, previous) -> seconds."""


class BadPolicy(ValueError):
    """A backoff or a policy, perhaps a learner's own, gave what no client can do; the message names both."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Try again after this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not try again. Reasons: success, permanent, attempts, deadline, budget, breaker."""

    reason: Reason


class Policy(Protocol):
    """The shape of a retry policy: what clients take, and what a learner may write. See `RetryPolicy`."""

    @property
    def deadline(self) -> float: ...
    @property
    def per_try(self) -> float: ...
    @property
    def budget(self) -> Budget | None: ...
    @property
    def breaker(self) -> CircuitBreaker | None: ...

    def after(
        self,
        attempt: int,
        outcome: Outcome,
        *,
        elapsed: float,
        now: float,
        rng: Rng,
        previous: float | None = None,
        retry_after: float | None = None,
        timed_out: bool = False,
    ) -> Wait | Stop: ...


@dataclass(frozen=True)
class RetryPolicy:
    """What to retry, how often, how long to wait and when to stop; it decides and touches nothing else.

    `attempts` counts all tries, the first included. `deadline` is one limit in seconds for all tries and all waits
    together; `per_try` limits a single try. `backoff` is anything with Backoff's `delay`, or a function
    (attempt, rng, previous) -> seconds; `budget` and `breaker` are shared by whoever shares the object.
    """

    attempts: int = 5
    deadline: float = 10.0
    per_try: float = 2.0
    backoff: Delays | Delay = field(default_factory=Backoff)
    budget: Budget | None = None
    breaker: CircuitBreaker | None = None

    def __post_init__(self) -> None:
        whole("RetryPolicy", attempts=self.attempts)
        above_zero("RetryPolicy", or_endless=True, deadline=self.deadline, per_try=self.per_try)
        if not callable(_delay(self.backoff)):
            raise ValueError(
                f"RetryPolicy's backoff is {self.backoff!r}; it takes a Backoff, anything with its delay, "
                "or a function (attempt, rng, previous) -> seconds."
            )

    def after(
        self,
        attempt: int,
        outcome: Outcome,
        *,
        elapsed: float,
        now: float,
        rng: Rng,
        previous: float | None = None,
        retry_after: float | None = None,
        timed_out: bool = False,
    ) -> Wait | Stop:
        """What to do once try number `attempt` (from 1) has ended with `outcome`.

        `elapsed` is seconds since the first try began, `now` seconds on the clock that budget and breaker share,
        `previous` the wait before this try, `retry_after` the server's hint in seconds, which wins over the backoff;
        `timed_out` tells a budget that this try ended without an answer.
        A wait that would reach the deadline is not begun. Raises `BadPolicy` when the backoff gives no wait.
        """
        if outcome is Outcome.SUCCESS:
            return Stop("success")
        if outcome is Outcome.PERMANENT:
            return Stop("permanent")
        if attempt >= self.attempts:
            return Stop("attempts")
        wait = self._backoff(attempt, rng, previous) if retry_after is None else max(0.0, retry_after)
        if max(0.0, elapsed) + wait >= self.deadline:  # elapsed is below 0 where the clock went back
            return Stop("deadline")
        if self.breaker is not None and not self.breaker.ready(now + wait):
            return Stop("breaker")
        if self.budget is not None and not self.budget.try_retry(now, rng, timed_out=timed_out):
            return Stop("budget")
        return Wait(wait)

    def _backoff(self, attempt: int, rng: Rng, previous: float | None) -> float:
        delay = _delay(self.backoff)
        must = f"for attempt {attempt}; it must return seconds from 0 up."
        try:
            wait = delay(attempt, rng, previous)
        except Exception as error:
            raise BadPolicy(f"{_name(delay)} raised {error!r} {must}") from error
        if not is_wait(wait):
            raise BadPolicy(f"{_name(delay)} gave {wait!r} {must}")
        return float(wait)


def ask(
    policy: Policy,
    attempt: int,
    outcome: Outcome,
    *,
    elapsed: float,
    now: float,
    rng: Rng,
    previous: float | None = None,
    retry_after: float | None = None,
    timed_out: bool = False,
) -> Wait | Stop:
    """What `policy.after` decides, held to its shape: how a client asks a policy that may be a learner's own.

    Raises `BadPolicy`, naming the policy, where it raises or gives neither a possible `Wait` nor a `Stop`.
    """
    try:
        step: Any = policy.after(
            attempt,
            outcome,
            elapsed=elapsed,
            now=now,
            rng=rng,
            previous=previous,
            retry_after=retry_after,
            timed_out=timed_out,
        )
    except BadPolicy:
        raise
    except Exception as error:
        raise BadPolicy(f"{_name(policy.after)} raised {error!r} {_due(attempt)}") from error
    if isinstance(step, Stop) or (isinstance(step, Wait) and is_wait(step.seconds)):
        return step
    raise BadPolicy(f"{_name(policy.after)} gave {step!r} {_due(attempt)}")


def _due(attempt: int) -> str:
    return f"for attempt {attempt}; it must return Wait(seconds from 0 up) or Stop(reason)."


def _delay(backoff: Any) -> Delay:
    return getattr(backoff, "delay", backoff)


def _name(called: Any) -> str:
    """How a function, a method or an object that is called is known to the one who wrote it."""
    owner = getattr(called, "__self__", None)
    name: str = getattr(called, "__name__", type(called).__name__)
    return name if owner is None else f"{type(owner).__name__}.{name}"
