"""How fast schedules are searched, what leaving schedules out saves, and how long an attack takes."""

from __future__ import annotations

import math
from time import perf_counter

from simlib import live
from simlib.live.attacking import attack
from simlib.live.exploring import explore
from simlib.live.museum import BROKEN, RIGHT
from simlib.live.search.tree import Budget

RATE = 200  # schedules a second
ATTACK = 10.0  # seconds
TWICE = [(1, "k", 5000)] * 2
ROUNDS = 12
FULL = Budget(schedules=2_000, seconds=6)


def report() -> bool:
    """Print them; True when all are as they should be."""
    with live.postgres():
        return all([_rate(), _attack(), _reduction()])


def rate() -> float:
    """Schedules a second of two sessions of `pay`, none left out."""
    explore(live.pay, args=TWICE)
    seen = [explore(live.pay, args=TWICE, reduce=False) for _ in range(ROUNDS)]
    return sum(r.schedules for r in seen) / sum(r.seconds for r in seen)


def attacked() -> float:
    """Seconds that all attacks on `pay` take; it must survive them."""
    began = perf_counter()
    board = attack(live.pay)
    assert board.passed, board
    return perf_counter() - began


def _rate() -> bool:
    seen = rate()
    print(f"explore: {seen:.0f} schedules a second, two sessions of pay (at least {RATE})")
    return seen >= RATE


def _attack() -> bool:
    took = attacked()
    print(f"attack(pay): {took:.1f} s (at most {ATTACK:g})")
    return took <= ATTACK


def _reduction() -> bool:
    good = True
    for exhibit in (*BROKEN.values(), *RIGHT):
        reduced, full = exhibit.explore(), exhibit.explore(reduce=False, budget=FULL)
        times = full.schedules / max(reduced.schedules, 1)
        least = "" if full.complete else "more than "
        saved = f"{least}{full.schedules:,} schedules: {least}{times:.1f} times"
        print(f"  {exhibit.name}: {reduced.schedules:,} for {saved}")
        good &= math.isfinite(times) and (reduced.violating > 0) != exhibit.right
    return good
