"""The queue on PostgreSQL: what is not confirmed comes again, and what nobody can handle is put aside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

from simlib.live import pg_queue
from simlib.live.pg.server import Postgres

Conn = psycopg.Connection[Any]


def test_a_message_is_hidden_while_somebody_works_on_it(conn: Conn) -> None:
    pg_queue.publish(conn, "t", "evt-1", {"cents": 1})
    first = pg_queue.take(conn, "t")
    assert first is not None
    assert (first.event_id, first.payload, first.deliveries) == ("evt-1", {"cents": 1}, 1)
    assert pg_queue.take(conn, "t") is None


def test_what_is_not_confirmed_in_time_comes_again(conn: Conn) -> None:
    pg_queue.publish(conn, "t", "evt-1", {})
    pg_queue.take(conn, "t", visibility=0)
    again = pg_queue.take(conn, "t")
    assert again is not None
    assert again.deliveries == 2


def test_what_is_confirmed_does_not(conn: Conn) -> None:
    pg_queue.publish(conn, "t", "evt-1", {})
    message = pg_queue.take(conn, "t", visibility=0)
    assert message is not None
    assert pg_queue.ack(conn, message)
    assert pg_queue.take(conn, "t") is None


def test_a_confirmation_that_comes_too_late_takes_nothing_from_the_next_one(conn: Conn) -> None:
    """Its time ran out and another consumer has it: the late ack must not delete what that one works on."""
    pg_queue.publish(conn, "t", "evt-1", {})
    late = pg_queue.take(conn, "t", visibility=0)
    pg_queue.take(conn, "t")
    assert late is not None
    assert not pg_queue.ack(conn, late)
    assert conn.execute("select count(*) from queue_messages").fetchone() == (1,)


def test_what_is_given_back_comes_at_once(conn: Conn) -> None:
    pg_queue.publish(conn, "t", "evt-1", {})
    message = pg_queue.take(conn, "t")
    assert message is not None
    assert pg_queue.nack(conn, message)
    assert pg_queue.take(conn, "t") is not None


def test_a_message_that_nobody_can_handle_is_put_aside(conn: Conn) -> None:
    pg_queue.publish(conn, "t", "poison", {})
    taken = 0
    while pg_queue.take(conn, "t", visibility=0, most=3) is not None:
        taken += 1
    assert taken == 3
    assert [m.event_id for m in pg_queue.dead_letters(conn, "t")] == ["poison"]


def test_consumers_side_by_side_do_not_get_the_same_message(db: Postgres, conn: Conn) -> None:
    for number in range(40):
        pg_queue.publish(conn, "t", f"evt-{number}", {})

    def consumer(_: int) -> list[int]:
        got = []
        with db.connect() as own:
            while (message := pg_queue.take(own, "t")) is not None:
                got.append(message.id)
        return got

    with ThreadPoolExecutor(4) as pool:
        got = [number for each in pool.map(consumer, range(4)) for number in each]
    assert len(got) == len(set(got)) == 40


def test_topics_are_apart(conn: Conn) -> None:
    pg_queue.publish(conn, "a", "evt-1", {})
    assert pg_queue.take(conn, "b") is None
