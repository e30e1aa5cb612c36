"""While a slider is dragged the newest value is drawn and the stale ones are not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from simlib.views.coalesce import Latest


class Loop:
    """An event loop and its clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Handle]] = []

    def call_later(self, delay: float, job: Callable[[], None]) -> Handle:
        handle = Handle(job)
        self.due.append((self.now + delay, handle))
        return handle

    def run(self, until: float) -> None:
        for at, handle in sorted((d for d in self.due if d[0] <= until), key=lambda d: d[0]):
            self.now = max(self.now, at)
            self.due.remove((at, handle))
            if not handle.cancelled:
                handle.job()
        self.now = max(self.now, until)


class Handle:
    def __init__(self, job: Callable[[], None]) -> None:
        self.job = job
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def drawn() -> list[float]:
    return []


@pytest.fixture
def slider(loop: Loop, drawn: list[float]) -> tuple[dict[str, float], Latest]:
    state = {"value": 0.0}
    return state, Latest(lambda: drawn.append(state["value"]), loop=lambda: loop, now=lambda: loop.now)


def test_a_burst_is_drawn_once_with_its_newest_value(slider, loop, drawn) -> None:
    state, latest = slider
    for value in (1, 2, 3):
        state["value"] = value
        latest.ask()
    assert latest.waiting
    loop.run(1)
    assert drawn == [3]
    assert not latest.waiting


def test_messages_queued_during_a_slow_picture_are_one_more_picture(slider, loop, drawn) -> None:
    state, latest = slider
    state["value"] = 1
    latest.ask()
    loop.run(0.01)
    for value in range(2, 30):  # they waited while the first was drawn, and come one after the other
        state["value"] = value
        latest.ask()
        loop.run(loop.now + 0.001)
    loop.run(1)
    assert drawn == [1, 29]


def test_an_endless_drag_is_drawn_all_the_while(slider, loop, drawn) -> None:
    state, latest = slider
    for i in range(200):
        state["value"] = i
        latest.ask()
        loop.run(loop.now + 0.002)
    assert len(drawn) >= 5, "patience ends"
    loop.run(10)
    assert drawn[-1] == 199


def test_wishes_far_apart_are_all_fulfilled(slider, loop, drawn) -> None:
    state, latest = slider
    for value in (1, 2, 3):
        state["value"] = value
        latest.ask()
        loop.run(loop.now + 1)
    assert drawn == [1, 2, 3]


def test_who_cannot_wait_flushes(slider, loop, drawn) -> None:
    _, latest = slider
    latest.ask()
    latest.flush()
    latest.flush()
    loop.run(1)
    assert drawn == [0], "done once, and not again later"


def test_a_dropped_wish_is_forgotten(slider, loop, drawn) -> None:
    _, latest = slider
    latest.ask()
    latest.drop()
    loop.run(1)
    assert drawn == []


def test_without_a_loop_it_is_done_at_once(drawn) -> None:
    Latest(lambda: drawn.append(1)).ask()
    assert drawn == [1]


def test_in_a_real_loop_too(drawn) -> None:
    async def drag() -> None:
        latest = Latest(lambda: drawn.append(1))
        for _ in range(5):
            latest.ask()
        while latest.waiting:
            await asyncio.sleep(0.001)

    asyncio.run(drag())
    assert drawn == [1]
