"""Every lesson runs from top to bottom in a browser, with the network cut off and a clean console."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlib.cli.lessons import lessons
from simlib.files import NOTEBOOKS
from tests.browser import lesson_page as lp


@pytest.mark.parametrize("path", lessons(NOTEBOOKS), ids=lambda p: p.stem)
def test_it_runs_and_asks_nothing_of_the_outside(lesson: lp.LessonPage, path: Path) -> None:
    lesson.open(path.name)
    lesson.run_all()
    assert lesson.failures() == []
    assert lesson.errors == []
    assert lesson.outside() == []
