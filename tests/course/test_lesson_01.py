"""Lesson 01's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check


def outcome(status: int | None) -> str:
    if status is None or status in (500, 502, 504):
        return "no answer"
    return "yes" if status < 300 else "no"


def by_reference(payments: list[dict[str, Any]], purchase: dict[str, Any]) -> dict[str, Any] | None:
    return next((p for p in payments if p["reference"] == purchase["reference"]), None)


def by_amount(payments: list[dict[str, Any]], purchase: dict[str, Any]) -> dict[str, Any] | None:
    return next((p for p in payments if p["cents"] == purchase["cents"]), None)


def by_amount_and_day(payments: list[dict[str, Any]], purchase: dict[str, Any]) -> dict[str, Any] | None:
    return next((p for p in payments if (p["cents"], p["day"]) == (purchase["cents"], purchase["day"])), None)


def test_where_checking_first_fails() -> None:
    assert check("01.1", sl.ThreeOutcomes(fate="just slow", then="check first")).passed


@pytest.mark.parametrize(
    ("story", "says"),
    [
        (sl.ThreeOutcomes(fate="reply lost", then="check first"), "asked too early"),
        (sl.ThreeOutcomes(fate="reply lost"), "check first"),
        (2, "give a story"),
    ],
)
def test_where_it_does_not(story: Any, says: str) -> None:
    assert says in check("01.1", story).says


def test_the_three_outcomes() -> None:
    assert check("01.2", outcome).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda s: "yes" if s == 200 else "no", "201 is not 'no'"),
        (lambda s: "no" if s and s >= 400 else "yes", "500 is not 'no'"),
        (lambda s: "no" if s is None else outcome(s), "nothing is known"),
    ],
)
def test_other_outcomes(wrong: Any, says: str) -> None:
    assert says in check("01.2", wrong).says


def test_a_purchase_by_its_name() -> None:
    assert check("01.3", by_reference).passed


@pytest.mark.parametrize(("wrong", "says"), [(by_amount, "two payments"), (by_amount_and_day, "Somebody else paid")])
def test_a_purchase_by_something_else(wrong: Any, says: str) -> None:
    assert says in check("01.3", wrong).says
