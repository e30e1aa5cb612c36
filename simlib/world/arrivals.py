"""When requests begin."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush

import numpy as np

from simlib.world.clock import Clock
from simlib.world.luck import Luck, Numbers


def poisson(luck: Luck, purpose: str, rate: float, n: int) -> Numbers:
    """The times, in seconds, of the first `n` arrivals of independent people, `rate` a second on average."""
    return np.cumsum(luck.generator(purpose).standard_exponential(n)) / rate


def arrive(clock: Clock, times: Numbers, begin: Callable[[float, int], object]) -> None:
    """Call `begin(time, i)` at the i-th of these times, which do not fall; only the next one is on the clock."""
    if len(times) == 0:
        return
    moments = np.ascontiguousarray(times, dtype=np.float64).data
    last = len(moments) - 1
    heap, numbers = clock.heap, clock.numbers

    def one(now: float, i: int) -> None:
        if i < last:
            heappush(heap, (moments[i + 1], 1, next(numbers), one, i + 1))
        begin(now, i)

    clock.at(moments[0], one, 0)
