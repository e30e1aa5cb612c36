"""Lesson 06's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

import simlib as sl
from simlib.course.check import check

DONE = """update payment_keys set recovery_point = 'done', response_code = 201, lease_id = null
where account_id = %s and key = %s"""


def decide(row: Any, now: float, fingerprint: str) -> str:
    if row is None:
        return "work"
    stored, point, until = row
    if stored != fingerprint:
        return "mismatch"
    if point == "done":
        return "replay"
    return "running" if until is not None and until > now else "work"


def lease_first(row: Any, now: float, fingerprint: str) -> str:
    if row is not None and row[2] is not None and row[2] > now:
        return "running"
    return decide(row, now, fingerprint)


def finish(conn: psycopg.Connection[Any], account: int, key: str, lease: str) -> bool:
    return conn.execute(f"{DONE} and lease_id = %s", [account, key, lease]).rowcount == 1


def unfenced(conn: psycopg.Connection[Any], account: int, key: str, lease: str) -> bool:
    return conn.execute(DONE, [account, key]).rowcount == 1


def any_account(conn: psycopg.Connection[Any], account: int, key: str, lease: str) -> bool:
    text = DONE.replace("account_id = %s and ", "")
    return conn.execute(f"{text} and lease_id = %s", [key, lease]).rowcount > 0


def test_a_story_with_two_charges() -> None:
    assert check("06.1", sl.RecoveryPoints(trouble="dies after charge", downstream=False)).passed


@pytest.mark.parametrize(
    ("story", "says"),
    [
        (sl.RecoveryPoints(), "1 charge, 1 receipt"),
        (sl.RecoveryPoints(fenced=False), "1 charge, 2 receipts"),
        (sl.RecoveryPoints(fenced=False, downstream=False), "one of them is enough"),
        (2, "give a story"),
    ],
)
def test_a_story_without(story: Any, says: str) -> None:
    assert says in check("06.1", story).says


def test_the_right_decision() -> None:
    assert check("06.2", decide).passed


@pytest.mark.parametrize(
    ("wrong", "says"), [(lease_first, "so nobody's lease matters"), (lambda *_: "work", "somebody works")]
)
def test_a_wrong_decision(wrong: Any, says: str) -> None:
    assert says in check("06.2", wrong).says


def test_a_fenced_write() -> None:
    assert check("06.3", finish).passed


@pytest.mark.parametrize(
    ("wrong", "says"), [(unfenced, "must write nothing"), (any_account, "It wrote to the row of account 2")]
)
def test_a_write_that_is_not(wrong: Any, says: str) -> None:
    assert says in check("06.3", wrong).says
