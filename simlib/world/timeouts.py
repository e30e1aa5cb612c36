"""Who waits for an answer, and until when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappush

from simlib.world.clock import Clock
from simlib.world.message import Request


class Timeouts:
    """Calls that all wait equally long: they stand in one line, and only the first of it is on the clock.

    `waiting` says which attempt of a request is waited for. An answer takes its entry out; the place in the line is
    then stale and dropped when it comes to the front, as is one whose request has moved on to another attempt.
    """

    def __init__(self, clock: Clock, seconds: float, ring: Callable[[float, Request], None]) -> None:
        self.waiting: dict[int, int] = {}
        self._heap = clock.heap
        self._numbers = clock.numbers
        self._seconds = seconds
        self._ring = ring
        self._line: deque[tuple[float, Request]] = deque()

    def start(self, now: float, request: Request) -> None:
        """Wait for the answer to this try, from now on."""
        self.waiting[request[0]] = request[1]
        until = now + self._seconds
        line = self._line
        if not line:
            heappush(self._heap, (until, 1, next(self._numbers), self._first, None))
        line.append((until, request))

    def start_shorter(self, now: float, request: Request, seconds: float) -> None:
        """Wait less long than the others."""
        self.waiting[request[0]] = request[1]
        heappush(self._heap, (now + seconds, 1, next(self._numbers), self._alone, request))

    def _first(self, now: float, _: None) -> None:
        line, waiting = self._line, self.waiting
        while line:
            until, request = line[0]
            live = waiting.get(request[0]) == request[1]
            if live and until > now:
                heappush(self._heap, (until, 1, next(self._numbers), self._first, None))
                return
            if live:
                self._alone(now, request)
            line.popleft()  # not before: while the line is not empty, its first is on the clock

    def _alone(self, now: float, request: Request) -> None:
        if self.waiting.get(request[0]) == request[1]:
            del self.waiting[request[0]]
            self._ring(now, request)
