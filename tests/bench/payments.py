"""The reference model on our parts against the same model in idiomatic SimPy: the same statistics, in less time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import sqrt
from statistics import fmean, stdev

import numpy as np

from tests.bench import idiomatic, reference
from tests.bench.ratios import in_turn, ratio

LEAST = {1_000: 6.0, 10_000: 6.5, 100_000: 6.5}  # purchases: how many times faster
ROUNDS = {1_000: 9, 10_000: 9, 100_000: 3}
TURN = 10_000  # purchases at least before the other program has its turn: a turn of 4 ms would time cold caches
FLAT = 1.3  # the dearest request, by number of purchases, against the cheapest
SEEDS, PURCHASES = range(30), 1_000  # of the statistics
DIFFERENT = 3.3  # standard errors: by chance alone, one in a thousand is further out
COUNTED = ("send", "lose", "effect", "replay", "timeout", "backoff", "give_up")

Event = tuple[float, str, int]
"""time, event, request"""


def report() -> bool:
    """Print statistics and ratios; True when all are as they should be."""
    return all([_same(), _faster()])


def _same() -> bool:
    """Both models tell the same story: every statistic's difference, in standard errors."""
    ours = [_statistics(_events(seed)) for seed in SEEDS]
    theirs = [_statistics((t, e, r) for t, e, r, _ in idiomatic.simulate(PURCHASES, seed)) for seed in SEEDS]
    print(f"reference model, the same statistics ({len(SEEDS)} seeds of {PURCHASES:,} purchases; per purchase):")
    good = True
    for name in ours[0]:
        a, b = [s[name] for s in ours], [s[name] for s in theirs]
        z = (fmean(a) - fmean(b)) / max(sqrt((stdev(a) ** 2 + stdev(b) ** 2) / len(SEEDS)), 1e-12)
        print(f"  {name:<10} {fmean(a):8.4f} here, {fmean(b):8.4f} in SimPy, z = {z:+.1f}")
        good &= abs(z) < DIFFERENT
    return good


def compared(n: int) -> dict[str, list[float]]:
    """Seconds of processor time for `n` purchases, round by round, by `ours` and by `simpy`."""
    programs = {"ours": partial(_turn, reference.simulate, n), "simpy": partial(_turn, idiomatic.simulate, n)}
    return in_turn(programs, ROUNDS[n])


def _faster() -> bool:
    good = True
    cost: dict[int, float] = {}
    for n, least in LEAST.items():
        took = compared(n)
        times = ratio(took["simpy"], took["ours"])
        cost[n] = min(took["ours"]) / max(n, TURN)
        print(f"reference model, {n:>7,} purchases: {times:.2f} times faster than idiomatic SimPy (at least {least})")
        good &= times >= least
    spread = max(cost.values()) / min(cost.values())
    told = ", ".join(f"{1e6 * c:.2f}" for c in cost.values())
    print(
        f"reference model, cost of a purchase: {told} us; the dearest is {spread:.2f} of the cheapest (at most {FLAT})"
    )
    return good and spread <= FLAT


def _turn(simulate: Callable[[int, int], object], n: int) -> None:
    """Run a model of n purchases until a turn is full."""
    for _ in range(max(1, TURN // n)):
        simulate(n, 7)


def _events(seed: int) -> Iterable[Event]:
    trace = reference.simulate(PURCHASES, seed).freeze()
    columns = [trace.column(name).tolist() for name in ("time", "kind", "request")]
    return ((time, trace.kinds[kind][1], request) for time, kind, request in zip(*columns, strict=True))


def _statistics(events: Iterable[Event]) -> dict[str, float]:
    """Events per purchase, and the mean time from the first try to the answer."""
    tally = dict.fromkeys(COUNTED, 0)
    began: dict[int, float] = {}
    waited: list[float] = []
    for time, event, request in events:
        if event in tally:
            tally[event] += 1
        if event == "send":
            began.setdefault(request, time)
        elif event == "receive" and request in began:
            waited.append(time - began[request])
    return {name: n / PURCHASES for name, n in tally.items()} | {"seconds": float(np.mean(waited))}
