"""What every lesson keeps to: short cells, the usual parts in their order, saved as `make notebooks` saves it."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from simlib.files import NOTEBOOKS
from tests.notebooks.saved import faults, normalise

LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
PARTS = ("Predict", "Play", "Look", "Do it for real", "Exercise", "Recap")
LONGEST = 12  # lines of a code cell, but for the one that holds the code under study

pytestmark = pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)


@pytest.fixture
def lesson(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code(lesson: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in lesson.cells if cell.cell_type == "code"]


def prose(lesson: NotebookNode) -> str:
    return "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")


def test_it_is_saved_as_make_notebooks_saves_it(path: Path, lesson: NotebookNode) -> None:
    """A lesson saved by hand would carry times, widget state or another kernel's name: run `make notebooks`."""
    saved = path.read_text(encoding="utf-8")
    assert nbformat.writes(normalise(lesson)).rstrip("\n") == saved.rstrip("\n")


def test_its_outputs_are_whole(lesson: NotebookNode) -> None:
    """No error, warning, address, folder of a machine or picture without alt text."""
    assert faults(lesson) == []
    assert [cell.execution_count for cell in code(lesson)] == list(range(1, len(code(lesson)) + 1))


def test_its_cells_are_short(lesson: NotebookNode) -> None:
    for cell in code(lesson):
        if "live" not in cell.metadata.get("tags", ()):
            assert len(cell.source.splitlines()) <= LONGEST, cell.source


def test_it_has_the_parts_of_a_lesson_in_their_order(lesson: NotebookNode) -> None:
    headings = re.findall(r"^#{1,3} +(.+?) *$", prose(lesson), re.MULTILINE)
    assert lesson.cells[0].source.startswith("# ")
    found = [next((p for p in PARTS if heading.startswith(p)), None) for heading in headings]
    assert [part for part in found if part] == list(PARTS)


def test_its_pictures_have_alt_text(lesson: NotebookNode) -> None:
    for alt, target in re.findall(r"!\[(.*?)\]\((.*?)\)", prose(lesson)):
        assert alt.strip(), target
    for tag in re.findall(r"<img[^>]*>", prose(lesson)):
        assert re.search(r'alt="[^"]+"', tag), tag


def test_its_links_to_other_lessons_lead_somewhere(path: Path, lesson: NotebookNode) -> None:
    for target in re.findall(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)", prose(lesson)):
        if "://" not in target and not target.startswith("attachment:"):
            assert (path.parent / target).exists(), target


def test_it_uses_only_the_public_face(lesson: NotebookNode) -> None:
    """Lessons say `import simlib as sl` and take everything from there."""
    for cell in code(lesson):
        assert not re.search(r"^\s*from simlib|^\s*import simlib(?! as sl$)", cell.source, re.MULTILINE), cell.source
        assert "import *" not in cell.source
