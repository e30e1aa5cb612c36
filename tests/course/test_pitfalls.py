"""Every pitfall goes wrong the wrong way and right the right way, when it is run."""

from __future__ import annotations

import pytest

from simlib.course.check import LESSONS
from simlib.course.pitfalls import PITFALLS, Pair, pitfall, pitfalls
from simlib.course.pitfalls.pair import Pitfall


@pytest.mark.parametrize("p", PITFALLS, ids=lambda p: p.name)
def test_wrong_goes_wrong_and_right_goes_right(p: Pitfall) -> None:
    pair = Pair(p)
    assert not pair.wrong.good, pair.wrong
    assert pair.right.good, pair.right
    assert pair.wrong.says in repr(pair)
    assert "✗ wrong" in pair._repr_html_()


def test_they_have_names_of_their_own_and_lessons_that_are_there() -> None:
    assert len({p.name for p in PITFALLS}) == len(PITFALLS) == len(pitfalls()) >= 35
    assert {p.lesson for p in PITFALLS} <= set(LESSONS)


def test_an_unknown_one_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="check, then insert"):
        pitfall("nope")
