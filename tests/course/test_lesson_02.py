"""Lesson 02's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check
from simlib.course.lesson_02 import SAME

INSERT = "insert into topups (id, wallet_id, cents) values (%(id)s, %(wallet)s, %(cents)s)"


def test_six_of_six() -> None:
    assert check("02.1", dict(SAME)).passed


@pytest.mark.parametrize("letter", SAME)
def test_five_of_six(letter: str) -> None:
    assert f"Think of {letter}" in check("02.1", {**SAME, letter: not SAME[letter]}).says


def test_another_reply() -> None:
    assert check("02.2", sl.Operations(operation="remove it from the cart")).passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (sl.Operations(), "not idempotent"),
        (sl.Operations(operation="set the quantity to 3"), "same reply"),
        (sl.Operations(times=1), "twice at least"),
        (None, "give an operation"),
    ],
)
def test_no_other_reply(answer: Any, says: str) -> None:
    assert says in check("02.2", answer).says


def test_stored_once() -> None:
    assert check("02.3", f"{INSERT} on conflict (id) do nothing").passed


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        (INSERT, "PostgreSQL says"),
        (f"{INSERT} on conflict (id) do update set cents = topups.cents + excluded.cents", "not 800"),
        (f"{INSERT} on conflict (id) do update set cents = excluded.cents", "row counts"),
    ],
)
def test_stored_in_another_way(sql: str, says: str) -> None:
    assert says in check("02.3", sql).says
