"""Every schedule of a function, for real: who goes next is a choice, and all choices are tried on a PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from simlib.live.pg.server import postgres
from simlib.live.search.arena import LAPSE, Arena, Study, Trouble
from simlib.live.search.bank import Bank
from simlib.live.search.ground import Ground, Schema
from simlib.live.search.judge import Invariant, by_name
from simlib.live.search.moves import decode, encode
from simlib.live.search.story import Story, tell, test_of
from simlib.live.search.tree import Budget, Ended, judged, played, search

ONE_CHARGE = "select count(*) = 1 from charges"
PARTS: Mapping[str, Callable[[], Any]] = {"provider": Bank}


@dataclass(frozen=True)
class Report:
    """What a search has seen. `violations` counts schedules by what they broke; `complete` is False when it was cut.

    `story` is the shortest schedule that breaks something, None if none does; `length` its number of moves; and
    `replay(code)` plays any schedule again.
    """

    name: str
    schedules: int
    violating: int
    violations: Mapping[str, int]
    story: Story | None
    complete: bool
    seconds: float
    length: int
    replay: Callable[[str], Story]

    def __repr__(self) -> str:
        cut = "all" if self.complete else "a part, the budget was spent"
        head = f"{self.name}: {self.schedules:,} schedules ({cut}), {self.violating:,} break a promise"
        broke = [f"  {count:,} break: {name}" for name, count in sorted(self.violations.items(), key=lambda x: -x[1])]
        told = ["the shortest:", self.story.text] if self.story else []
        return "\n".join([head, *broke, *told])

    def _repr_html_(self) -> str:
        told = self.story._repr_html_() if self.story else ""
        head = repr(self).split("\nthe shortest:")[0].replace("&", "&amp;").replace("<", "&lt;")
        return f"<pre>{head}</pre>{told}"


def explore(
    fn: Callable[..., Any],
    sessions: int = 2,
    *,
    args: Sequence[tuple[Any, ...]] | None = None,
    crashes: int = 0,
    losses: int = 0,
    expiries: int = 0,
    invariant: Invariant = ONE_CHARGE,
    budget: Budget | None = None,
    isolation: psycopg.IsolationLevel | None = None,
    parts: Mapping[str, Callable[[], Any]] | None = None,
    schema: Schema = None,
    seed: str = "",
    lapse: str | None = None,
    reduce: bool = True,
    dsn: str | None = None,
) -> Report:
    """Call `fn` in several sessions at once, in every order in which their round trips can come, and judge each end.

    Each session calls `fn(conn, *args[i])` unchanged, on a psycopg connection of its own in autocommit mode; a
    parameter after `conn` whose name is one of `parts` (such as `provider`) gets that part, made anew for each
    schedule, whose calls are points of the schedule too. Every schedule starts on the lesson's tables, empty, or on
    `schema` (SQL, a file of it, or a callable that makes it) and the rows of `seed`.

    At most so many `crashes` (a session dies and is tried again), `losses` (a caller does not hear an answer and asks
    again) and `expiries` (leases run out: the SQL of `lapse` says how) happen in one schedule, at every point where
    they can. `invariant` must hold at the end. So must this: every schedule ends, no database error reaches a caller,
    and a last retry gets an answer.

    Schedules that differ only in the order of steps that cannot disturb each other are played once, unless `reduce` is
    off. `budget` bounds the search; the report says when it was cut.
    """
    lapse = (LAPSE if schema is None else "") if lapse is None else lapse
    study = _study(fn, sessions, args, Trouble(crashes, losses, expiries), isolation, parts, lapse)
    how = {"args": args, "crashes": crashes or None, "losses": losses or None, "expiries": expiries or None}
    name = getattr(fn, "__name__", "fn")
    invariants = by_name(invariant)
    budget = budget or Budget()

    def told(ended: Ended) -> Story:
        return tell(ended, test_of(name, encode(ended.moves), how))

    def replay_code(code: str) -> Story:
        with _arena(study, schema, seed, dsn) as arena:
            return told(_played(arena, code, invariants))

    with _arena(study, schema, seed, dsn) as arena:
        seen = search(arena, invariants, budget, reduce=reduce)
    return Report(
        name,
        seen.schedules,
        seen.violating,
        seen.violations,
        told(seen.shortest) if seen.shortest else None,
        seen.complete,
        seen.seconds,
        len(seen.shortest.moves) if seen.shortest else 0,
        replay_code,
    )


def replay(fn: Callable[..., Any], code: str, sessions: int = 2, **how: Any) -> Story:
    """Play one schedule of `fn` again by its code; the other arguments are those of `explore`."""
    lapse = how.pop("lapse", LAPSE if how.get("schema") is None else "")
    kept = {name: how.pop(name) for name in ("schema", "seed", "dsn", "invariant") if name in how}
    trouble = Trouble(*(how.pop(name, 0) for name in ("crashes", "losses", "expiries")))
    study = _study(
        fn, sessions, how.pop("args", None), trouble, how.pop("isolation", None), how.pop("parts", None), lapse
    )
    with _arena(study, kept.get("schema"), kept.get("seed", ""), kept.get("dsn")) as arena:
        ended = _played(arena, code, by_name(kept.get("invariant", ONE_CHARGE)))
    return tell(ended, test_of(getattr(fn, "__name__", "fn"), code, {}))


def _played(arena: Arena, code: str, invariants: Mapping[str, Any]) -> Ended:
    moves = decode(code)
    if bad := next((m for m in moves if m.session >= len(arena.sessions)), None):
        raise ValueError(
            f"The schedule {code!r} names session {chr(65 + bad.session)}; there are {len(arena.sessions)}."
        )
    return judged(arena, played(arena, moves), invariants)


def _study(
    fn: Callable[..., Any],
    sessions: int,
    args: Sequence[tuple[Any, ...]] | None,
    trouble: Trouble,
    isolation: psycopg.IsolationLevel | None,
    parts: Mapping[str, Callable[[], Any]] | None,
    lapse: str,
) -> Study:
    if not callable(fn):
        raise ValueError(f"fn is {fn!r}; give the function itself, without brackets.")
    if not 1 <= sessions <= 26:
        raise ValueError(f"sessions is {sessions!r}; it takes 1 to 26.")
    if args is not None and len(args) != sessions:
        raise ValueError(f"args has {len(args)} entries for {sessions} sessions; it takes a tuple for each session.")
    for name, value in vars(trouble).items():
        if not 0 <= value <= 9:
            raise ValueError(f"{name} is {value!r}; it takes 0 to 9.")
    if trouble.expiries and not lapse:
        raise ValueError("expiries need `lapse`: the SQL that makes leases of your own schema run out.")
    level = None if isolation is None else int(isolation)
    given = [tuple(a) for a in args] if args is not None else [()] * sessions
    return Study(fn, given, dict(PARTS if parts is None else parts), trouble, level, lapse)


@contextmanager
def _arena(study: Study, schema: Schema, seed: str, dsn: str | None) -> Iterator[Arena]:
    with postgres(dsn) as db:
        arena = Arena(study, Ground(db.server_dsn, schema, seed))
        try:
            yield arena
        finally:
            arena.close()
