"""Four fates look the same from the phone, and every way to go on is wrong for one of them."""

from __future__ import annotations

import pytest

from simlib.scenarios.three_outcomes import FATES, THEN, ThreeOutcomes

SILENT = ("request lost", "reply lost", "server dies", "just slow")


def charges(fate: str, then: str) -> float:
    return ThreeOutcomes(fate=fate, then=then).run().counts["charges"]


@pytest.mark.parametrize("then", THEN)
def test_the_callers_column_never_changes(then: str) -> None:
    """What the phone sees up to its time-out is the same to the row."""
    rows = {
        ThreeOutcomes(fate=fate, then=then)
        .run()
        .trace.sql("select time, event from events where actor = 'phone' and time <= 10 order by time")
        .rows
        for fate in SILENT
    }
    assert len(rows) == 1


def test_an_answer_ends_it() -> None:
    assert ThreeOutcomes(fate="all goes well").run().text.endswith("answer 201; 1 charge in the end")
    assert ThreeOutcomes(fate="a no").run().text.endswith("answer 402; 0 charges in the end")


@pytest.mark.parametrize(
    ("then", "expected"),
    [("give up", (0, 1, 1, 1)), ("try again", (1, 2, 2, 2)), ("check first", (1, 1, 1, 2))],
)
def test_what_becomes_of_each(then: str, expected: tuple[int, ...]) -> None:
    """To give up loses a sale, to try again charges twice, and to check first races the one that is just slow."""
    assert tuple(charges(fate, then) for fate in SILENT) == expected


def test_every_fate_is_told() -> None:
    for fate in FATES:
        assert len(ThreeOutcomes(fate=fate).run().trace) > 2
