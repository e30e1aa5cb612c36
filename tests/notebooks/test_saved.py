"""`make notebooks`: what it saves is the same on every machine, and what must not be saved is refused."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks.refresh import refresh
from tests.notebooks.saved import faults, normalise


def write(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("# Title"), *(new_code_cell(source) for source in sources)]
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_two_refreshes_save_the_same_bytes(tmp_path: Path) -> None:
    """Cell ids, counts and outputs depend on nothing but the sources."""
    widget = "import ipywidgets\nipywidgets.IntSlider()"
    first = write(tmp_path / "00_first.ipynb", "print(1)", "print(1)", widget, "2 + 3")
    second = write(tmp_path / "00_second.ipynb", "print(1)", "print(1)", widget, "2 + 3")
    assert refresh(first) == refresh(second) == []
    assert first.read_bytes() == second.read_bytes()
    before = first.read_bytes()
    refresh(first)
    assert first.read_bytes() == before
    saved = nbformat.read(first, as_version=4)
    assert [c.execution_count for c in saved.cells[1:]] == [1, 2, 3, 4]
    assert saved.cells[3].outputs[0].data.keys() == {"text/plain"}
    assert "widgets" not in saved.metadata


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("1 / 0", "cell 1 fails: ZeroDivisionError: division by zero"),
        ("import sys; print('careful', file=sys.stderr)", "cell 1 warns: careful"),
        ("print('at 0x7f00deadbeef')", "cell 1 shows the address 0x7f00deadbeef"),
        ("import pathlib; pathlib.Path.home() / 'x'", "of this machine"),
        (
            "from IPython.display import Image; import base64\nImage(base64.b64decode('iVBORw0KGgo='), format='png')",
            "cell 1 shows a picture (image/png) without alt text",
        ),
    ],
)
def test_a_lesson_with_a_fault_is_not_saved(source: str, fault: str, tmp_path: Path) -> None:
    path = write(tmp_path / "00_bad.ipynb", source)
    before = path.read_bytes()
    assert fault in "; ".join(refresh(path))
    assert path.read_bytes() == before


def test_an_error_that_is_meant_is_kept_without_its_traceback() -> None:
    error = new_output("error", ename="ValueError", evalue="no", traceback=["/some/where/file.py", "..."])
    cell = new_code_cell("fail()", outputs=[error], execution_count=1, metadata={"tags": ["raises-exception"]})
    notebook = normalise(new_notebook(cells=[cell]))
    assert faults(notebook) == []
    assert notebook.cells[0].outputs[0].traceback == ["ValueError: no"]
