"""What arithmetic says a simulation must show: retries in one loop, in layers, under a budget, in a table of keys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """Mean calls at the bottom for one tap at the top, and the share of taps that end in failure."""

    calls: float
    failure: float


def layered(failure: float, tries: list[int]) -> Load:
    """Loops around each other, from the bottom up, each making at most so many tries of the one below.

    The bottom call fails with probability `failure`. A layer fails only when all its tries fail: q(1) = failure,
    q(l+1) = q(l)**tries(l). Each multiplies the load by 1 + q + ... + q**(tries-1): with everything failing, three
    layers of three tries make 27 calls. A layer of one try never retries.
    """
    if not 0.0 <= failure <= 1.0:
        raise ValueError(f"failure is {failure!r}; it takes a probability from 0 to 1.")
    if not tries or min(tries) < 1:
        raise ValueError(f"tries is {tries!r}; it takes one whole number from 1 up for each layer.")
    calls, q = 1.0, float(failure)
    for n in tries:
        calls *= sum(q**t for t in range(n))
        q **= n
    return Load(calls, q)


def harmonic(calls: int) -> float:
    """Mean number of calls that adaptive throttling still sends when all of `calls` are refused: 1 + 1/2 + ... 1/n."""
    return sum(1.0 / n for n in range(1, calls + 1))


def key_rows(writes_per_second: float, hours: float) -> int:
    """Rows a key table holds when every write brings one and each is kept for `hours`."""
    return round(writes_per_second * hours * 3600)


def settled_concurrency(per_second: float, base: float = 1.0, slope: float = 0.01) -> float:
    """Calls in flight where a server that takes `base + slope * c` seconds at c in flight settles (Little's law).

    Infinite where it never does: `per_second * slope` at or above 1.
    """
    room = 1.0 - slope * per_second
    return per_second * base / room if room > 0 else float("inf")
