"""The first minute with `simlib lab`: no question, no pop-up, no request to the outside, and it runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import lesson_page as lp
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("browser")


@pytest.fixture(scope="module")
def course(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A course with two small lessons of our own beside the real ones."""
    folder = tmp_path_factory.mktemp("first")
    with lp.course(folder) as running:
        notebooks = folder / "clone" / "notebooks"
        lp.write_notebook(notebooks / "small.ipynb", "import ipywidgets", "ipywidgets.IntSlider(value=3)")
        lp.write_notebook(notebooks / "broken.ipynb", "1 / 0", "2")
        yield running


def test_a_fresh_lab_asks_nothing_and_shows_no_pop_up(lesson: lp.LessonPage) -> None:
    """No news question, no kernel question: a learner sees the lesson and nothing before it."""
    lesson.open("small.ipynb")
    lesson.run_all()
    expect(lesson.page.locator(".jp-Dialog")).to_have_count(0)
    expect(lesson.page.locator(".jp-toastContainer .Toastify__toast")).to_have_count(0)


def test_widgets_work_with_the_network_cut_off(lesson: lp.LessonPage) -> None:
    """A widget moves by keyboard; nothing was asked of any other machine; the console is clean."""
    lesson.open("small.ipynb")
    lesson.run_all()
    slider = lesson.cells.nth(1).locator(".noUi-handle")
    slider.focus()
    slider.press("ArrowRight")
    expect(lesson.cells.nth(1).locator(".widget-readout")).to_have_text("4")
    assert lesson.outside() == []
    assert lesson.errors == []
    assert lesson.failures() == []


def test_a_broken_cell_is_seen(lesson: lp.LessonPage) -> None:
    """The helper that other tests trust reports a cell that failed."""
    lesson.open("broken.ipynb")
    lesson.run_all()
    assert any("ZeroDivisionError" in words for words in lesson.failures())


def test_nothing_else_than_loopback_is_reachable(lesson: lp.LessonPage) -> None:
    """The network really is cut off in these tests: a page elsewhere fails to load."""
    with pytest.raises(Exception, match="ERR_NAME_NOT_RESOLVED"):
        lesson.page.goto("http://example.org/")
