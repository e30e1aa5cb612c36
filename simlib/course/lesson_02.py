"""The exercises of lesson 02."""

from __future__ import annotations

from typing import Any

import psycopg

from simlib.course.check import NotYet
from simlib.live.pg.server import postgres
from simlib.scenarios.operations import Operations

SAME = {"a": True, "b": False, "c": True, "d": True, "e": False, "f": True}
WHY = {
    "a": "the total is the same however often it is set",
    "b": "every call writes another row",
    "c": "the second time there is nothing left to delete",
    "d": "a line in a log harms nobody: the question is whether what matters changes again",
    "e": "next month has moved on, from the month it was moved to",
    "f": "rounding what is round changes nothing",
}
SEED = "insert into wallets (id) values (1), (2)"


def exercise_1(answer: Any) -> str:
    """Which of six operations are idempotent."""
    if not isinstance(answer, dict):
        raise NotYet(f"Your answer is {answer!r}; give a dict such as {{'a': True, 'b': False, ...}}.")
    for letter, right in SAME.items():
        if answer.get(letter) is not right:
            raise NotYet(f"Think of {letter} again: {WHY[letter]}.")
    return "six of six."


def exercise_2(answer: Any) -> str:
    """An operation that is idempotent and does not give the same reply twice."""
    if not isinstance(answer, Operations):
        raise NotYet(f"Your answer is {answer!r}; give an operation, such as sl.Operations(times=3).")
    counts = answer.run().counts
    if answer.times < 2:
        raise NotYet("Apply it twice at least, or there is nothing to compare.")
    if counts["changes"] > 1:
        raise NotYet(f"It changes something {counts['changes']:.0f} times: it is not idempotent.")
    if counts["replies"] == 1:
        raise NotYet(
            "It gives the same reply each time. Look for one whose second reply tells that it was done before."
        )
    return "the same effect, and another reply: idempotent is a word about what changes, not about what one is told."


def exercise_3(answer: Any) -> str:
    """SQL that stores a top-up by its id, however often it is run."""
    if not isinstance(answer, str):
        raise NotYet(f"Your answer is {answer!r}; give SQL as text, in quotes.")
    with postgres() as db, db.connect() as conn:
        conn.execute(SEED)
        told = [_run(conn, answer, "t-1", 1, 500), _run(conn, answer, "t-1", 1, 500), _run(conn, answer, "t-2", 1, 300)]
        other = _run(conn, answer, "t-3", 2, 100)
        total = conn.execute("select sum(cents) from topups where wallet_id = 1").fetchone()
    if total != (800,):
        raise NotYet(f"Top-ups of 500, the same again, and 300: wallet 1 has {total[0] if total else None}, not 800.")
    if told != [1, 0, 1] or other != 1:
        raise NotYet(f"The row counts were {told}; they tell a first time (1) from a repeat (0).")
    return "stored once, and the row count tells the first time from a repeat."


def _run(conn: psycopg.Connection[Any], sql: str, name: str, wallet: int, cents: int) -> int:
    try:
        return conn.execute(sql.encode(), {"id": name, "wallet": wallet, "cents": cents}).rowcount
    except (psycopg.Error, KeyError) as error:
        raise NotYet(f"PostgreSQL says: {str(error).splitlines()[0]}") from error
