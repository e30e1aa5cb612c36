"""Programs timed against each other: run in turn, so that a busy machine slows all of them alike."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time


def in_turn(programs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of processor time each program took in every round; one round more comes first, to warm up."""
    took: dict[str, list[float]] = {name: [] for name in programs}
    for i in range(rounds + 1):
        for name, program in programs.items():
            gc.collect()
            start = process_time()
            program()
            if i:
                took[name].append(process_time() - start)
    return took


def ratio(above: list[float], below: list[float]) -> float:
    """How many times longer one program took than the other: the median over the rounds."""
    return median(a / b for a, b in zip(above, below, strict=True))
