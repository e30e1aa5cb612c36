"""Hints: every exercise has them, in steps, and none gives the answer away."""

from __future__ import annotations

import re

import nbformat
import pytest

from simlib.course.check import check
from simlib.course.hints import hint, hints
from simlib.files import NOTEBOOKS


def test_every_exercise_has_two_steps_at_least() -> None:
    lessons = (nbformat.read(lesson, as_version=4) for lesson in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
    asked = {name for lesson in lessons for c in lesson.cells for name in re.findall(r'check\("(\d\d\.\d)"', c.source)}
    assert set(hints()) == asked
    assert all(2 <= len(steps) <= 3 for steps in hints().values())


@pytest.mark.parametrize("exercise", hints())
def test_no_hint_is_a_solution(exercise: str) -> None:
    """No line of the solution's code stands in a hint, and no code in a hint passes as an answer."""
    solved = nbformat.read(next((NOTEBOOKS / "solutions").glob(f"{exercise[:2]}_*.ipynb")), as_version=4)
    code = next(c.source for c in solved.cells if f'check("{exercise}"' in c.source)
    lines = {line.strip() for line in code.splitlines() if len(line.strip()) > 20 and "import" not in line}
    said = " ".join(hints()[exercise])
    assert not [line for line in lines if line in said]
    for piece in re.findall(r"`([^`]+)`", said):
        assert not check(exercise, piece).passed


def test_a_hint_says_how_many_there_are_and_how_to_get_the_next() -> None:
    assert 'hint 1 of 2; the next is sl.hint("05.2", 2)' in repr(hint("05.2"))
    assert "hint 2 of 2)" in hint("05.2", 2)


def test_no_such_hint() -> None:
    with pytest.raises(ValueError, match=r"Exercise 05.2 has hints 1 to 2; 3 is none of them"):
        hint("05.2", 3)
    with pytest.raises(ValueError, match=r"There is no exercise '99.1'; there are 00.1, "):
        hint("99.1")
