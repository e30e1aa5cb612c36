"""The quiz under a learner's hand: by mouse to the end, and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from simlib.course.quiz import questions
from tests.browser import lesson_page as lp
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("browser")
ASKED = [question for question in questions() if question.lesson == "05"]


@pytest.fixture(scope="module")
def course(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("quiz")
    with lp.course(folder) as running:
        lp.write_notebook(folder / "clone" / "notebooks" / "quiz.ipynb", "import simlib as sl", 'sl.Quiz("05")')
        yield running


@pytest.fixture
def quiz(lesson: lp.LessonPage) -> Iterator[Locator]:
    lesson.open("quiz.ipynb")
    lesson.run_all()
    yield lesson.cells.nth(1).locator(".jp-OutputArea-output")
    assert lesson.errors == []
    assert lesson.outside() == []
    assert lesson.failures() == []


def test_it_is_played_to_its_end_by_mouse(quiz: Locator) -> None:
    """Every question answered right; each answer has its reason and its place, and the score counts them."""
    for number, question in enumerate(ASKED, 1):
        expect(quiz).to_contain_text(f"{number} of {len(ASKED)}")
        quiz.get_by_role("button", name=question.right, exact=True).or_(
            quiz.get_by_text(question.right, exact=True)
        ).first.click()
        expect(quiz.get_by_role("status")).to_contain_text(f"{number} of {number} right")
        expect(quiz.get_by_role("status")).to_contain_text("Yes.")
        expect(quiz.get_by_role("status").get_by_role("link")).to_have_text("lesson 05")
        if number < len(ASKED):
            quiz.get_by_role("button", name="next").click()
    expect(quiz.get_by_role("button", name="next")).to_be_disabled()


def test_a_wrong_first_answer_counts_and_the_right_one_is_told(quiz: Locator) -> None:
    """By keyboard: Tab to the options, space to choose."""
    wrong = next(option for option in ASKED[0].options if option != ASKED[0].right)
    quiz.get_by_text(wrong, exact=True).first.press(" ")
    expect(quiz.get_by_role("status")).to_contain_text("No: ")
    expect(quiz.get_by_role("status")).to_contain_text("0 of 1 right")
    quiz.get_by_text(ASKED[0].right, exact=True).first.press(" ")
    expect(quiz.get_by_role("status")).to_contain_text("0 of 1 right")
