"""Exercises: a right answer passes, each plausible wrong one gets its story, and none gives the answer away."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from simlib.course.check import check
from simlib.live.one_transaction import Response, pay
from simlib.policy.fingerprint import fingerprint
from simlib.scenarios.double_tap import DoubleTap

CLAIM = "insert into idempotency_keys (account_id, key, request_hash) values (%s, %s, %s) on conflict do nothing"
READ = "select request_hash, response_code, response_body from idempotency_keys where account_id = %s and key = %s"
CHARGE = "insert into charges (account_id, key, amount_cents) values (%s, %s, %s) returning id"


def check_then_insert(conn: psycopg.Connection, account_id: int, key: str, cents: int) -> Response:
    hashed = fingerprint("POST", "/", str(cents))
    with conn.transaction():
        saved = conn.execute(READ, [account_id, key]).fetchone()
        if saved:
            return Response(201, saved[2].encode(), True) if saved[0] == hashed else Response(422, b"")
        charge = conn.execute(CHARGE, [account_id, key, cents]).fetchone()
        assert charge
        body = json.dumps({"id": charge[0]})
        conn.execute(f"{CLAIM}", [account_id, key, hashed])
        conn.execute("update idempotency_keys set response_code = 201, response_body = %s where key = %s", [body, key])
        return Response(201, body.encode())


def unscoped(conn: psycopg.Connection, account_id: int, key: str, cents: int) -> Response:
    return pay(conn, 1, key, cents)


def any_body(conn: psycopg.Connection, account_id: int, key: str, cents: int) -> Response:
    return pay(conn, account_id, key, cents, fingerprint="the same for all")


def no_key(conn: psycopg.Connection, account_id: int, key: str, cents: int) -> Response:
    charge = conn.execute(CHARGE, [account_id, key, cents]).fetchone()
    return Response(201, str(charge).encode())


def buy(conn: psycopg.Connection, pay: Callable[..., Any], account: int) -> None:
    key = f"{account} {conn.execute('select gen_random_uuid()').fetchone()}"
    pay(conn, account, key, 5000)
    pay(conn, account, key, 5000)


def key_per_try(conn: psycopg.Connection, pay: Callable[..., Any], account: int) -> None:
    for _ in range(2):
        pay(conn, account, str(conn.execute("select gen_random_uuid()").fetchone()), 5000)


def one_key_for_all(conn: psycopg.Connection, pay: Callable[..., Any], account: int) -> None:
    for _ in range(2):
        pay(conn, account, "a key", 5000)


ONCE_PER_KEY = (
    "select not exists (select from charges where key is not null group by account_id, key having count(*) > 1)"
)
RIGHT = [
    ("00.1", DoubleTap(purchases=1000, reply_loss=0.4)),
    ("00.2", DoubleTap(purchases=1000, request_loss=0.3, reply_loss=0.0)),
    ("00.3", buy),
    ("05.1", pay),
    ("05.2", ONCE_PER_KEY),
    ("05.3", pay),
]
WRONG = [
    ("00.1", DoubleTap(purchases=1000, reply_loss=0.01), "Which message has to get lost"),
    ("00.1", DoubleTap(keys=True, purchases=1000), "without"),
    ("00.1", DoubleTap(), "luck decides"),
    ("00.2", DoubleTap(purchases=1000, reply_loss=0.3), "charged again"),
    ("00.2", DoubleTap(purchases=1000, request_loss=0.01), "got lost"),
    ("00.3", key_per_try, "charged 4 times"),
    ("00.3", one_key_for_all, "charged 1 time"),
    ("00.3", lambda conn, pay, account: None, "never charged"),
    ("05.1", check_then_insert, "made 5 charges"),
    ("05.1", any_body, "another amount"),
    ("05.1", unscoped, "Two accounts bought"),
    ("05.1", no_key, "retry was answered"),
    ("05.2", "select count(*) = 0 from charges", "charges that are all right"),
    ("05.2", "select true", "does not say false"),
    ("05.2", "select * frm charges", "PostgreSQL says: syntax error"),
    ("05.3", check_then_insert, "SerializationFailure"),
    ("05.3", 5, "give the function itself"),
]


@pytest.mark.parametrize(("exercise", "answer"), RIGHT)
def test_a_right_answer_passes(exercise: str, answer: object) -> None:
    result = check(exercise, answer)
    assert result.passed, result


@pytest.mark.parametrize(("exercise", "answer", "story"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_a_wrong_answer_gets_its_story(exercise: str, answer: object, story: str) -> None:
    result = check(exercise, answer)
    assert not result.passed
    assert story in result.says


def test_three_dots_are_waited_for() -> None:
    assert "waiting for your answer" in repr(check("00.1", ...))


def test_an_answer_that_raises_is_told_by_its_error() -> None:
    assert "KeyError" in check("05.1", lambda *_: {}["no"]).says


def test_an_unknown_exercise_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"There is no exercise '99.1'; there are 00.1, .*05.3"):
        check("99.1", ...)
