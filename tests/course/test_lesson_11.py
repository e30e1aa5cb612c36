"""Lesson 11's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

from simlib.course.check import check
from simlib.live import pay
from simlib.live.museum import BROKEN


@pytest.mark.parametrize("answer", ["A3B3", "A2B2A4B4", "A3B6A3"])
def test_a_schedule_in_which_both_look_first(answer: str) -> None:
    assert check("11.1", answer).passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [("A6B6", "all goes well"), ("C1", "names session C"), ("A-1", "is no schedule"), (7, "give a schedule"),
     ("A99", "cannot be played")],
)  # fmt: skip
def test_a_schedule_that_is_none_or_does_no_harm(answer: Any, says: str) -> None:
    result = check("11.1", answer)
    assert not result.passed
    assert says in result.says


def test_a_payment_that_survives() -> None:
    assert check("11.2", pay).passed


@pytest.mark.parametrize(
    ("name", "says"), [("claim_then_work", "with a death somewhere"), ("check_then_insert", "with nobody dying")]
)
def test_a_payment_that_does_not(name: str, says: str) -> None:
    result = check("11.2", BROKEN[name].fn)
    assert not result.passed
    assert says in result.says


def test_an_invariant_that_sees_the_late_worker() -> None:
    assert check("11.3", "select count(*) <= 1 from outbox").passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("select true", "says true in every schedule"),
        ("select false", "which does nothing wrong"),
        ("select count(*) from outbox", "which does nothing wrong"),
        ("select nonsense", "PostgreSQL says"),
    ],
)
def test_an_invariant_that_does_not(answer: str, says: str) -> None:
    result = check("11.3", answer)
    assert not result.passed
    assert says in result.says
