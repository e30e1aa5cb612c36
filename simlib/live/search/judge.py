"""What must hold at the end of every schedule, and who says so.

Besides the learner's own invariants four things always count: a schedule ends; no error of the database reaches a
caller; on the lesson's tables, no lease is left behind by a call that came to its end; and whoever asks once more,
later, gets an answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from simlib.live.search.arena import LAPSE, Arena
from simlib.live.search.connections import dress
from simlib.live.search.moves import letter
from simlib.live.search.play import Play
from simlib.live.search.turns import Answer

Invariant = str | Mapping[str, str] | Callable[..., Any]
"""SQL that gives one true or false, several by name, or a callable.

A callable is given a connection, then by their names any of the parts, and `answers`: what each session was told last.
"""

ENDLESS = "every schedule ends"
TOLD = "no database error reaches a caller"
FREE = "no lease outlives its call"
ANSWERED = "a last retry gets an answer"

HELD = "select count(*) from payment_keys where locked_until > clock_timestamp()"


def by_name(invariant: Invariant) -> dict[str, str | Callable[..., Any]]:
    """Invariants by the name they are reported with."""
    if isinstance(invariant, Mapping):
        return dict(invariant)
    if isinstance(invariant, str):
        return {" ".join(invariant.split()): invariant}
    return {getattr(invariant, "__name__", "the invariant"): invariant}


def broken(arena: Arena, play: Play, invariants: Mapping[str, str | Callable[..., Any]]) -> dict[str, str]:
    """What a schedule broke: name to what was seen. It runs the last retries, so it is asked once, right after."""
    found: dict[str, str] = {}
    if play.ending == "endless":
        return {ENDLESS: f"after {len(play.made)} moves it was still going on"}
    for i, answer in _last(play).items():
        if isinstance(answer.error, psycopg.Error):
            found[TOLD] = f"{letter(i)} was told {type(answer.error).__name__}"
        elif answer.error is not None and _is_a_bug(answer.error):
            raise answer.error
    if arena.study.lapse == LAPSE and not play.crashed:
        row = arena.ground.watch.execute(HELD).fetchone()
        if row and row[0]:
            found[FREE] = f"{row[0]} still held, by nobody"
    if said := _last_retries(arena, play):
        found[ANSWERED] = said
    for name, invariant in invariants.items():
        value = _value(arena, play, invariant)
        if value is not True:
            found[name] = f"it is {value!r}" if value is not False else "it does not hold"
    return found


def _is_a_bug(error: BaseException) -> bool:
    """Errors of a call that no schedule explains: they would come in every one, and are the learner's to see."""
    return isinstance(error, TypeError | NameError | AttributeError | SyntaxError)


def _last_retries(arena: Arena, play: Play) -> str | None:
    """Leases run out, then each caller asks once more, alone; says what is wrong with the answer."""
    if arena.study.lapse:
        arena.ground.watch.execute(arena.study.lapse.encode())
    for i, args in enumerate(arena.study.args):
        if any(arena.study.twins(i, j) for j in range(i)):
            continue
        session = arena.sessions[i]
        conn = dress(arena.ground.pgconn(i), session, arena.study.isolation, arena.is_async)
        conn.session = None
        parts = [play.parts[name] for name in arena.study.wanted]
        answer = session.alone(lambda conn=conn, parts=parts, args=args: arena.study.fn(conn, *parts, *args))
        if answer.error is not None:
            return f"{letter(i)}'s was told {type(answer.error).__name__}: {_short(answer.error)}"
        code = getattr(answer.value, "code", None)
        if isinstance(code, int) and (code == 409 or code >= 500):
            return f"{letter(i)}'s was answered {code}"
    return None


def _value(arena: Arena, play: Play, invariant: str | Callable[..., Any]) -> Any:
    if isinstance(invariant, str):
        row = arena.ground.watch.execute(invariant.encode()).fetchone()
        if row is None or len(row) != 1:
            raise ValueError(
                f"The invariant {invariant!r} gives {row!r}; it takes SQL with one row of one true or false."
            )
        return row[0]
    known = {**play.parts, "answers": [answer.value for _, answer in sorted(_last(play).items())]}
    wanted = list(inspect.signature(invariant).parameters)[1:]
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"The invariant asks for {unknown[0]!r}; after conn it can have {', '.join(known)}.")
    return bool(invariant(arena.ground.watch, *(known[name] for name in wanted)))


def _last(play: Play) -> dict[int, Answer]:
    """What each session was told in the end."""
    return {i: answer for i, _, answer in play.answers}


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 90 else f"{text[:89]}…"
