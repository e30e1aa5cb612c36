"""What a pitfall is made of, and how most of them are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from simlib.live.museum import BROKEN, RIGHT
from simlib.live.pg.server import postgres
from simlib.live.search.tree import Budget

ENOUGH = Budget(schedules=300)


@dataclass(frozen=True)
class Finding:
    """What a run showed, in one line, and whether that is what one wants."""

    says: str
    good: bool


@dataclass(frozen=True)
class Pitfall:
    """A mistake that ships: what people do, what to do instead, and both to be run."""

    name: str
    lesson: str
    does: str
    instead: str
    wrong: Callable[[], Finding]
    right: Callable[[], Finding]


def broken(name: str) -> Callable[[], Finding]:
    """Every schedule of an exhibit of the museum."""
    return partial(_explored, BROKEN[name])


def sound(number: int) -> Callable[[], Finding]:
    """The same search over one of the right ones: 0, 1 `pay`; 2, 3 `pay_external`; 4 a consumer."""
    return partial(_explored, RIGHT[number])


def on_postgres(fn: Callable[[Any], Finding]) -> Callable[[], Finding]:
    """Run with a connection to the lesson's tables, empty."""

    def run() -> Finding:
        with postgres() as db, db.connect() as conn:
            return fn(conn)

    return run


def one(conn: Any, query: str, *values: Any) -> Any:
    return conn.execute(query, values).fetchone()[0]


def _explored(exhibit: Any) -> Finding:
    report = exhibit.explore(budget=ENOUGH)
    seen = f"{report.schedules} schedules" if report.complete else f"the first {report.schedules} schedules"
    if report.violating:
        return Finding(f"{report.violating} of {seen} break a promise", False)
    return Finding(f"none of {seen} breaks a promise", True)
