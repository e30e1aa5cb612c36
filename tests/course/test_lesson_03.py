"""Lesson 03's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check


def first_time(message: str, seen: set[str]) -> bool:
    new = message not in seen
    seen.add(message)
    return new


def test_a_delivery_that_holds() -> None:
    assert check("03.1", sl.Delivery(promise="effectively once", loss=0.3)).passed


@pytest.mark.parametrize(
    ("delivery", "says"),
    [
        (sl.Delivery(promise="at least once", loss=0.3), "more than once"),
        (sl.Delivery(promise="at most once", loss=0.3), "never handled"),
        (sl.Delivery(promise="effectively once", loss=0.1), "Make it hard"),
        (1, "give a delivery"),
    ],
)
def test_a_delivery_that_does_not(delivery: Any, says: str) -> None:
    assert says in check("03.1", delivery).says


def test_a_receiver() -> None:
    assert check("03.2", first_time).passed


@pytest.mark.parametrize("wrong", [lambda m, seen: True, lambda m, seen: m not in seen, lambda m, seen: False])
def test_a_receiver_that_is_wrong(wrong: Any) -> None:
    assert "Delivered" in check("03.2", wrong).says


def test_who_cannot_know() -> None:
    assert check("03.3", lambda depth: "A" if depth % 2 else "B").passed
    assert "the other one" in check("03.3", lambda depth: "A").says
