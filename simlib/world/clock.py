"""The clock of the simulated world: SimPy's, with entries that cost what a bare heap costs.

A SimPy event is an object with callbacks, and a process a generator; both are pleasant to write and slow to run by
the million. Our parts need less: "at this time, call this function". So a `Clock` is a `simpy.Environment` whose
queue also takes *light entries*. SimPy's own processes, events and conditions go on working beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from simpy import Environment
from simpy.core import BoundClass, SimTime
from simpy.events import NORMAL, Event

Call = Callable[[float, Any], object]
"""What a light entry calls: the time (seconds) is handed in, then the argument it was scheduled with."""


class Clock(Environment):
    """Time, and what is going to happen when; equal times happen in the order in which they were scheduled.

    A light entry is `(time, 1, number, None, call, argument)` on `heap`, where a SimPy event stands as
    `(time, priority, number, event)`. The number, `next(numbers)`, is unique, so two entries are never compared
    beyond it. Parts in the hot path push entries themselves; everybody else calls `at` or `after`.
    """

    heap: list[Any]
    numbers: count[int]

    def __init__(self, initial_time: SimTime = 0) -> None:
        super().__init__(initial_time)
        self.heap = self._queue
        self.numbers = self._eid
        self._driven = False
        for name, made in vars(Environment).items():
            if isinstance(made, BoundClass):  # bound once, as SimPy does for its own class
                setattr(self, name, getattr(self, name))

    def at(self, time: float, call: Call, argument: Any = None) -> None:
        """Call `call(time, argument)` at `time`, in seconds; ValueError for a time that has passed, or nan."""
        if not time >= self._now:
            raise ValueError(f"time is {time!r}, and it is {self._now} already; nothing happens in the past.")
        heappush(self.heap, (time, NORMAL, next(self.numbers), None, call, argument))

    def after(self, delay: float, call: Call, argument: Any = None) -> None:
        """Call `call(time, argument)` in `delay` seconds, which may be 0 but not less."""
        self.at(self._now + delay, call, argument)

    def step(self) -> None:
        """Let the next thing happen; while `run` drives, also all light entries in front of the next SimPy event."""
        heap = self.heap
        driven = self._driven
        while True:  # not `while heap and ...`: Python 3.11 speeds up only loops that jump back unconditionally
            if not heap or heap[0][3] is not None:
                break
            now, _, _, _, call, argument = heappop(heap)
            self._now = now
            call(now, argument)
            if not driven:
                return
        super().step()

    def run(self, until: SimTime | Event | None = None) -> Any:
        """Run until nothing is left, until a time (what stands at exactly that time stays), or until an event."""
        self._driven = True
        try:
            return super().run(until)
        finally:
            self._driven = False
