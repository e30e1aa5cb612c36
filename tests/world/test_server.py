"""The server's line and workers: departures that are computed are those of a line that is walked through."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.world.arrivals import arrive, poisson
from simlib.world.latency import Constant, Exponential
from simlib.world.luck import Luck
from simlib.world.message import CREATED, NO_KEY, Reply, Request
from simlib.world.server import Server
from simlib.world.world import World


def served(world: World, n: int, rate: float, **settings: object) -> list[tuple[float, Reply]]:
    """What leaves a server to which `n` requests come, in order of leaving."""
    left: list[tuple[float, Reply]] = []
    server = Server(
        world,
        work=lambda now, request: CREATED,
        answer=lambda now, reply: left.append((now, reply)),
        **{"service": Exponential(1.0), **settings},  # type: ignore[arg-type]
    )
    times = poisson(world.luck, "arrivals", rate, n)
    arrive(world.clock, times, lambda now, i: server.arrive(now, (i, 1, NO_KEY, now)))
    world.clock.run()
    return left


@given(st.integers(1, 5), st.floats(0.1, 10), st.integers(0, 1000))
def test_first_come_first_served_by_whoever_is_free_first(workers: int, rate: float, seed: int) -> None:
    """Departures are those of Kiefer and Wolfowitz's recursion, done here by sorting."""
    luck = Luck(seed)
    left = served(World(luck), 50, rate, workers=workers)
    arrivals = poisson(luck, "arrivals", rate, 50)
    service = Exponential(1.0).draw(luck.generator("server: service", 1), 50)
    free = [0.0] * workers
    expected: dict[int, float] = {}
    for i in range(50):
        free.sort()
        free[0] = expected[i] = max(free[0], arrivals[i]) + service[i]
    assert {reply[0]: time for time, reply in left} == pytest.approx(expected)


def test_a_full_line_refuses_at_once_and_lets_in_again_when_there_is_room() -> None:
    """One is worked on, one waits, the third is told 503; when the first has gone, the next is taken."""
    world, left = World(Luck(7)), deque[tuple[float, str]]()
    server = Server(
        world,
        work=lambda now, request: CREATED,
        answer=lambda now, reply: left.append((now, reply[4].status)),
        service=Constant(1.0),
        limit=1,
    )
    for i, time in enumerate((0.0, 0.1, 0.2, 1.5)):
        world.clock.at(time, server.arrive, (i, 1, NO_KEY, time))
    world.clock.run()
    assert list(left) == [(0.2, "503"), (1.0, "201"), (2.0, "201"), (3.0, "201")]


def test_work_after_the_effect_delays_the_answer_and_holds_the_worker() -> None:
    """The gap in which it is done and nobody has been told."""
    world, effects, answers = World(Luck(7)), list[float](), list[float]()

    def work(now: float, request: Request):
        effects.append(now)
        return CREATED

    server = Server(
        world, work=work, answer=lambda now, _: answers.append(now), service=Constant(1.0), after=Constant(0.5)
    )
    for i in range(2):
        world.clock.at(0.0, server.arrive, (i, 1, NO_KEY, 0.0))
    world.clock.run()
    assert (effects, answers) == ([1.0, 2.5], [1.5, 3.0])


@pytest.mark.parametrize(("setting", "value"), [("workers", 0), ("limit", -1)])
def test_impossible_settings_are_told(setting: str, value: int) -> None:
    """One sentence that names the value."""
    with pytest.raises(ValueError, match=f"{setting} is {value}"):
        served(World(Luck(7)), 1, 1.0, **{setting: value})
