"""How often something happened lately: what budgets that look back over some seconds count with."""

from __future__ import annotations

from collections import deque


class Window:
    """Moments of the last `seconds`, counted.

    Should the caller's clock go back, what lies ahead of it then counts as happening now, so it is still forgotten
    after `seconds`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._times: deque[float] = deque()

    def add(self, now: float) -> None:
        """It happens now."""
        self._settle(now)
        self._times.append(now)

    def take_back(self) -> None:
        """The latest did not happen after all."""
        if self._times:
            self._times.pop()

    def count(self, now: float) -> int:
        """How often it happened in the `seconds` up to now."""
        self._settle(now)
        return len(self._times)

    def _settle(self, now: float) -> None:
        times = self._times
        ahead = 0
        while times and times[-1] > now:
            times.pop()
            ahead += 1
        times.extend([now] * ahead)
        while times and times[0] <= now - self.seconds:
            times.popleft()
