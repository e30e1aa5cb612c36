"""Which lesson is meant, and that a learner's work is never written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlib.cli.lessons import find, hand_out, lessons
from simlib.cli.refusal import Refusal

NAMES = ("00_start_here", "01_double_tap", "05_claim_in_postgres", "10_retry_storm")


def shelf(folder: Path, text: str = "first edition") -> Path:
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        (folder / f"{name}.ipynb").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("0", "00_start_here"),
        ("00", "00_start_here"),
        ("5", "05_claim_in_postgres"),
        ("05", "05_claim_in_postgres"),
        ("10", "10_retry_storm"),
        ("claim", "05_claim_in_postgres"),
        ("Double_Tap", "01_double_tap"),
        ("05_claim_in_postgres.ipynb", "05_claim_in_postgres"),
        ("notebooks/05_claim_in_postgres.ipynb", "05_claim_in_postgres"),
    ],
)
def test_a_lesson_is_found_by_number_or_name(word: str, name: str, tmp_path: Path) -> None:
    assert find(word, shelf(tmp_path)).stem == name


@pytest.mark.parametrize("word", ["7", "99", "100", "", "..", "quantum", "²"])
def test_a_word_that_means_no_lesson_is_refused(word: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="there is no lesson"):
        find(word, shelf(tmp_path))


def test_a_slip_of_the_pen_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="did you mean retry_storm"):
        find("rety_strom", shelf(tmp_path))


def test_lessons_are_copied_once(tmp_path: Path) -> None:
    shipped, mine = shelf(tmp_path / "shipped"), tmp_path / "mine"
    assert hand_out(shipped, mine) == [f"Copied 4 lessons to {mine}; what you change there is yours."]
    assert [p.stem for p in lessons(mine)] == list(NAMES)
    assert hand_out(shipped, mine) == []


def test_work_is_never_written_over(tmp_path: Path) -> None:
    """A new edition lies beside what the learner wrote, once, and says so; the rest is left alone."""
    shipped, mine = shelf(tmp_path / "shipped"), tmp_path / "mine"
    hand_out(shipped, mine)
    work = mine / "01_double_tap.ipynb"
    work.write_text("my answers")
    assert hand_out(shipped, mine) == []

    (shipped / "01_double_tap.ipynb").write_text("second edition")
    said = hand_out(shipped, mine)
    assert len(said) == 1
    assert "01_double_tap.ipynb is yours and stays" in said[0]
    assert work.read_text() == "my answers"
    beside = [p for p in mine.glob("01_double_tap (*") if p.read_text() == "second edition"]
    assert len(beside) == 1

    beside[0].write_text("my second answers")
    assert hand_out(shipped, mine) == []
    (shipped / "01_double_tap.ipynb").write_text("third edition")
    hand_out(shipped, mine)
    assert beside[0].read_text() == "my second answers"
    assert len(list(mine.glob("01_double_tap (*"))) == 2


def test_work_that_was_there_before_the_course_is_kept(tmp_path: Path) -> None:
    """A folder that happens to hold a file of a lesson's name keeps it, with the lesson beside."""
    shipped, mine = shelf(tmp_path / "shipped"), tmp_path / "mine"
    mine.mkdir()
    (mine / "00_start_here.ipynb").write_text("somebody's notes")
    hand_out(shipped, mine)
    assert (mine / "00_start_here.ipynb").read_text() == "somebody's notes"


def test_a_lesson_thrown_away_comes_back(tmp_path: Path) -> None:
    shipped, mine = shelf(tmp_path / "shipped"), tmp_path / "mine"
    hand_out(shipped, mine)
    (mine / "00_start_here.ipynb").unlink()
    hand_out(shipped, mine)
    assert (mine / "00_start_here.ipynb").read_text() == "first edition"
