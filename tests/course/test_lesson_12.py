"""The exercises of lesson 12: what passes, and which story the rest is told."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from simlib import live
from simlib.course.check import check


def fetch(send: Any) -> Any:
    key = str(uuid.uuid4())
    answer = None
    for attempt in range(3):
        try:
            answer = send(key)
        except TimeoutError:
            if attempt == 2 and answer is None:
                raise
            continue
        if answer < 500:
            return answer
    return answer


def test_right_answers() -> None:
    named = ["check, then insert", "key not scoped to the account", "request not compared"]
    for exercise, answer in (("12.1", named), ("12.2", live.pay), ("12.3", fetch)):
        result = check(exercise, answer)
        assert result.passed, result


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (["check, then insert"], "There are 2 more"),
        (["nonsense"], "not in the list"),
        (["no inbox"], "not what is wrong with it"),
        (5, "give a list"),
    ],
)
def test_naming_the_wrong_ones(answer: Any, says: str) -> None:
    assert says in check("12.1", answer).says


def test_a_payment_that_checks_first_is_told_its_story() -> None:
    def hasty(conn: Any, account: int, key: str, cents: int) -> Any:
        with conn.transaction():
            if not conn.execute("select 1 from charges where key = %s", [key]).fetchone():
                conn.execute(
                    "insert into charges (account_id, key, amount_cents) values (%s, %s, %s)", [account, key, cents]
                )
        return live.Response(201, b"{}")

    assert "attacks got through" in check("12.2", hasty).says


def key_in_the_loop(send: Any) -> Any:
    for _ in range(3):
        try:
            return send(str(uuid.uuid4()))
        except TimeoutError:
            pass
    raise TimeoutError


def one_key_for_all(send: Any) -> Any:
    return fetch(lambda _: send("k"))


def retries_a_no(send: Any) -> Any:
    key = str(uuid.uuid4())
    for _ in range(3):
        try:
            answer = send(key)
        except TimeoutError:
            continue
        if answer < 300:
            return answer
    return answer


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (key_in_the_loop, "as many purchases"),
        (one_key_for_all, "swallowed"),
        (retries_a_no, "a final no"),
        (lambda send: send(str(uuid.uuid4())), "tried 1 times"),
        (lambda send: send(5), "a key is text"),
    ],
)
def test_a_client_s_pitfalls_are_told(answer: Any, says: str) -> None:
    assert says in check("12.3", answer).says
