"""Broken ways to consume a message, and one that is right: marks in the wrong store, acks too early, the wrong id."""

from __future__ import annotations

from typing import Any

import psycopg

from simlib.live.museum.parts import Delivery

Conn = psycopg.Connection[Any]

ADD = "update wallets set balance_cents = balance_cents + %s where id = 1"
SEEN = "insert into processed_messages (consumer, message_id) values (%s, %s) on conflict do nothing"


def mark_elsewhere_before(conn: Conn, store: Any) -> None:
    """Marks the message in another store, then works: dead in between, the message is lost."""
    if store.mark("evt-1"):
        conn.execute(ADD, [500])


def mark_elsewhere_after(conn: Conn, store: Any) -> None:
    """Works, then marks the message in another store: dead in between, it is done twice."""
    if not store.has("evt-1"):
        conn.execute(ADD, [500])
        store.mark("evt-1")


def ack_before_commit(conn: Conn, broker: Any) -> None:
    """Tells the broker that all is well before it is."""
    delivery = broker.take()
    if delivery is None:
        return
    with conn.transaction():
        if conn.execute(SEEN, ["wallet", delivery.event]).rowcount:
            conn.execute(ADD, [delivery.cents])
        broker.ack(delivery)


def inbox_without_the_consumer(conn: Conn, consumer: str, wallet: int) -> None:
    """Keys the inbox by the message alone: of two consumers the second never works."""
    with conn.transaction():
        if conn.execute(SEEN, ["", "evt-1"]).rowcount:
            conn.execute("update wallets set balance_cents = balance_cents + 500 where id = %s", [wallet])


def brokers_id(conn: Conn, delivery: Delivery) -> None:
    """Dedups on the number the broker gave: the producer published twice, so that differs."""
    with conn.transaction():
        if conn.execute(SEEN, ["wallet", str(delivery.number)]).rowcount:
            conn.execute(ADD, [delivery.cents])


def in_one_transaction(conn: Conn, broker: Any) -> None:
    """Right: mark and effect in one transaction, and the ack after its commit."""
    delivery = broker.take()
    if delivery is None:
        return
    with conn.transaction():
        if conn.execute(SEEN, ["wallet", delivery.event]).rowcount:
            conn.execute(ADD, [delivery.cents])
    broker.ack(delivery)
