"""Progress: tries are counted, what passed stays passed, and nothing can spoil a lesson because of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simlib.course.check import check
from simlib.course.progress import progress
from simlib.scenarios.two_generals import TwoGenerals

RIGHT, WRONG = (lambda n: "A" if TwoGenerals(depth=n).run().counts["writer"] else "B"), (lambda n: "A")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mine.json"
    monkeypatch.setenv("SIMLIB_PROGRESS", str(path))
    return path


def lesson_3() -> tuple[str, int]:
    row = next(row for row in progress() if row[0].startswith("03"))
    return row[1], row[2]


def test_a_learner_sees_what_passed_and_how_many_tries_it_took(kept: Path) -> None:
    assert lesson_3() == ("○○○", 0)
    check("03.3", ...)  # not an answer, so not a try
    check("03.3", WRONG)
    assert lesson_3() == ("○○○", 1)
    check("03.3", RIGHT)
    assert lesson_3() == ("○○●", 2)
    check("03.3", WRONG)  # what passed stays passed
    assert lesson_3() == ("○○●", 3)
    assert len(progress()) == 13
    assert [path.name for path in kept.parent.iterdir()] == ["mine.json"]


def test_it_lies_beside_the_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIMLIB_PROGRESS")
    monkeypatch.chdir(tmp_path)
    check("03.3", RIGHT)
    assert "passed" in json.loads((tmp_path / "progress.json").read_text())["03.3"]


@pytest.mark.parametrize("spoilt", ["", "no json", "[1, 2]", '{"03.3": 7}', '{"03.3": {"tries": "x"}}'])
def test_a_spoilt_file_is_as_none(kept: Path, spoilt: str) -> None:
    kept.write_text(spoilt)
    assert lesson_3() == ("○○○", 0)
    assert check("03.3", RIGHT).passed
    assert lesson_3() == ("○○●", 1)


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMLIB_PROGRESS", str(tmp_path / "not there" / "mine.json"))
    assert check("03.3", RIGHT).passed
    assert lesson_3() == ("○○○", 0)
