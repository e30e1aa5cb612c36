"""Consumers: with the inbox a message counts once whatever dies; without it, it is lost or counts twice."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

from simlib.live import pg_queue
from simlib.live.consuming import ORDERS, consume
from simlib.live.faults import VARIABLE
from simlib.live.inbox import TOP_UP, NoSuchWallet, apply_newer, handle, handle_async
from simlib.live.pg.server import Postgres
from simlib.live.pg_queue import Message
from tests.live.conftest import until

Conn = psycopg.Connection[Any]
FED = (("evt-1", 500), ("evt-2", 300), ("evt-1", 500), ("evt-2", 300), ("evt-3", 200))


@pytest.fixture
def conn(db: Postgres) -> Iterator[Conn]:
    with db.connect() as conn:
        conn.execute("insert into wallets (id) values (1)")
        conn.execute("insert into products (id, price_cents, version) values (7, 1000, 4)")
        yield conn


def message(event: str, cents: int, number: int = 1, wallet: int = 1) -> Message:
    return Message(number, "top-ups", event, {"wallet": wallet, "cents": cents}, 1)


def balance(conn: Conn) -> int:
    row = conn.execute("select balance_cents from wallets where id = 1").fetchone()
    assert row is not None
    return row[0]


def test_five_deliveries_of_three_events(conn: Conn) -> None:
    """evt-1, evt-2, evt-1, evt-2, evt-3: a balance of 1000 with the dedup table, and 1800 without."""
    applied = [handle(conn, message(event, cents)) for event, cents in FED]
    assert applied == [True, True, False, False, True]
    assert balance(conn) == 1000
    for event, cents in FED:
        conn.execute(TOP_UP, message(event, cents).payload)
    assert balance(conn) == 1000 + 1800


def test_a_copy_that_was_published_twice_is_known_by_the_producers_id(conn: Conn) -> None:
    assert [handle(conn, message("evt-1", 500, number)) for number in (1, 2)] == [True, False]


def test_two_consumers_of_one_message_both_handle_it(conn: Conn) -> None:
    assert [handle(conn, message("evt-1", 500), consumer=name) for name in ("wallet", "points")] == [True, True]


def test_no_such_wallet_is_not_a_duplicate(conn: Conn) -> None:
    """It must not be confirmed and forgotten: nothing is written, and the next delivery says the same."""
    for _ in range(2):
        with pytest.raises(NoSuchWallet, match="wallet 99"):
            handle(conn, message("evt-1", 500, wallet=99))
    assert conn.execute("select count(*) from processed_messages").fetchone() == (0,)


def test_the_async_twin(db: Postgres, conn: Conn) -> None:
    async def twice() -> list[bool]:
        async with await psycopg.AsyncConnection.connect(db.dsn, autocommit=True) as own:
            return [await handle_async(own, message("evt-1", 500)) for _ in range(2)]

    assert asyncio.run(twice()) == [True, False]
    assert balance(conn) == 500


def test_versions_let_the_newest_win_whatever_the_order(conn: Conn) -> None:
    """A product at version 4 gets v6, v5 late, v6 again: 1, 0, 0 rows; price 1500, version 6."""
    events = [(6, 1500), (5, 1200), (6, 1500)]
    done = [
        apply_newer(conn, Message(1, "prices", f"v{v}", {"product": 7, "price_cents": cents, "version": v}, 1))
        for v, cents in events
    ]
    assert done == [True, False, False]
    assert conn.execute("select price_cents, version from products where id = 7").fetchone() == (1500, 6)


AFTER_DEATH = {
    ("inbox, then ack", "before-ack"): 500,
    ("ack, then work", "before-ack"): 0,
    ("work, then ack", "before-ack"): 1000,
    ("mark elsewhere, then work", "after-effect"): 0,
    ("work, then mark elsewhere", "after-effect"): 1000,
}
"""The order, and where the consumer was killed, to the balance after another one has gone on: 500 would be right."""


@pytest.mark.parametrize(("order", "point"), AFTER_DEATH)
def test_a_consumer_is_killed_half_way_and_another_goes_on(db: Postgres, conn: Conn, order: str, point: str) -> None:
    """SIGKILL between two of its steps; the message comes again unless it was confirmed."""
    pg_queue.publish(conn, "top-ups", "evt-1", {"wallet": 1, "cents": 500})
    command = [sys.executable, "-m", "simlib.live.consuming", db.dsn, "top-ups", order]
    assert subprocess.run(command, env={**os.environ, VARIABLE: point}, capture_output=True).returncode == -9

    def gone() -> bool:
        subprocess.run(command, check=True, capture_output=True)
        return conn.execute("select count(*) from queue_messages").fetchone() == (0,)

    until(gone)
    assert balance(conn) == AFTER_DEATH[order, point]  # type: ignore[index]


def test_without_a_death_every_order_is_right(conn: Conn) -> None:
    """Which is why the wrong ones get shipped."""
    conn.execute("create table marks (event_id text primary key)")
    for number, order in enumerate(ORDERS):
        pg_queue.publish(conn, "top-ups", f"evt-{number}", {"wallet": 1, "cents": 100})
        assert consume(conn, partial(pg_queue.take, conn, "top-ups"), partial(pg_queue.ack, conn), order) == 1
    assert balance(conn) == 100 * len(ORDERS)
