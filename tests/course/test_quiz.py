"""The quiz: enough questions, each explained and pointing to its place, none given away by its looks."""

from __future__ import annotations

import html
from collections import Counter

import nbformat
import pytest

from simlib.course.lessons import link
from simlib.course.quiz import Quiz, questions
from simlib.files import NOTEBOOKS

ALL = questions()


def test_every_lesson_with_a_claim_is_asked_about() -> None:
    assert len(ALL) >= 20
    assert {q.lesson for q in ALL} >= {f"{n:02}" for n in range(1, 12)}
    assert len({q.ask for q in ALL}) == len(ALL)


@pytest.mark.parametrize("q", ALL, ids=lambda q: q.ask[:40])
def test_each_has_four_options_a_reason_and_a_place_that_is_there(q: object) -> None:
    assert len(set(q.options)) == 4
    assert q.right in q.options
    assert len(q.why) > 40
    cells = nbformat.read(NOTEBOOKS / link(q.lesson), as_version=4).cells
    headings = [
        line.lstrip("# ")
        for c in cells
        if c.cell_type == "markdown"
        for line in c.source.splitlines()
        if line.startswith("#")
    ]
    assert any(h.startswith(q.see) for h in headings), f"lesson {q.lesson} has no heading {q.see!r}: {headings}"


def test_the_right_one_is_given_away_neither_by_place_nor_by_length() -> None:
    """Whoever always takes the longest, the shortest or one place has no more than chance allows."""
    places = Counter(q.options.index(q.right) for q in ALL)
    longest = sum(len(q.right) == max(map(len, q.options)) for q in ALL)
    shortest = sum(len(q.right) == min(map(len, q.options)) for q in ALL)
    most = 0.45 * len(ALL)
    assert max(places.values()) <= most, places
    assert longest <= most, longest
    assert shortest <= most, shortest


def test_the_lesson_s_source_holds_no_answer() -> None:
    twelve = (NOTEBOOKS / link("12")).read_text(encoding="utf-8")
    assert not any(q.why in twelve for q in ALL)


def test_answering_tells_why_and_counts_first_answers_only() -> None:
    quiz = Quiz("09")
    question = quiz._questions[0]
    wrong = next(o for o in question.options if o != question.right)
    quiz._options.value = wrong
    assert "No: " in quiz._says.value
    assert question.why.split(".")[0] in quiz._says.value
    quiz._options.value = question.right
    assert "Yes." in quiz._says.value
    assert quiz.score == (0, 1)
    quiz._next.click()
    quiz._options.value = quiz._questions[1].right
    assert quiz.score == (1, 2)
    quiz._back.click()
    assert quiz._options.value == wrong
    assert repr(quiz) == "a quiz of 3 questions, 1 of 2 right"


def test_on_paper_it_is_whole() -> None:
    data = Quiz()._repr_mimebundle_()
    assert all(f"<li>{html.escape(option)}</li>" in data["text/html"] for q in ALL for option in q.options)
    assert not any(q.why[:30] in data["text/html"] for q in ALL)


def test_an_unknown_lesson_is_told() -> None:
    with pytest.raises(ValueError, match="no questions about lesson '99'"):
        Quiz("99")
