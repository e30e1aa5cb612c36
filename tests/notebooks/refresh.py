"""`make notebooks`: run the lessons in fresh kernels and save what they show.

`python -m tests.notebooks.refresh [05 ...]`; without numbers, all. With each lesson goes the notebook of its solutions.
One with a fault is not saved.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from simlib.files import NOTEBOOKS
from tests.notebooks.saved import faults, normalise

CELL_WITHIN = 120  # s
ANY = "[0-9][0-9]_*.ipynb"


def refresh(path: Path) -> list[str]:
    """Run one lesson and save it; returns its faults, and saves nothing if there are any."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    try:
        _run(notebook, path)
    except RuntimeError:  # it did not start: somebody took one of the ports it had chosen; the next has others
        _run(notebook, path)
    found = faults(normalise(notebook))
    if not found:
        nbformat.validate(notebook)
        nbformat.write(notebook, path)
    return found


def _run(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Run all cells in a fresh kernel, in the lesson's folder."""
    NotebookClient(
        notebook,
        timeout=CELL_WITHIN,
        kernel_name="python3",
        allow_errors=True,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()


def main(numbers: list[str]) -> int:
    bad = 0
    os.environ["SIMLIB_PROGRESS"] = ""
    for path in (*sorted(NOTEBOOKS.glob(ANY)), *sorted(NOTEBOOKS.glob(f"solutions/{ANY}"))):
        if numbers and path.name[:2] not in numbers:
            continue
        began = time.perf_counter()
        found = refresh(path)
        bad += bool(found)
        took, done = time.perf_counter() - began, "NOT saved" if found else "saved"
        print(f"{path.relative_to(NOTEBOOKS)}: {done} after {took:.1f} s", flush=True)
        for fault in found:
            print(f"  {fault}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
