"""The exercises of lesson 10."""

from __future__ import annotations

import math
from typing import Any

import psycopg

from simlib.course.check import NotYet, a_function
from simlib.live.exploring import explore
from simlib.live.pg.server import postgres
from simlib.scenarios.key_table import KeyTable

TABLES = ((2000, 24, 1000), (50, 24, 300), (1, 1, 50), (700, 72, 2000))
WALLET = "insert into wallets (id) values (1)"
BROKEN: dict[str, str] = {
    "a key with two charges": (
        "insert into charges (account_id, key, amount_cents, order_id) values (1, 'k', 500, 1), (1, 'k', 500, 1)"
    ),
    "a charge without an order": "insert into charges (account_id, key, amount_cents) values (1, 'other', 500)",
    "a charge without a key": "insert into charges (account_id, amount_cents, order_id) values (1, 500, 1)",
}
SOUND = (
    "insert into orders (id, account_id, amount_cents) overriding system value values (1, 1, 500), (2, 2, 500);"
    "insert into charges (account_id, key, amount_cents, order_id) values (1, 'a', 500, 1), (2, 'a', 500, 2)"
)


def exercise_1(answer: Any) -> str:
    """Gigabytes that a key table takes at most: (writes_per_s, hours, row_bytes, drop_days) -> GB."""
    fn = a_function(answer)
    for writes, hours, size in TABLES:
        for drop in (False, True):
            right = (
                KeyTable(writes_per_s=writes, hours=hours, row_bytes=size, drop=drop).run().counts["most_bytes"] / 1e9
            )
            said = fn(writes, hours, size, drop)
            if not isinstance(said, int | float) or not math.isclose(said, right, rel_tol=0.01):
                more = " A day goes as a whole, so its first key stays until its last one is old." if drop else ""
                raise NotYet(
                    f"For {writes} writes/s, {hours} h and {size} bytes a row{', days dropped' if drop else ''}, "
                    f"yours says {said!r} GB.{more}"
                )
    return f"{2 * len(TABLES)} tables; two ways to forget, and what each keeps meanwhile."


def exercise_2(answer: Any) -> str:
    """A receiver of webhooks: (conn, event_id, payload), once for each id."""
    fn = a_function(answer)
    with postgres() as db, db.connect() as conn:
        conn.execute(WALLET)
        for event, cents in (("evt-1", 500), ("evt-2", 300), ("evt-1", 500)):
            fn(conn, event, {"wallet": 1, "cents": cents})
        balance = _one(conn, "select balance_cents from wallets where id = 1")
        if balance != 800:
            raise NotYet(f"evt-1 of 500 cents, evt-2 of 300 and evt-1 again made a balance of {balance} cents.")
    args = [("evt-1", {"wallet": 1, "cents": 500})] * 2
    report = explore(fn, args=args, seed=WALLET, crashes=1, invariant="select balance_cents = 500 from wallets")
    if report.story is not None:
        raise NotYet(
            f"One event that comes twice at once, to receivers of which one may die: {report.violating} of "
            f"{report.schedules} schedules go wrong. The shortest:\n{report.story.text}"
        )
    return "sent twice, at once, and with a death in between: each event counts once."


def exercise_3(answer: Any) -> str:
    """One SQL text for the nightly check: true where every charge has its key and its order, and no key has two."""
    if not isinstance(answer, str):
        raise NotYet(f"Your answer is {answer!r}; give SQL as text, in quotes.")
    with postgres() as db, db.connect() as conn:
        conn.execute(SOUND.encode())
        if _asked(conn, answer) is not True:
            raise NotYet(
                "It should say true of tables in which all is well: two accounts used the same key, once each."
            )
        for name, rows in BROKEN.items():
            with conn.transaction(force_rollback=True):
                conn.execute(rows.encode())
                if _asked(conn, answer) is not False:
                    raise NotYet(f"There is {name}, and it does not say false.")
        if _asked(conn, answer) is not True:
            raise NotYet("It changed the tables; a check only reads.")
    return f"it says true of a sound table, and finds each of {len(BROKEN)} broken ones."


def _asked(conn: psycopg.Connection[Any], query: str) -> Any:
    try:
        return _one(conn, query)
    except psycopg.Error as error:
        raise NotYet(f"PostgreSQL says: {str(error).splitlines()[0]}") from error


def _one(conn: psycopg.Connection[Any], query: str) -> Any:
    row = conn.execute(query.encode()).fetchone()
    return None if row is None else row[0]
