"""Lesson 07's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check
from simlib.live.inbox import NEWER, TOP_UP, handle


def without_an_inbox(conn: Any, message: Any) -> None:
    conn.execute(TOP_UP, message.payload)


def looks_first(conn: Any, message: Any) -> None:
    seen = "select 1 from processed_messages where message_id = %s"
    if conn.execute(seen, [message.event_id]).fetchone():
        return
    conn.execute(TOP_UP, message.payload)
    conn.execute("insert into processed_messages values ('w', %s) on conflict do nothing", [message.event_id])


def brokers_id(conn: Any, message: Any) -> None:
    with conn.transaction():
        mark = "insert into processed_messages values ('w', %s) on conflict do nothing"
        if conn.execute(mark, [str(message.id)]).rowcount:
            conn.execute(TOP_UP, message.payload)


def test_a_story_of_loss() -> None:
    assert check("07.1", sl.Redelivery(ack="before")).passed


@pytest.mark.parametrize(
    ("story", "says"),
    [(sl.Redelivery(), "applied twice"), (sl.Redelivery(inbox=True), "Nothing is lost"), (1, "give a story")],
)
def test_a_story_of_something_else(story: Any, says: str) -> None:
    assert says in check("07.1", story).says


def test_a_consumer() -> None:
    assert check("07.2", handle).passed


@pytest.mark.parametrize(
    ("consumer", "says"),
    [
        (without_an_inbox, "a balance of 1800"),
        (brokers_id, "a balance of 1800"),
        (looks_first, "schedules go wrong"),
        (lambda conn, message: None, "a balance of 0"),
    ],
)
def test_a_consumer_that_is_wrong(consumer: Any, says: str) -> None:
    assert says in check("07.2", consumer).says


def test_newer_wins() -> None:
    assert check("07.3", NEWER).passed


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        (NEWER.replace("version < %(version)s", "version <> %(version)s"), "version 5 changed 1 rows"),
        (NEWER.replace("id = %(product)s and ", ""), "changed 2 rows"),
        ("update nothing set x = 1", "PostgreSQL says"),
    ],
)
def test_sql_that_does_not(sql: str, says: str) -> None:
    assert says in check("07.3", sql).says
