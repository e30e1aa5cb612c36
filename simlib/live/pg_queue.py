"""A queue on PostgreSQL: at least once, with a visibility time-out, a count of deliveries, and dead letters.

`for update skip locked` lets consumers take messages side by side without waiting for each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

Conn = psycopg.Connection[Any]

PUBLISH = "insert into queue_messages (topic, event_id, payload) values (%s, %s, %s) returning id"

TAKE = """
update queue_messages
set deliveries = deliveries + 1, visible_at = clock_timestamp() + make_interval(secs => %(visibility)s)
where id = (
    select id from queue_messages
    where topic = %(topic)s and not dead and visible_at <= clock_timestamp()
    order by id limit 1
    for update skip locked)
returning id, topic, event_id, payload, deliveries"""

BURY = """
update queue_messages set dead = true
where topic = %(topic)s and not dead and visible_at <= clock_timestamp() and deliveries >= %(most)s"""

ACK = "delete from queue_messages where id = %s and deliveries = %s"
NACK = "update queue_messages set visible_at = clock_timestamp() where id = %s and deliveries = %s"
DEAD = "select id, topic, event_id, payload, deliveries from queue_messages where topic = %s and dead order by id"

VISIBILITY = 30.0  # seconds
MOST = 20  # deliveries, then it is a dead letter


@dataclass(frozen=True)
class Message:
    """A message as it is delivered. `event_id` is the producer's; `id` is the queue's own, of this copy.

    `deliveries` counts how often it has been handed out, this time included.
    """

    id: int
    topic: str
    event_id: str
    payload: Mapping[str, Any]
    deliveries: int


def publish(conn: Conn, topic: str, event_id: str, payload: Mapping[str, Any]) -> int:
    """Put a message into the queue; returns the queue's number for it. Published twice, it is there twice."""
    row = conn.execute(PUBLISH, [topic, event_id, json.dumps(payload)]).fetchone()
    assert row is not None
    return row[0]


def take(conn: Conn, topic: str, *, visibility: float = VISIBILITY, most: int = MOST) -> Message | None:
    """The next message, hidden from others for `visibility` seconds; None when there is none.

    A message that was handed out `most` times without an ack becomes a dead letter and is not handed out again.
    """
    conn.execute(BURY, {"topic": topic, "most": most})
    row = conn.execute(TAKE, {"topic": topic, "visibility": visibility}).fetchone()
    return None if row is None else _message(row)


def ack(conn: Conn, message: Message) -> bool:
    """Confirm a delivery: it will not come again. False if it came again already, so that this one is out of date."""
    return conn.execute(ACK, [message.id, message.deliveries]).rowcount == 1


def nack(conn: Conn, message: Message) -> bool:
    """Give a delivery back: it comes again at once."""
    return conn.execute(NACK, [message.id, message.deliveries]).rowcount == 1


def dead_letters(conn: Conn, topic: str) -> list[Message]:
    """The messages that nobody could handle, oldest first."""
    return [_message(row) for row in conn.execute(DEAD, [topic])]


def _message(row: tuple[Any, ...]) -> Message:
    number, topic, event_id, payload, deliveries = row
    return Message(number, topic, event_id, json.loads(payload), deliveries)
