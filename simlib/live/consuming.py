"""A consumer's loop: take, handle, confirm, and what goes wrong when these come in another order.

Run as `python -m simlib.live.consuming DSN TOPIC ORDER`, it works until the queue is empty; it dies where
$SIMLIB_CRASH_AT says, by SIGKILL.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, get_args

import psycopg

from simlib.live import pg_queue
from simlib.live.faults import OFF, Faults, armed
from simlib.live.inbox import TOP_UP, handle
from simlib.live.pg_queue import VISIBILITY, Message

Order = Literal[
    "inbox, then ack", "ack, then work", "work, then ack", "mark elsewhere, then work", "work, then mark elsewhere"
]
ORDERS: tuple[Order, ...] = get_args(Order)

MARKED = "select exists (select from marks where event_id = %s)"
MARK = "insert into marks (event_id) values (%s) on conflict do nothing"
OTHER_STORE = "create table if not exists marks (event_id text primary key)"


def consume(
    conn: psycopg.Connection[Any],
    topic: str,
    order: Order = "inbox, then ack",
    *,
    visibility: float = VISIBILITY,
    faults: Faults = OFF,
) -> int:
    """Work until no message is left to be taken; returns how many were taken.

    `order`: with the inbox, and four ways without it. The *other store* is a table on a connection's own transaction:
    no commit covers both it and the wallet.
    """
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; it takes {', '.join(map(repr, ORDERS))}.")
    taken = 0
    while (message := pg_queue.take(conn, topic, visibility=visibility)) is not None:
        _work(conn, message, order, faults)
        taken += 1
    return taken


def _work(conn: psycopg.Connection[Any], message: Message, order: Order, faults: Faults) -> None:
    match order:
        case "inbox, then ack":
            handle(conn, message)
            faults.point("before-ack")
            pg_queue.ack(conn, message)
        case "ack, then work":
            pg_queue.ack(conn, message)
            faults.point("before-ack")
            _top_up(conn, message)
        case "work, then ack":
            _top_up(conn, message)
            faults.point("before-ack")
            pg_queue.ack(conn, message)
        case "mark elsewhere, then work":
            if conn.execute(MARK, [message.event_id]).rowcount:
                faults.point("after-effect")
                _top_up(conn, message)
            pg_queue.ack(conn, message)
        case "work, then mark elsewhere":
            if conn.execute(MARKED, [message.event_id]).fetchone() == (False,):
                _top_up(conn, message)
                faults.point("after-effect")
                conn.execute(MARK, [message.event_id])
            pg_queue.ack(conn, message)


def _top_up(conn: psycopg.Connection[Any], message: Message) -> None:
    conn.execute(TOP_UP, {"cents": message.payload["cents"], "wallet": message.payload["wallet"]})


def main() -> None:
    """Consume what is there, as a process of its own."""
    dsn, topic, order = sys.argv[1:4]
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(OTHER_STORE)
        print(consume(conn, topic, order, visibility=0.2, faults=armed()), flush=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
