"""A circuit breaker: stop calling what keeps failing, then try it carefully again."""

from __future__ import annotations

from enum import Enum

from simlib.policy.settings import above_zero, whole


class State(Enum):
    """Closed lets calls through, open refuses them, half-open lets a few probes through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """Opens after `failures` failed calls in a row, refuses for `cool_down` seconds, then admits `probes` calls.

    When every probe has succeeded it closes; one failed probe opens it again. A probe whose result never comes
    back does not wedge it: a cool-down after the last probe the next ones are admitted. Let the cool-down be longer
    than a call can take, so that no earlier call's result is taken for a probe's. Times are seconds on the caller's
    clock; should that clock go back, a cool-down ends no later than `cool_down` after the new time.

    Source: M. Nygard, "Release It!", 2nd ed., ch. 5.
    """

    def __init__(self, failures: int = 5, cool_down: float = 5.0, probes: int = 1) -> None:
        whole("CircuitBreaker", failures=failures, probes=probes)
        above_zero("CircuitBreaker", cool_down=cool_down)
        self.failures = failures
        self.cool_down = cool_down
        self.probes = probes
        self.state = State.CLOSED
        self._failed = 0
        self._since = 0.0
        self._admitted = 0
        self._passed = 0

    def allow(self, now: float) -> bool:
        """May a call be made now? True in half-open has counted it as a probe."""
        self._since = min(self._since, now)
        if not self.ready(now):
            return False
        if self._shut:
            self.state, self._admitted, self._passed = State.HALF_OPEN, 0, 0
        if self.state is State.HALF_OPEN:
            self._admitted += 1
            self._since = now
        return True

    def ready(self, now: float) -> bool:
        """Would `allow` say yes at that time? Asking counts nothing."""
        return not self._shut or now - min(self._since, now) >= self.cool_down

    def record(self, ok: bool, now: float) -> None:
        """Tell how a call that was allowed ended; `ok`: the server did its part (`Outcome.served`).

        Results that come while it is open are too late to matter.
        """
        if self.state is State.CLOSED:
            self._failed = 0 if ok else self._failed + 1
            if self._failed >= self.failures:
                self._open(now)
        elif self.state is State.HALF_OPEN:
            self._passed += ok
            if not ok:
                self._open(now)
            elif self._passed >= self.probes:
                self.state, self._failed = State.CLOSED, 0

    @property
    def _shut(self) -> bool:
        """Open, or half-open with every probe already out: only a cool-down lets the next call through."""
        return self.state is State.OPEN or (self.state is State.HALF_OPEN and self._admitted >= self.probes)

    def _open(self, now: float) -> None:
        self.state, self._since = State.OPEN, now
