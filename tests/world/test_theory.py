"""The parts against queueing theory and the arithmetic of retries, with intervals over many seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from simlib.scenarios.double_tap import DoubleTap
from simlib.world.arrivals import arrive, poisson
from simlib.world.latency import Exponential
from simlib.world.luck import Luck
from simlib.world.message import CREATED
from simlib.world.server import Server
from simlib.world.world import World

SEEDS = range(30)
CUSTOMERS, WARM = 12_000, 2_000
MANY = 2_000  # purchases: so many that rare give-ups are normally distributed
MU = 1.0  # served a second, by one worker


def queue(workers: int, load: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrival and departure times of customers in the order in which they came, of one M/M/c."""
    world = World(Luck(seed))
    left = np.empty(CUSTOMERS)

    def leaves(now: float, reply: tuple[int, ...]) -> None:
        left[reply[0]] = now

    server = Server(
        world, work=lambda now, request: CREATED, answer=leaves, service=Exponential(1 / MU), workers=workers
    )
    times = poisson(world.luck, "customers", load * workers * MU, CUSTOMERS)
    arrive(world.clock, times, lambda now, number: server.arrive(now, (number, 1, -1, now)))
    world.clock.run()
    return times, left


def erlang_c(workers: int, load: float) -> float:
    """The share of customers who wait in an M/M/c (Erlang, 1917)."""
    a = workers * load
    waits = a**workers / math.factorial(workers) / (1 - load)
    return waits / (sum(a**k / math.factorial(k) for k in range(workers)) + waits)


def holds(seen: list[float], expected: float) -> bool:
    """Whether the expected mean lies in the 99% confidence interval of what was seen."""
    wide = student.ppf(0.995, len(seen) - 1) * np.std(seen, ddof=1) / math.sqrt(len(seen))
    return abs(np.mean(seen) - expected) <= wide


@pytest.mark.parametrize(("workers", "load"), [(1, 0.5), (1, 0.8), (2, 0.7), (4, 0.8)])
def test_an_m_m_c_waits_as_long_as_erlang_says(workers: int, load: float) -> None:
    """Mean time in the system, and how many are there on average."""
    waited, inside = [], []
    for seed in SEEDS:
        times, left = queue(workers, load, seed)
        stay = (left - times)[WARM:]
        waited.append(float(stay.mean()))
        inside.append(float(stay.sum() / (times[-1] - times[WARM])))
    expected = erlang_c(workers, load) / (workers * MU * (1 - load)) + 1 / MU
    assert holds(waited, expected)
    assert holds(inside, load * workers * MU * expected)


@pytest.mark.parametrize(("workers", "load"), [(1, 0.8), (4, 0.8)])
def test_littles_law(workers: int, load: float) -> None:
    """L = lambda W: the number in the system, counted over time, against arrivals and stays; within 1%."""
    times, left = queue(workers, load, seed=1)
    events = np.sort(np.concatenate((times, left)))
    present = np.searchsorted(times, events[:-1], "right") - np.searchsorted(np.sort(left), events[:-1], "right")
    length = float((present * np.diff(events)).sum() / (events[-1] - events[0]))
    assert length == pytest.approx(CUSTOMERS / (events[-1] - events[0]) * float((left - times).mean()), rel=0.01)


@pytest.mark.parametrize(("p", "k"), [(0.1, 3), (0.3, 3), (0.5, 5)])
def test_attempts_and_give_ups_under_loss(p: float, k: int) -> None:
    """Requests lost with probability p, k tries: (1 - p**k) / (1 - p) tries on average, p**k give up."""
    runs = [DoubleTap(keys=True, request_loss=p, attempts=k, purchases=MANY).run(seed) for seed in SEEDS]
    assert holds([run.counts["attempts"] / MANY for run in runs], (1 - p**k) / (1 - p))
    assert holds([run.trace.count("give_up") / MANY for run in runs], p**k)


@pytest.mark.parametrize(("r", "k"), [(0.1, 3), (0.4, 3), (0.5, 6)])
def test_charges_without_keys_are_the_tries_that_arrive(r: float, k: int) -> None:
    """Replies lost with probability r, and every try charges: (1 - r**k) / (1 - r) a purchase; with keys, one."""
    runs = [DoubleTap(reply_loss=r, attempts=k, purchases=MANY).run(seed) for seed in SEEDS]
    assert holds([run.counts["charges"] / MANY for run in runs], (1 - r**k) / (1 - r))
    assert DoubleTap(keys=True, reply_loss=r, attempts=k, purchases=MANY).run(1).counts["charges"] == MANY
