"""The verdict on a key, in the order in which a server must decide."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from simlib.policy.verdict import Verdict, verdict


@dataclass(frozen=True)
class Row:
    fingerprint: str
    finished: bool


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, Verdict.NEW),
        (Row("same", False), Verdict.RUNNING),
        (Row("same", True), Verdict.REPLAY),
        (Row("other", True), Verdict.MISMATCH),
        (Row("other", False), Verdict.MISMATCH),
    ],
    ids=["new", "running", "finished", "other body, finished", "other body, running"],
)
def test_each_case_has_its_verdict_and_another_body_counts_before_the_state(row: Row | None, expected: Verdict) -> None:
    assert verdict(row, "same") is expected
