"""How long to wait before the next try: exponential backoff, and the ways to blur it.

The cap bounds the wait before the jitter is drawn, so even very late clients do not march in step again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from simlib.policy.settings import at_least

Jitter = Literal["none", "full", "equal", "decorrelated"]
JITTERS: tuple[Jitter, ...] = get_args(Jitter)


class Rng(Protocol):
    """Whatever gives floats from 0 up to, not including, 1: `random.Random`, numpy's generators, our streams."""

    def random(self) -> float: ...


class Delays(Protocol):
    """The shape of a backoff: what `RetryPolicy` takes, and what a learner may write."""

    def delay(self, attempt: int, rng: Rng, previous: float | None = None) -> float: ...


@dataclass(frozen=True)
class Backoff:
    """Waits that grow with every failed try, up to a cap.

    `base` and `cap` are seconds; each attempt multiplies the ceiling by `factor`. The jitters:

    - `none`: the ceiling itself, so all who failed together come back together;
    - `full`: anything from 0 to the ceiling;
    - `equal`: half the ceiling for sure, the other half by chance;
    - `decorrelated`: anything from `base` to three times the wait before, under the cap.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """

    base: float = 0.2
    factor: float = 2.0
    cap: float = 5.0
    jitter: Jitter = "full"

    def __post_init__(self) -> None:
        at_least(0.0, "Backoff", base=self.base, cap=self.cap)
        at_least(1.0, "Backoff", factor=self.factor)
        if self.jitter not in JITTERS:
            raise ValueError(f"Backoff's jitter is {self.jitter!r}; it takes {', '.join(JITTERS)}.")

    def ceiling(self, attempt: int) -> float:
        """The longest wait after try number `attempt`, counted from 1: `min(cap, base * factor ** attempt)` seconds."""
        if attempt < 1:
            raise ValueError(f"attempt is {attempt!r}; attempts are counted from 1.")
        if self.base == 0.0:
            return 0.0
        try:
            return min(self.cap, self.base * math.pow(self.factor, attempt))  # of floats, so in constant time
        except OverflowError:  # the power alone is beyond any float, so the wait is beyond any cap
            return self.cap

    def delay(self, attempt: int, rng: Rng, previous: float | None = None) -> float:
        """Seconds to wait after try number `attempt` failed; `previous` is the wait before it, if there was one."""
        if self.jitter == "full":
            return rng.random() * self.ceiling(attempt)
        if self.jitter == "none":
            return self.ceiling(attempt)
        if self.jitter == "equal":
            return (0.5 + 0.5 * rng.random()) * self.ceiling(attempt)
        last = self.base if previous is None else max(self.base, min(self.cap, previous))
        return min(self.cap, self.base + rng.random() * (3.0 * last - self.base))
