"""What the clock costs: its light entries against a bare loop over `heapq`."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np

from simlib.world.clock import Clock
from tests.bench.ratios import in_turn, ratio

EVENTS = 200_000
STANDING = 200  # entries that stand on the heap at any time
MOST = 1.15


def bare(gaps: memoryview) -> int:
    """Pop, call, push: the least that a simulation of timed calls can do."""
    numbers = count()
    done = 0

    def call(now: float, argument: int) -> None:
        nonlocal done
        done += 1
        if done <= EVENTS - STANDING:
            heappush(heap, (now + gaps[done], next(numbers), call, argument))

    heap = [(gaps[i], next(numbers), call, i) for i in range(STANDING)]
    heapify(heap)
    while heap:
        now, _, what, argument = heappop(heap)
        what(now, argument)
    return done


def light(gaps: memoryview) -> int:
    """The same calls as light entries of a Clock."""
    clock = Clock()
    heap, numbers = clock.heap, clock.numbers
    done = 0

    def call(now: float, argument: int) -> None:
        nonlocal done
        done += 1
        if done <= EVENTS - STANDING:
            heappush(heap, (now + gaps[done], 1, next(numbers), call, argument))

    for i in range(STANDING):
        clock.at(gaps[i], call, i)
    clock.run()
    return done


def report() -> bool:
    """Print the ratio; True when it is at most `MOST`."""
    gaps = np.random.default_rng(7).standard_exponential(EVENTS + 1).data
    assert bare(gaps) == light(gaps) == EVENTS
    took = in_turn({"bare": lambda: bare(gaps), "light": lambda: light(gaps)}, rounds=15)
    cost = ratio(took["light"], took["bare"])
    print(f"clock: a light entry costs {cost:.2f} of a bare heapq pop, call and push (at most {MOST})")
    return cost <= MOST
