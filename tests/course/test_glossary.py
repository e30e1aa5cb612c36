"""The glossary: two sentences each, linked where a lesson first uses the word, and a page that is up to date."""

from __future__ import annotations

import re

import nbformat
import pytest

from simlib.course.glossary import PAGE, Term, glossary, linked, page, target, terms
from simlib.course.lessons import link
from simlib.files import NOTEBOOKS

ALL = terms()


def told(lesson: str) -> str:
    cells = nbformat.read(NOTEBOOKS / link(lesson), as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_there_are_about_sixty_and_each_is_said_in_two_sentences() -> None:
    assert 55 <= len(ALL) <= 75
    assert len({t.anchor for t in ALL}) == len(ALL)
    for term in ALL:
        assert len(re.findall(r"[.](?: |$)", term.says)) == 2, term


@pytest.mark.parametrize("term", ALL, ids=lambda t: t.name)
def test_its_lesson_links_it_with_its_meaning(term: Term) -> None:
    assert f"]({target(term)})" in told(term.lesson), "run `make pages`"


def test_the_page_is_up_to_date() -> None:
    assert (NOTEBOOKS / PAGE).read_text(encoding="utf-8") == page(), "run `make pages`"


def test_no_lesson_links_a_word_that_is_not_there() -> None:
    known = {t.anchor for t in ALL}
    for n in range(13):
        assert set(re.findall(rf"\({re.escape(PAGE)}#([^ )]*)", told(f"{n:02}"))) <= known


def test_links_stay_out_of_code_headings_and_other_links() -> None:
    word = [Term("lease", "One. Two.", "06")]
    apart = "# A lease\n`lease` [a lease](x) <b title='lease'>"
    assert linked(apart, word) == apart
    assert linked("A release, then a Lease.", word) == 'A release, then a [Lease](glossary.md#lease "One. Two.").'
    assert word == []


def test_a_word_is_found_by_a_part_of_it_or_another_spelling() -> None:
    assert glossary("timeout").column("term") == ["time-out"]
    assert len(glossary()) == len(ALL)
