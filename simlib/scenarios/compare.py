"""Two settings of one story under the same luck: their paired difference, with its interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simlib.scenarios.run import Scenario
from simlib.table import Table

RESAMPLES = 2_000


@dataclass(frozen=True)
class Difference:
    """One count in both settings: means over the seeds, and the mean of b - a with its 95% interval."""

    count: str
    a: float
    b: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """What changes when only the knobs change: `differences` by count, over so many seeds."""

    differences: dict[str, Difference]
    seeds: int

    def __getitem__(self, count: str) -> Difference:
        return self.differences[count]

    def table(self) -> Table:
        """One row a count: both means, the difference and its interval."""
        rows = ((d.count, d.a, d.b, d.difference, d.low, d.high) for d in self.differences.values())
        return Table(("count", "a", "b", "b - a", "from", "to"), tuple(rows))

    def __repr__(self) -> str:
        return f"{self.table()}\n95% intervals over {self.seeds} pairs of runs, each pair under the same luck"

    def _repr_html_(self) -> str:
        note = f"<p>95% intervals over {self.seeds} pairs of runs, each pair under the same luck.</p>"
        return self.table()._repr_html_() + note


def compare(a: Scenario, b: Scenario, seeds: Iterable[int] = range(30)) -> Comparison:
    """Run both settings once for each seed and compare pair by pair.

    Both runs of a pair draw the same luck, so what differs comes from the knobs alone, and few seeds tell much.
    The interval is a percentile bootstrap of the mean paired difference (Efron, 1979), itself repeatable.
    ValueError for no seeds or for two settings that have no count in common.
    """
    pairs = [(a.run(seed).counts, b.run(seed).counts) for seed in seeds]
    if not pairs:
        raise ValueError("compare needs at least one seed, for example seeds=range(30).")
    shared = [name for name in pairs[0][0] if name in pairs[0][1]]
    if not shared:
        raise ValueError(f"{type(a).__name__} and {type(b).__name__} count nothing in common; compare like with like.")
    picks = np.random.default_rng(0).integers(0, len(pairs), size=(RESAMPLES, len(pairs)))
    return Comparison({name: _difference(name, pairs, picks) for name in shared}, len(pairs))


def _difference(name: str, pairs: list, picks: np.ndarray) -> Difference:
    left = np.array([p[0][name] for p in pairs], dtype=float)
    right = np.array([p[1][name] for p in pairs], dtype=float)
    low, high = np.percentile((right - left)[picks].mean(axis=1), (2.5, 97.5))
    return Difference(name, left.mean(), right.mean(), (right - left).mean(), low, high)
