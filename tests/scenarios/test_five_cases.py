"""The five cases, and what each missing rule costs."""

from __future__ import annotations

import pytest

from simlib.scenarios.five_cases import FiveCases


def seen(**knobs: object) -> tuple[float, float]:
    counts = FiveCases(**knobs).run().counts  # type: ignore[arg-type]
    return counts["second"], counts["charges"]


@pytest.mark.parametrize("style", ["wait", "409"])
@pytest.mark.parametrize(
    ("second", "status", "charges"),
    [
        ("no key", 400, 1),
        ("another amount", 422, 1),
        ("a retry, later", 201, 1),
        ("a retry, at once", 201, 1),
        ("another account", 201, 2),
    ],
)
def test_each_case_has_its_answer(style: str, second: str, status: int, charges: int) -> None:
    assert seen(second=second, style=style) == (status, charges)


def test_while_it_runs_a_duplicate_waits_or_is_told_to_come_back() -> None:
    waits, told = (FiveCases(style=style).run().trace for style in ("wait", "409"))
    assert (waits.count("wait"), waits.count("refuse")) == (1, 0)
    assert (told.count("wait"), told.count("refuse", status="still running: 409")) == (0, 1)


def test_without_a_rule() -> None:
    assert seen(per_attempt=True) == (201, 2), "a key for each try is no key"
    assert seen(second="another account", scoped=False) == (201, 1), "account 2 got the answer of account 1"
    assert seen(second="another amount", compared=False) == (201, 1), "another amount got the old answer"


def test_it_says_what_it_saw() -> None:
    assert FiveCases(second="another amount").run().text.endswith("1 charge, first 201, second 422")
