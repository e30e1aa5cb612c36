"""Every exercise has a solution that was run and passed; nbval runs them again."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from simlib.files import NOTEBOOKS
from tests.notebooks.refresh import ANY
from tests.notebooks.saved import faults

ASKED = re.compile(r'sl\.check\("(\d\d\.\d)"')


@pytest.mark.parametrize("lesson", sorted(NOTEBOOKS.glob(ANY)), ids=lambda p: p.stem)
def test_every_exercise_is_solved(lesson: Path) -> None:
    solved = nbformat.read(NOTEBOOKS / "solutions" / lesson.name, as_version=4)
    sources = [cell.source for cell in solved.cells if cell.cell_type == "code"]
    asked = set(ASKED.findall("\n".join(c.source for c in nbformat.read(lesson, as_version=4).cells)))
    assert {name for source in sources for name in ASKED.findall(source)} == asked | {f"{lesson.name[:2]}.1"}
    assert faults(solved) == []
    for cell in solved.cells:
        if ASKED.search(cell.source):
            assert f"✓ {ASKED.findall(cell.source)[0]}" in str(cell.outputs)
