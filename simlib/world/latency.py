"""How long things take: distributions of seconds, drawn by numpy in blocks.

Each draws standard numbers first and stretches them after, so a changed mean keeps the same luck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.random import Generator

from simlib.world.luck import Draws, Luck, Numbers, Source


class Latency(Protocol):
    """Anything that draws `n` durations in seconds, none below 0."""

    def draw(self, rng: Generator, n: int) -> Numbers: ...


@dataclass(frozen=True)
class Constant:
    """Always the same."""

    seconds: float

    def __post_init__(self) -> None:
        _check("Constant", seconds=self.seconds)

    def draw(self, rng: Generator, n: int) -> Numbers:
        return np.full(n, self.seconds)


@dataclass(frozen=True)
class Exponential:
    """Without memory: most are short, some are many times the mean (seconds)."""

    mean: float

    def __post_init__(self) -> None:
        _check("Exponential", mean=self.mean)

    def draw(self, rng: Generator, n: int) -> Numbers:
        return rng.standard_exponential(n) * self.mean


@dataclass(frozen=True)
class Normal:
    """Around a mean, in seconds; what would fall below 0 is mirrored to above it."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _check("Normal", mean=self.mean, sd=self.sd)

    def draw(self, rng: Generator, n: int) -> Numbers:
        return np.abs(rng.standard_normal(n) * self.sd + self.mean)


@dataclass(frozen=True)
class LogNormal:
    """Skewed as real networks are: half are under `median` seconds; `sigma` is the spread of the logarithm."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        _check("LogNormal", median=self.median, sigma=self.sigma)

    def draw(self, rng: Generator, n: int) -> Numbers:
        return np.exp(rng.standard_normal(n) * self.sigma) * self.median


@dataclass(frozen=True)
class Empirical:
    """Drawn again from durations that were measured, in seconds."""

    measured: Sequence[float]

    def __post_init__(self) -> None:
        if not len(self.measured):
            raise ValueError("Empirical needs at least one measured duration.")
        _check("Empirical", shortest=min(self.measured), longest=max(self.measured))

    def draw(self, rng: Generator, n: int) -> Numbers:
        data = np.sort(np.asarray(self.measured, dtype=np.float64))
        return data[(rng.random(n) * len(data)).astype(np.intp)]


def stream(luck: Luck, purpose: str, latency: Latency, attempt: int) -> Source:
    """The durations of one attempt, request by request."""
    return partial(latency.draw, luck.generator(purpose, attempt))


def durations(luck: Luck, purpose: str, latency: Latency) -> Draws:
    """One duration for every request and attempt."""
    return Draws(partial(stream, luck, purpose, latency))


def _check(name: str, **seconds: float) -> None:
    for word, value in seconds.items():
        if not 0.0 <= value < math.inf:
            raise ValueError(f"{name}'s {word} is {value!r}; it takes a number from 0 up.")
