"""The exercises of lesson 07."""

from __future__ import annotations

from typing import Any

import psycopg

from simlib.course.check import NotYet, a_function
from simlib.live.exploring import explore
from simlib.live.pg.server import postgres
from simlib.live.pg_queue import Message
from simlib.scenarios.redelivery import Redelivery

FED = (("evt-1", 500), ("evt-2", 300), ("evt-1", 500), ("evt-2", 300), ("evt-3", 200))
WALLET = "insert into wallets (id) values (1)"
PRODUCT = "insert into products (id, price_cents, version) values (7, 1000, 4), (8, 1000, 4)"
VERSIONS = ((6, 1500, 1), (5, 1200, 0), (6, 1500, 0), (7, 900, 1))


def exercise_1(answer: Any) -> str:
    """A story in which messages get lost and none is applied twice."""
    if not isinstance(answer, Redelivery):
        raise NotYet(f"Your answer is {answer!r}; give a story, such as sl.Redelivery(ack='after').")
    counts = answer.run().counts
    if counts["duplicates"]:
        raise NotYet(
            f"{counts['duplicates']} messages are applied twice. What confirms a message before it is handled?"
        )
    if not counts["lost"]:
        raise NotYet("Nothing is lost. When does a queue stop handing a message out again?")
    return f"{counts['lost']} lost, none applied twice: confirmed first, and then the consumer died."


def exercise_2(answer: Any) -> str:
    """A consumer of top-ups that applies each event once."""
    fn = a_function(answer)
    with postgres() as db, db.connect() as conn:
        conn.execute(WALLET)
        for number, (event, cents) in enumerate(FED, 1):
            fn(conn, _message(number, event, cents))
        balance = _one(conn, "select balance_cents from wallets where id = 1")
        if balance == 1800:
            raise NotYet("Five deliveries of three events made a balance of 1800 cents: two events were applied twice.")
        if balance != 1000:
            raise NotYet(f"Five deliveries of three events made a balance of {balance} cents; it should be 1000.")
    args = [(_message(number, "evt-1", 500),) for number in (1, 2)]
    report = explore(fn, args=args, seed=WALLET, crashes=1, invariant="select balance_cents = 500 from wallets")
    if report.story is not None:
        raise NotYet(
            f"One event delivered to two consumers at once, one of which may die: {report.violating} of "
            f"{report.schedules} schedules go wrong. The shortest:\n{report.story.text}"
        )
    return "three events out of five deliveries; two consumers at once, one of which may die: each event counts once."


def exercise_3(answer: Any) -> str:
    """SQL that sets a product's price when the event is newer than what is there."""
    if not isinstance(answer, str):
        raise NotYet(f"Your answer is {answer!r}; give SQL as text, in quotes.")
    with postgres() as db, db.connect() as conn:
        conn.execute(PRODUCT)
        for version, cents, rows in VERSIONS:
            before = _one(conn, "select version from products where id = 7")
            try:
                done = conn.execute(answer.encode(), {"product": 7, "price_cents": cents, "version": version}).rowcount
            except (psycopg.Error, KeyError) as error:
                raise NotYet(f"PostgreSQL says: {str(error).splitlines()[0]}") from error
            if done != rows:
                raise NotYet(
                    f"The product is at version {before}, and an event of version {version} changed {done} rows; "
                    f"it should change {rows}."
                )
        if _one(conn, "select version from products where id = 8") != 4:
            raise NotYet("It changed another product too.")
        if conn.execute("select price_cents, version from products where id = 7").fetchone() != (900, 7):
            raise NotYet("At the end the product should have the price and the version of the newest event.")
    return "late and repeated events change nothing, whatever their order."


def _message(number: int, event: str, cents: int) -> Message:
    return Message(number, "top-ups", event, {"wallet": 1, "cents": cents}, 1)


def _one(conn: psycopg.Connection[Any], query: str) -> Any:
    row = conn.execute(query.encode()).fetchone()
    return None if row is None else row[0]
