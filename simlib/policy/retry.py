"""One decision after every failed try: wait so long and try again, or stop and say why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

from simlib.policy.backoff import Backoff, Delays, Rng
from simlib.policy.breaker import CircuitBreaker
from simlib.policy.budget import Budget
from simlib.policy.classify import Outcome

Reason = Literal["success", "permanent", "attempts", "deadline", "budget", "breaker"]


class BadBackoff(ValueError):
    """A backoff, perhaps a learner's own, gave something that is no wait; the message names it and what it gave."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Try again after this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not try again. Reasons: success, permanent, attempts, deadline, budget, breaker."""

    reason: Reason


@dataclass(frozen=True)
class RetryPolicy:
    """What to retry, how often, how long to wait and when to stop; it decides and touches nothing else.

    `attempts` counts all tries, the first included. `deadline` is one limit in seconds for all tries and all waits
    together; `per_try` limits a single try. `backoff` is anything with Backoff's `delay`; `budget` and `breaker` are
    shared by whoever shares the object.
    """

    attempts: int = 5
    deadline: float = 10.0
    per_try: float = 2.0
    backoff: Delays = field(default_factory=Backoff)
    budget: Budget | None = None
    breaker: CircuitBreaker | None = None

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"RetryPolicy's attempts is {self.attempts!r}; it takes a whole number from 1 up.")
        for name in ("deadline", "per_try"):
            if not getattr(self, name) > 0:
                raise ValueError(f"RetryPolicy's {name} is {getattr(self, name)!r}; it takes seconds above 0.")

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
        A wait that would reach the deadline is not begun. Raises `BadBackoff` when the backoff gives no wait.
        """
        if outcome is Outcome.SUCCESS:
            return Stop("success")
        if outcome is Outcome.PERMANENT:
            return Stop("permanent")
        if attempt >= self.attempts:
            return Stop("attempts")
        wait = self._backoff(attempt, rng, previous) if retry_after is None else max(0.0, retry_after)
        if elapsed + wait >= self.deadline:
            return Stop("deadline")
        if self.breaker is not None and not self.breaker.ready(now + wait):
            return Stop("breaker")
        if self.budget is not None and not self.budget.try_retry(now, timed_out=timed_out):
            return Stop("budget")
        return Wait(wait)

    def _backoff(self, attempt: int, rng: Rng, previous: float | None) -> float:
        name = type(self.backoff).__name__
        try:
            wait = self.backoff.delay(attempt, rng, previous)
        except Exception as error:
            raise BadBackoff(f"{name}.delay raised {error!r} for attempt {attempt}; it must return seconds.") from error
        if not isinstance(wait, Real) or not 0.0 <= wait < math.inf:
            raise BadBackoff(f"{name}.delay gave {wait!r} for attempt {attempt}; it must return seconds from 0 up.")
        return float(wait)
