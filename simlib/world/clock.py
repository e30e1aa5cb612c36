"""The clock of the simulated world: SimPy's, with entries that cost what a bare heap costs.

A SimPy event is an object with callbacks, and a process a generator; both are pleasant to write and slow to run by
the million. Our parts need less: "at this time, call this function". So a `Clock` is a `simpy.Environment` whose
queue holds nothing but such calls; SimPy's own events stand in it as calls that tell those who wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

from simpy import Environment
from simpy.core import BoundClass, EmptySchedule, SimTime, StopSimulation
from simpy.events import NORMAL, Event, EventPriority

Call = Callable[[float, Any], object]
"""What an entry calls: the time (seconds) is handed in, then the argument it was scheduled with."""

_FIRST = EventPriority(-1)  # before whatever else happens at that time


class Clock(Environment):
    """Time, and what is going to happen when; equal times happen in the order in which they were scheduled.

    An entry is `(time, 1, number, call, argument)` on `heap`; the 1 is SimPy's normal priority. The number,
    `next(numbers)`, is unique, so two entries are never compared beyond it. Parts in the hot path push entries
    themselves; everybody else calls `at` or `after`.
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
        heappush(self.heap, (time, NORMAL, next(self.numbers), call, argument))

    def after(self, delay: float, call: Call, argument: Any = None) -> None:
        """Call `call(time, argument)` in `delay` seconds, which may be 0 but not less."""
        self.at(self._now + delay, call, argument)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: SimTime = 0) -> None:
        """Let a SimPy event happen in `delay` seconds; SimPy calls this for every event that is triggered."""
        heappush(self.heap, (self._now + delay, priority, next(self.numbers), self._happen, event))

    def step(self) -> None:
        """Let the next thing happen; while `run` drives, everything that is left. EmptySchedule if there is nothing."""
        heap = self.heap
        driven = self._driven
        while True:
            try:
                now, _, _, call, argument = heappop(heap)
            except IndexError:
                raise EmptySchedule from None
            self._now = now
            call(now, argument)
            if not driven:
                return

    def run(self, until: SimTime | Event | None = None) -> Any:
        """Run until nothing is left, until a time (what stands at exactly that time stays), or until an event."""
        self._driven = True
        try:
            return super().run(until)
        finally:
            self._driven = False

    def _happen(self, now: float, event: Event) -> None:
        """Tell those who wait for a SimPy event. A failure that none of them takes up ends the run."""
        callbacks: Any = cast(Any, event).callbacks
        waiting = iter(callbacks)
        event.callbacks = None  # type: ignore[assignment] - how SimPy marks an event that has happened
        try:
            for tell in waiting:
                tell(event)
        except StopSimulation:  # the run was to end here; the others are told when it goes on
            event.callbacks = [*waiting]
            self.schedule(event, _FIRST)
            raise
        if not event.ok and not event.defused:
            failure: Any = event.value
            raise type(failure)(*failure.args) from failure
