"""An M/M/4 on our parts against idiomatic SimPy, Ciw and salabim; the jitter study against a plain heapq program."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

import simpy

from simlib.scenarios.jitter import BASE, CAP, Jitter
from simlib.world.arrivals import arrive, poisson
from simlib.world.latency import Exponential
from simlib.world.luck import Luck
from simlib.world.message import CREATED
from simlib.world.server import Server
from simlib.world.world import World
from tests.bench.ratios import in_turn, ratio

WORKERS, LOAD, CUSTOMERS = 4, 0.8, 20_000
LEAST = {"SimPy": 10.0, "Ciw": 15.0, "salabim": 15.0}  # times faster a customer
JITTER = 0.5  # of the heapq program's time
CLIENTS, TRIALS = 50, 20
ROUNDS = 5


def report() -> bool:
    """Print them; True when all are as they should be."""
    return all([_queues(), _jitter()])


def _queues() -> bool:
    programs: dict[str, Callable[[], float]] = {"ours": ours, "SimPy": in_simpy, "Ciw": in_ciw, "salabim": in_salabim}
    stays = {name: program() for name, program in programs.items()}
    print(f"M/M/4, mean stay: {', '.join(f'{name} {stay:.3f}' for name, stay in stays.items())}")
    took = in_turn(programs, ROUNDS)
    good = True
    for name, least in LEAST.items():
        times = ratio(took[name], took["ours"])
        print(f"M/M/4, a customer: {times:.1f} times faster than {name} (at least {least:g})")
        good &= times >= least
    return good


def ours() -> float:
    """The mean stay of a customer, in services."""
    world = World(Luck(1))
    left = [0.0] * CUSTOMERS

    def leaves(now: float, reply: Any) -> None:
        left[reply[0]] = now

    server = Server(world, work=lambda now, request: CREATED, answer=leaves, service=Exponential(1.0), workers=WORKERS)
    times = poisson(world.luck, "customers", LOAD * WORKERS, CUSTOMERS)
    arrive(world.clock, times, lambda now, number: server.arrive(now, (number, 1, -1, now)))
    world.clock.run()
    return fmean(a - b for a, b in zip(left, times.tolist(), strict=True))


def in_simpy() -> float:
    environment, luck = simpy.Environment(), random.Random(1)
    workers = simpy.Resource(environment, WORKERS)
    stays: list[float] = []

    def customer() -> Any:
        came = environment.now
        with workers.request() as turn:
            yield turn
            yield environment.timeout(luck.expovariate(1.0))
        stays.append(environment.now - came)

    def source() -> Any:
        for _ in range(CUSTOMERS):
            yield environment.timeout(luck.expovariate(LOAD * WORKERS))
            environment.process(customer())

    environment.process(source())
    environment.run()
    return fmean(stays)


def in_ciw() -> float:
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(LOAD * WORKERS)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[WORKERS],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(CUSTOMERS, method="Finish")
    return fmean(record.waiting_time + record.service_time for record in simulation.get_all_records())


def in_salabim() -> float:
    import salabim

    salabim.yieldless(False)
    environment = salabim.Environment(random_seed=1, trace=False)
    workers = salabim.Resource("workers", capacity=WORKERS)
    between, service = salabim.Exponential(1 / (LOAD * WORKERS)), salabim.Exponential(1.0)
    stays: list[float] = []

    class Customer(salabim.Component):
        def process(self) -> Any:
            came = environment.now()
            yield self.request(workers)
            yield self.hold(service.sample())
            self.release()
            stays.append(environment.now() - came)

    class Source(salabim.Component):
        def process(self) -> Any:
            for _ in range(CUSTOMERS):
                yield self.hold(between.sample())
                Customer()

    Source()
    environment.run()
    return fmean(stays)


def _jitter() -> bool:
    story = Jitter(clients=CLIENTS, backoff="full", trials=TRIALS)
    ours = story.run(7).counts
    finish, calls = plain(7)
    print(
        f"jitter study, {CLIENTS} clients, full: {ours['finish_ms']:.0f} ms and {ours['calls']:.0f} calls here, ",
        end="",
    )
    print(f"{finish:.0f} ms and {calls:.0f} in the heapq program")
    took = in_turn({"ours": partial(story.run, 7), "heapq": partial(plain, 7)}, ROUNDS)
    share = ratio(took["ours"], took["heapq"])
    print(f"jitter study: {share:.2f} of the time of a plain heapq program (at most {JITTER})")
    return share <= JITTER


def plain(seed: int) -> tuple[float, float]:
    """The same study as one writes it with heapq: a message tuple an event, four events a try. Milliseconds, calls."""
    luck = random.Random(seed)
    finished, calls = [], 0
    for _ in range(TRIALS):
        queue: list[tuple[float, int, str, int, int]] = []
        numbers = itertools.count()
        version, last = 0, 0.0
        attempts = [1] * CLIENTS

        def send(at: float, what: str, client: int, seen: int, queue: Any = queue, numbers: Any = numbers) -> None:
            heapq.heappush(queue, (at + abs(luck.gauss(0.010, 0.002)), next(numbers), what, client, seen))

        for client in range(CLIENTS):
            send(0.0, "read arrives", client, 0)
        while queue:
            now, _, what, client, seen = heapq.heappop(queue)
            if what == "read arrives":
                send(now, "version comes", client, version)
            elif what == "version comes":
                calls += 1
                send(now, "write arrives", client, seen)
            elif what == "write arrives":
                done = version == seen
                version += done
                send(now, "written" if done else "refused", client, seen)
            elif what == "written":
                last = max(last, now)
            else:
                wait = luck.uniform(0.0, min(CAP, BASE * 2.0 ** attempts[client]))
                attempts[client] += 1
                send(now + wait, "read arrives", client, 0)
        finished.append(last)
    return fmean(finished) * 1000, calls / TRIALS
