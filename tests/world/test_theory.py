"""The parts against queueing theory and the arithmetic of retries, with intervals over many seeds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t as student

from simlib.policy.backoff import Backoff
from simlib.policy.budgets import BUDGETS
from simlib.policy.retry import RetryPolicy
from simlib.scenarios.double_tap import DoubleTap
from simlib.world.arrivals import arrive, poisson
from simlib.world.client import Client
from simlib.world.latency import Exponential
from simlib.world.luck import Luck
from simlib.world.message import CREATED, Request
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


@pytest.mark.parametrize(("workers", "load"), [(1, 0.8), (4, 0.8)])
def test_as_many_wait_and_work_as_erlang_says(workers: int, load: float) -> None:
    """The share of customers who find all workers busy, and the share of the time that a worker is."""
    waits, busy = [], []
    for seed in SEEDS:
        times, left = queue(workers, load, seed)
        found = np.arange(CUSTOMERS) - np.searchsorted(np.sort(left), times)
        waits.append(float((found >= workers)[WARM:].mean()))
        events = np.sort(np.concatenate((times, left)))
        inside = np.searchsorted(times, events[:-1], "right") - np.searchsorted(np.sort(left), events[:-1], "right")
        gaps = np.diff(events)
        busy.append(float((np.minimum(inside, workers) * gaps).sum() / (workers * gaps.sum())))
    assert holds(waits, erlang_c(workers, load))
    assert holds(busy, load)


BEFORE, AFTER = (20.0, 60.0), (130.0, 150.0)  # seconds: before the spike, and long after it
SPIKE = (60.0, 70.0)


def goodput(build: Callable[[World], Client], rate: float, peak: float, seed: int) -> tuple[float, float]:
    """The share of a steady demand that is answered well, before a spike to `peak` a second and long after it."""
    world = World(Luck(seed))
    client = build(world)
    luck = world.luck.generator("people").standard_exponential
    usual = np.cumsum(luck(int(rate * AFTER[1] * 1.3))) / rate
    more = SPIKE[0] + np.cumsum(luck(int(peak * 20))) / (peak - rate)
    times = np.sort(np.concatenate((usual[usual < AFTER[1]], more[more < SPIKE[1]])))
    arrive(world.clock, times, client.begin)
    world.clock.run(AFTER[1])
    trace = world.recorder.freeze()
    good = trace.column("time")[trace.where("receive", status="201")]
    before, after = (((good >= a) & (good < b)).sum() / (b - a) / rate for a, b in (BEFORE, AFTER))
    return float(before), float(after)


def impatient(budget: str | None) -> Callable[[World], Client]:
    """One worker, ten a second; clients who wait 1.5 s and try again for ever, with a retry budget or without."""

    def build(world: World) -> Client:
        rule = None if budget is None else BUDGETS[budget]()
        policy = RetryPolicy(
            attempts=10_000, deadline=math.inf, per_try=1.5, backoff=Backoff(base=0.1, cap=0.1), budget=rule
        )
        server = Server(
            world,
            work=lambda now, request: CREATED,
            answer=lambda now, reply: client.receive(now, reply),
            service=Exponential(0.1),
        )
        client = Client(world, policy=policy, send=server.arrive)
        return client

    return build


@pytest.mark.theory
@pytest.mark.parametrize("seed", range(20))
def test_retries_without_limit_keep_a_server_down_and_a_budget_lets_it_up(seed: int) -> None:
    """An M/M/1 past its knee: the spike is over, the cause has gone, and it stays down. Metastable failure."""
    before, after = goodput(impatient(None), 5.0, 21.0, seed)
    assert before > 0.7  # of 200 people: four deviations below all of them
    assert after == 0.0
    for budget in ("share", "grpc"):
        assert goodput(impatient(budget), 5.0, 21.0, seed)[1] > 0.6


def crowded(backoff: Backoff) -> Callable[[World], Client]:
    """A server that takes 1 + 0.01 c seconds with c requests in it; clients who wait 3 s, three tries."""

    def build(world: World) -> Client:
        inside = 0

        def enters(now: float, request: Request) -> None:
            nonlocal inside
            world.clock.at(now + 1.0 + 0.01 * inside, leaves, request)
            inside += 1

        def leaves(now: float, request: Request) -> None:
            nonlocal inside
            inside -= 1
            client.receive(now, (*request, CREATED))

        client = Client(
            world,
            policy=RetryPolicy(attempts=3, deadline=math.inf, per_try=3.0, backoff=backoff),
            send=enters,
        )
        return client

    return build


AT_ONCE = Backoff(base=0.0, jitter="none")


@pytest.mark.theory
def test_a_crowded_server_settles_where_the_sum_says() -> None:
    """Little's law with a latency that depends on the load: c = L / (1 - 0.01 L) in the server at L a second."""
    means = []
    for seed in range(100, 160):
        world = World(Luck(seed))
        client = crowded(AT_ONCE)(world)
        arrive(world.clock, poisson(world.luck, "people", 20.0, 5_000), client.begin)
        world.clock.run(199.0)
        trace = world.recorder.freeze()
        sent, got = trace.column("time")[trace.where("send")], trace.column("time")[trace.where("receive")]
        at = np.arange(50.0, 199.0, 0.5)
        means.append(float((np.searchsorted(np.sort(sent), at) - np.searchsorted(np.sort(got), at)).mean()))
    assert holds(means, 20 / (1 - 0.2))


@pytest.mark.theory
def test_a_spike_can_leave_it_collapsed_and_long_jittered_waits_never_do() -> None:
    """Twice the load for ten seconds: without backoff it holds itself down afterwards in most runs."""
    stayed = sum(goodput(crowded(AT_ONCE), 40.0, 80.0, seed)[1] < 0.5 for seed in range(60))
    spread = sum(goodput(crowded(Backoff(base=20.0, cap=120.0)), 40.0, 80.0, seed)[1] < 0.5 for seed in range(60))
    assert stayed > 50
    assert spread == 0


@pytest.mark.theory
def test_more_than_it_can_hold_collapses_although_the_mean_says_it_fits() -> None:
    """At 60 a second the mean latency would be 2.5 s, under the limit of 3; luck passes the limit sooner or later."""
    collapsed = 0
    for seed in range(20):
        world = World(Luck(seed))
        client = crowded(AT_ONCE)(world)
        arrive(world.clock, poisson(world.luck, "people", 60.0, 60 * 1_000), client.begin)
        world.clock.run(1_000.0)
        trace = world.recorder.freeze()
        good = trace.column("time")[trace.where("receive", status="201")]
        collapsed += (good > 950.0).sum() / 50.0 < 0.5 * 60
    assert collapsed > 5
