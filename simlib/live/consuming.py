"""A consumer's loop: take, handle, confirm, and what goes wrong when these come in another order.

Run as `python -m simlib.live.consuming DSN TOPIC ORDER`, it works until the queue is empty; it dies where
$SIMLIB_CRASH_AT says, by SIGKILL. The queue is PostgreSQL's, or that of the RabbitMQ which $SIMLIB_AMQP_URL names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import psycopg

from simlib.live import pg_queue, rabbit
from simlib.live.faults import OFF, Faults, armed
from simlib.live.inbox import TOP_UP, handle
from simlib.live.pg_queue import Message

Take = Callable[[], Message | None]
"""Gives the next message of a queue, or None."""

Ack = Callable[[Message], object]
"""Confirms a message to its queue."""

Order = Literal[
    "inbox, then ack", "ack, then work", "work, then ack", "mark elsewhere, then work", "work, then mark elsewhere"
]
ORDERS: tuple[Order, ...] = get_args(Order)

MARKED = "select exists (select from marks where event_id = %s)"
MARK = "insert into marks (event_id) values (%s) on conflict do nothing"
OTHER_STORE = "create table if not exists marks (event_id text primary key)"


def consume(
    conn: psycopg.Connection[Any], take: Take, ack: Ack, order: Order = "inbox, then ack", *, faults: Faults = OFF
) -> int:
    """Work until no message is left to be taken; returns how many were taken.

    `take` and `ack` are those of any queue that delivers at least once. `order`: with the inbox, and four ways without
    it. The *other store* is a table on a connection's own transaction: no commit covers both it and the wallet.
    """
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; it takes {', '.join(map(repr, ORDERS))}.")
    taken = 0
    while (message := take()) is not None:
        _work(conn, message, ack, order, faults)
        taken += 1
    return taken


def _work(conn: psycopg.Connection[Any], message: Message, ack: Ack, order: Order, faults: Faults) -> None:
    match order:
        case "inbox, then ack":
            handle(conn, message)
            faults.point("before-ack")
            ack(message)
        case "ack, then work":
            ack(message)
            faults.point("before-ack")
            _top_up(conn, message)
        case "work, then ack":
            _top_up(conn, message)
            faults.point("before-ack")
            ack(message)
        case "mark elsewhere, then work":
            if conn.execute(MARK, [message.event_id]).rowcount:
                faults.point("after-effect")
                _top_up(conn, message)
            ack(message)
        case "work, then mark elsewhere":
            if conn.execute(MARKED, [message.event_id]).fetchone() == (False,):
                _top_up(conn, message)
                faults.point("after-effect")
                conn.execute(MARK, [message.event_id])
            ack(message)


def _top_up(conn: psycopg.Connection[Any], message: Message) -> None:
    conn.execute(TOP_UP, {"cents": message.payload["cents"], "wallet": message.payload["wallet"]})


def main() -> None:
    """Consume what is there, as a process of its own."""
    dsn, topic, order = sys.argv[1:4]
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(OTHER_STORE)
        if os.environ.get(rabbit.VARIABLE):
            with rabbit.channel() as channel:
                _consume(conn, partial(rabbit.take, channel, topic), partial(rabbit.ack, channel), order)
        else:
            _consume(conn, partial(pg_queue.take, conn, topic, visibility=0.2), partial(pg_queue.ack, conn), order)


def _consume(conn: psycopg.Connection[Any], take: Take, ack: Ack, order: str) -> None:
    print(consume(conn, take, ack, order, faults=armed()), flush=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
