"""Comparing under the same luck: the difference is what the knob causes, with an interval that is repeatable."""

from __future__ import annotations

import pytest

from simlib.scenarios.compare import compare
from simlib.scenarios.double_tap import DoubleTap

OFF = DoubleTap(keys=False, reply_loss=0.3, purchases=200)
ON = DoubleTap(keys=True, reply_loss=0.3, purchases=200)


def test_the_key_removes_the_duplicates_and_nothing_else() -> None:
    result = compare(OFF, ON, seeds=range(10))
    assert result["duplicates"].b == 0
    assert result["duplicates"].high < 0
    assert (result["lost"].low, result["lost"].high) == (0, 0)
    assert (result["attempts"].low, result["attempts"].high) == (0, 0)


def test_the_same_setting_differs_in_nothing() -> None:
    result = compare(ON, ON, seeds=range(3))
    assert all(d.difference == d.low == d.high == 0 for d in result.differences.values())


def test_the_interval_holds_the_difference_and_is_repeatable() -> None:
    first, second = (compare(OFF, ON, seeds=range(8))["charges"] for _ in range(2))
    assert first == second
    assert first.low <= first.difference <= first.high


def test_without_seeds_it_says_what_to_give() -> None:
    with pytest.raises(ValueError, match=r"at least one seed, for example seeds=range\(30\)"):
        compare(OFF, ON, seeds=[])
