"""The outbox: what is to be told to others is a row of the same transaction; a relay tells it, at least once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from simlib.live.faults import OFF, Faults

Conn = psycopg.Connection[Any]

ADD = "insert into outbox (topic, payload) values (%s, %s) returning event_id::text"
WAKE = "select pg_notify('outbox', '')"  # on commit; whoever misses it finds the row when it looks by itself
UNSENT = """
select id, topic, event_id::text, payload from outbox where published_at is null
order by id limit %s for update skip locked"""
SENT = "update outbox set published_at = clock_timestamp() where id = %s"
LAG = """
select count(*), coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)
from outbox where published_at is null"""

BATCH = 100
LOOK_EVERY = 1.0  # seconds between looks when nobody wakes it


@dataclass(frozen=True)
class Event:
    """A row of the outbox. `event_id` names what happened, and stays the same however often it is published."""

    topic: str
    event_id: str
    payload: Mapping[str, Any]


Publish = Callable[[Event], object]
"""Hands an event to a broker (or a mail server); when it returns, the event is there."""


def add(conn: Conn, topic: str, payload: Mapping[str, Any]) -> str:
    """Write an event in the caller's transaction, and wake the relay at its commit; returns the event's id."""
    row = conn.execute(ADD, [topic, json.dumps(payload)]).fetchone()
    conn.execute(WAKE)
    assert row is not None
    return row[0]


def relay(conn: Conn, publish: Publish, *, batch: int = BATCH, faults: Faults = OFF) -> int:
    """Publish what has not been published, in order; returns how many.

    An event is marked after it was published. A relay that dies in between publishes it again: at least once.
    """
    sent = 0
    while True:
        with conn.transaction():
            rows = conn.execute(UNSENT, [batch]).fetchall()
            for number, topic, event_id, payload in rows:
                publish(Event(topic, event_id, _object(payload)))
                faults.point("after-publish")
                conn.execute(SENT, [number])
        sent += len(rows)
        if len(rows) < batch:
            return sent


def run_relay(
    conn: Conn, publish: Publish, stop: Callable[[], bool], *, look_every: float = LOOK_EVERY, faults: Faults = OFF
) -> None:
    """Relay until `stop()`: at once when woken by `add`, and every `look_every` seconds in any case."""
    conn.execute("listen outbox")
    while not stop():
        relay(conn, publish, faults=faults)
        for _ in conn.notifies(timeout=look_every, stop_after=1):
            pass


def lag(conn: Conn) -> tuple[int, float]:
    """Events that wait to be published, and the age of the oldest in seconds: what to watch."""
    row = conn.execute(LAG).fetchone()
    assert row is not None
    return row[0], float(row[1])


def _object(payload: str) -> Mapping[str, Any]:
    """The payload as an object; text that is none (a saved answer may be anything) goes under `text`."""
    try:
        found = json.loads(payload)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"text": payload}
