"""The outbox: written with the change it tells of, published at least once, and once in effect behind an inbox."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from simlib.live import outbox, pg_queue
from simlib.live.faults import CrashAt, Crashed
from simlib.live.inbox import handle
from simlib.live.outbox import Event
from simlib.live.pg.server import Postgres
from tests.live.conftest import until

Conn = psycopg.Connection[Any]


def test_an_event_is_written_with_its_change_or_not_at_all(conn: Conn) -> None:
    with conn.transaction(force_rollback=True):
        outbox.add(conn, "top-ups", {"cents": 1})
    assert outbox.lag(conn)[0] == 0


def test_events_are_published_once_and_in_order(conn: Conn) -> None:
    ids = [outbox.add(conn, "t", {"n": n}) for n in range(5)]
    seen: list[Event] = []
    assert outbox.relay(conn, seen.append, batch=2) == 5
    assert [event.event_id for event in seen] == ids
    assert outbox.relay(conn, seen.append) == 0
    assert outbox.lag(conn) == (0, 0.0)


def test_a_relay_that_dies_after_publishing_publishes_again_under_the_same_id(conn: Conn) -> None:
    outbox.add(conn, "t", {})
    seen: list[Event] = []
    with pytest.raises(Crashed):
        outbox.relay(conn, seen.append, faults=CrashAt("after-publish", how="raise"))
    outbox.relay(conn, seen.append)
    assert len(seen) == 2
    assert seen[0] == seen[1]


def test_two_relays_do_not_publish_the_same_row(db: Postgres, conn: Conn) -> None:
    for n in range(20):
        outbox.add(conn, "t", {"n": n})
    seen: list[Event] = []

    def work() -> None:
        with db.connect() as own:
            outbox.relay(own, seen.append, batch=1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == len({event.event_id for event in seen}) == 20


def test_a_relay_is_woken_by_the_commit(db: Postgres, conn: Conn) -> None:
    """It would look by itself only after an hour; the notification brings the event at once."""
    seen: list[Event] = []
    stop = threading.Event()

    def run() -> None:
        with db.connect() as own:
            outbox.run_relay(own, seen.append, stop.is_set, look_every=3600)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        outbox.add(conn, "t", {})
        until(lambda: seen)
    finally:
        stop.set()
        conn.execute("notify outbox")
        thread.join(30)
    assert not thread.is_alive()


def test_end_to_end_with_a_death_at_the_relay_and_repeated_deliveries(db: Postgres, conn: Conn) -> None:
    """Outbox, relay, queue, consumer with inbox: published twice, handled four times, applied once."""
    conn.execute("insert into wallets (id) values (1)")
    outbox.add(conn, "top-ups", {"wallet": 1, "cents": 500})
    with db.connect() as broker:  # what the relay rolls back stays published

        def publish(event: Event) -> None:
            pg_queue.publish(broker, event.topic, event.event_id, event.payload)

        with pytest.raises(Crashed):
            outbox.relay(conn, publish, faults=CrashAt("after-publish", how="raise"))
        outbox.relay(conn, publish)
    applied: list[bool] = []
    while (message := pg_queue.take(conn, "top-ups")) is not None:
        applied += [handle(conn, message) for _ in range(2)]
        pg_queue.ack(conn, message)
    assert applied == [True, False, False, False]
    assert conn.execute("select balance_cents from wallets").fetchone() == (500,)
