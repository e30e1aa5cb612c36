"""The exercises of lesson 05."""

from __future__ import annotations

from typing import Any

import psycopg

from simlib.course.check import NotYet, a_function
from simlib.live.crowd import at_once
from simlib.live.pg.server import postgres


def exercise_1(answer: Any) -> str:
    """A function that pays and survives what a customer does, and five at once."""
    answer = a_function(answer)
    with postgres() as db, db.connect() as conn:
        first = answer(conn, 1, "key", 5000)
        _expect(first, 201, "A first payment")
        again = answer(conn, 1, "key", 5000)
        if again.body != first.body:
            raise NotYet(f"A retry was answered {again.body!r}, and the first try {first.body!r}.")
        _expect(answer(conn, 1, "key", 9900), 422, "The same key with another amount")
        _expect(answer(conn, 2, "key", 5000), 201, "Another account that happens to use the same key")
        if _charges(conn) != 2:
            raise NotYet(f"Two accounts bought one thing each; the table has {_charges(conn)} charges.")
        crowd = at_once(db, lambda c: answer(c, 3, "crowd", 700))
        if _charges(conn) != 3:
            more = _charges(conn) - 2
            raise NotYet(
                f"Five tries of one payment came in the same moment and made {more} charges. Each had looked, found "
                "no key, and gone on to charge before any other had written it down."
            )
        told = [getattr(one, "code", type(one).__name__) for one in crowd.answers]
        if set(told) != {201}:
            raise NotYet(f"Of five tries at once one charged, and they were told {told}; a retry deserves the answer.")
    return "alone, retried, with another amount, from another account and five at once: one charge a payment."


def exercise_2(answer: Any) -> str:
    """SQL that finds a key that was charged more than once."""
    if not isinstance(answer, str):
        raise NotYet(f"Your answer is {answer!r}; give SQL as text, in quotes.")
    good = [(1, "a"), (1, "b"), (2, "a"), (3, None), (3, None)]
    with postgres() as db, db.connect() as conn:
        if _truth(conn, answer, []) is not True:
            raise NotYet("With no charges at all it does not say true.")
        if _truth(conn, answer, good) is not True:
            raise NotYet(
                "It does not say true of charges that are all right: two accounts may use the same key, and a charge "
                "without a key belongs to no key."
            )
        if _truth(conn, answer, [*good, (2, "a")]) is not False:
            raise NotYet("Account 2 was charged twice with the key 'a', and it does not say false.")
    return "it is true where the promise holds and false where it is broken: you can run it every night."


def exercise_3(answer: Any) -> str:
    """A function that pays at SERIALIZABLE: those who lost are to run again."""
    answer = a_function(answer)
    with postgres() as db, db.connect() as conn:
        level = psycopg.IsolationLevel.SERIALIZABLE
        crowd = at_once(db, lambda c: answer(c, 1, "crowd", 700), isolation=level)
        errors = sorted({type(one).__name__ for one in crowd.answers if isinstance(one, Exception)})
        if errors:
            raise NotYet(
                f"Five at once at SERIALIZABLE, and a customer got {' and '.join(errors)}. The transaction was undone "
                "and may be run again, from its beginning."
            )
        if _charges(conn) != 1:
            raise NotYet(f"Five tries of one payment made {_charges(conn)} charges.")
    return "the losers ran again, found the answer of the winner, and gave it."


def _expect(response: Any, code: int, what: str) -> None:
    got = getattr(response, "code", None)
    if got != code:
        raise NotYet(f"{what} should be answered {code}; your function answered {response!r}.")


def _charges(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("select count(*) from charges").fetchone()
    assert row is not None
    return row[0]


def _truth(conn: psycopg.Connection[Any], text: str, rows: list[tuple[int, str | None]]) -> Any:
    """What a learner's SQL says of these charges (account, key)."""
    try:
        with conn.transaction(force_rollback=True):
            with conn.cursor() as cursor:
                cursor.executemany("insert into charges (account_id, key, amount_cents) values (%s, %s, 1)", rows)
            found = conn.execute(text.encode()).fetchall()
    except psycopg.Error as error:
        raise NotYet(f"PostgreSQL says: {str(error).splitlines()[0]}") from error
    if len(found) != 1 or len(found[0]) != 1:
        raise NotYet(f"It gave {len(found)} rows; a check gives one row with one value, true or false.")
    return found[0][0]
