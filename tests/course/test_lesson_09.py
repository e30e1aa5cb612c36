"""Lesson 09's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check
from simlib.policy.budget import RetryBudget
from simlib.policy.closed_forms import layered

SLOW: dict[str, Any] = {"layers": 2, "attempts": 2, "cause": "slow"}


def test_the_right_sum() -> None:
    assert check("09.1", lambda p, n, layers: layered(p, [n] * layers).calls).passed


@pytest.mark.parametrize(
    "wrong",
    [lambda p, n, layers: n**layers, lambda p, n, layers: 1 + p * (n**layers - 1), lambda p, n, layers: None],
)
def test_a_wrong_sum(wrong: Any) -> None:
    assert "Think of one layer first" in check("09.1", wrong).says


@pytest.mark.parametrize("cure", [{"breaker": True}, {"shed": True}, {"propagate": True}])
def test_one_measure_that_helps(cure: dict[str, Any]) -> None:
    assert check("09.2", sl.RetryStorm(**SLOW, **cure)).passed


@pytest.mark.parametrize(
    ("storm", "says"),
    [
        (sl.RetryStorm(**SLOW), "You took 0 measures"),
        (sl.RetryStorm(**SLOW, breaker=True, shed=True), "You took 2 measures"),
        (sl.RetryStorm(**SLOW, jitter=True), "stayed down"),
        (sl.RetryStorm(breaker=True), "Keep the story"),
        (7, "give a storm"),
    ],
)
def test_one_measure_that_does_not(storm: Any, says: str) -> None:
    assert says in check("09.2", storm).says


def test_a_budget() -> None:
    assert check("09.3", RetryBudget).passed


class Generous:
    def on_request(self) -> None: ...

    def try_retry(self) -> bool:
        return True


class Stingy(Generous):
    def try_retry(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("budget", "says"), [(Generous, "allowed 1000 retries"), (Stingy, "no retry at all"), (3, "the class itself")]
)
def test_a_budget_that_is_none(budget: Any, says: str) -> None:
    assert says in check("09.3", budget).says
