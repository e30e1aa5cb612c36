"""The clock is SimPy's in every respect, with light entries beside its events."""

from __future__ import annotations

import math

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from simlib.world.clock import Clock

WHEN = st.sampled_from([0.0, 1.0, 1.0, 2.0, 2.5])


@given(st.lists(st.tuples(WHEN, st.booleans())))
def test_equal_times_happen_in_the_order_in_which_they_were_scheduled(plan: list[tuple[float, bool]]) -> None:
    """Light entries and SimPy events alike, mixed at will."""
    clock, seen = Clock(), []
    for number, (time, light) in enumerate(plan):
        if light:
            clock.at(time, lambda now, n: seen.append((now, n)), number)
        else:
            event = clock.timeout(time, number)
            event.callbacks.append(lambda e: seen.append((clock.now, e.value)))
    clock.run()
    assert seen == sorted(((time, number) for number, (time, _) in enumerate(plan)), key=lambda s: s[0])


@given(st.lists(st.tuples(WHEN, st.booleans()), max_size=12))
def test_stepping_tells_the_same_story_as_running(plan: list[tuple[float, bool]]) -> None:
    """A step is one happening, light or not, and `peek` says when it is."""

    def story(step_by_step: bool) -> list[tuple[float, int]]:
        clock, seen = Clock(), []
        for number, (time, light) in enumerate(plan):
            if light:
                clock.at(time, lambda now, n: seen.append((now, n)), number)
            else:
                clock.timeout(time, number).callbacks.append(lambda e: seen.append((clock.now, e.value)))
        while step_by_step and clock.peek() < math.inf:
            expected, before = clock.peek(), len(seen)
            clock.step()
            assert (clock.now, len(seen)) == (expected, before + 1)
        clock.run()
        return seen

    assert story(step_by_step=True) == story(step_by_step=False)


def test_a_process_and_light_entries_share_the_time() -> None:
    """A learner's own SimPy process runs beside our parts."""
    clock, seen = Clock(), []

    def process():
        while True:
            yield clock.timeout(2)
            seen.append(("process", clock.now))

    def tick(now: float, left: int) -> None:
        seen.append(("light", now))
        if left:
            clock.after(1.5, tick, left - 1)

    clock.process(process())
    clock.after(1.5, tick, 3)
    clock.run(until=6.5)
    light = [("light", 1.5 * k) for k in range(1, 5)]
    process_first = [("process", 2.0 * k) for k in range(1, 4)]  # at 6.0: it was scheduled at 4.0, the other at 4.5
    assert seen == sorted(process_first + light, key=lambda s: s[1])
    assert clock.now == 6.5


def test_run_until_a_time_leaves_what_stands_at_exactly_that_time() -> None:
    """As in SimPy; and the time given is the time it is afterwards."""
    clock, seen = Clock(), []
    clock.at(9.0, lambda now, _: seen.append(now))
    clock.at(10.0, lambda now, _: seen.append(now))
    clock.run(until=10)
    assert (seen, clock.now) == ([9.0], 10)
    clock.run()
    assert seen == [9.0, 10.0]


def test_run_until_an_event_gives_its_value() -> None:
    """The event may be triggered from a light entry."""
    clock = Clock()
    event = clock.event()
    clock.at(3.0, lambda now, _: event.succeed("done"))
    clock.at(4.0, lambda now, _: pytest.fail("ran on"))
    assert clock.run(until=event) == "done"
    assert clock.now == 3.0


def test_an_event_that_never_happens_is_told() -> None:
    """As in SimPy, also when only light entries were left."""
    clock = Clock()
    clock.at(1.0, lambda now, _: None)
    with pytest.raises(RuntimeError, match="No scheduled events left"):
        clock.run(until=clock.event())


def test_an_empty_clock_has_nothing_to_step() -> None:
    """And no next time."""
    clock = Clock()
    assert clock.peek() == math.inf
    with pytest.raises(simpy.core.EmptySchedule):
        clock.step()


def test_a_failure_nobody_defuses_ends_the_run() -> None:
    """An error in a process and one in a light entry both reach the caller, and the clock can go on."""
    clock = Clock()

    def process():
        yield clock.timeout(1)
        raise KeyError("in a process")

    def broken(now: float, _: object) -> None:
        raise LookupError("in a light entry")

    clock.process(process())
    clock.at(2.0, broken)
    clock.at(3.0, lambda now, _: None)
    with pytest.raises(KeyError, match="in a process"):
        clock.run()
    with pytest.raises(LookupError, match="in a light entry"):
        clock.run()
    clock.run()
    assert clock.now == 3.0


def test_interrupts_and_conditions_work_beside_light_entries() -> None:
    """A light entry interrupts a process that waits for the first of two events."""
    clock, seen = Clock(), []

    def process():
        try:
            yield clock.timeout(5) | clock.timeout(9)
        except simpy.Interrupt as interrupt:
            seen.append((clock.now, interrupt.cause))
        yield clock.timeout(1) & clock.timeout(2)
        seen.append((clock.now, "both"))

    waiting = clock.process(process())
    clock.at(3.0, lambda now, _: waiting.interrupt("light"))
    clock.run(until=waiting)
    assert seen == [(3.0, "light"), (5.0, "both")]


@pytest.mark.parametrize("time", [-1.0, math.nan, 4.999])
def test_nothing_happens_in_the_past(time: float) -> None:
    """One clear sentence, and nothing is scheduled."""
    clock = Clock(initial_time=5.0)
    with pytest.raises(ValueError, match="nothing happens in the past"):
        clock.at(time, lambda now, _: None)
    assert clock.peek() == math.inf
