"""Lesson 08's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check
from simlib.policy.classify import Outcome


def again(status: int) -> bool:
    return sl.classify_http(status) in (Outcome.TRANSIENT, Outcome.UNKNOWN)


def test_what_to_try_again() -> None:
    assert check("08.1", again).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda s: s >= 400, "is not"),
        (lambda s: s >= 500, "408 is worth another try"),
        (lambda s: False, "is worth another try"),
        (lambda s: s in (200, 201) or again(s), "it was done"),
    ],
)
def test_what_not_to(wrong: Any, says: str) -> None:
    assert says in check("08.1", wrong).says


@pytest.mark.parametrize("jitter", ["full", "equal", "decorrelated"])
def test_every_jitter_will_do(jitter: Any) -> None:
    result = check("08.2", sl.Backoff(base=0.005, cap=2.0, jitter=jitter))
    assert result.passed, result.says


class Fixed:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def delay(self, attempt: int, rng: Any, previous: float | None = None) -> float:
        return self.seconds


@pytest.mark.parametrize(
    ("backoff", "says"),
    [
        (Fixed(0.001), "times the writes of full jitter"),
        (sl.Backoff(base=0.005, cap=2.0, jitter="none"), "times"),
        (Fixed(-1), "a wait is a number of seconds"),
        (Fixed(float("nan")), "a wait is a number of seconds"),
        (3, "give an object with delay"),
    ],
)
def test_a_backoff_that_does_worse(backoff: Any, says: str) -> None:
    result = check("08.2", backoff)
    assert not result.passed
    assert says in result.says


def test_a_parser() -> None:
    assert check("08.3", sl.parse_retry_after).passed


@pytest.mark.parametrize("wrong", [lambda h, now: float(h or 0) if h.isdigit() else 0.0, lambda h, now: 1.0])
def test_a_parser_that_takes_garbage_for_now(wrong: Any) -> None:
    result = check("08.3", wrong)
    assert not result.passed
    assert "yours says" in result.says
