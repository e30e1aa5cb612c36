"""What the kernel of one learner does: run the code of a lesson from its first cell to its last.

`python -m tests.classroom.learner LESSON TIMES`; the database is the one of SIMLIB_DSN. Prints as JSON how many seconds
each time took, without the imports, and how many megabytes this process holds at the end.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time

import nbformat
import psutil

from simlib import files
from simlib.cli.lessons import find


def code_of(lesson: str) -> list[str]:
    """The code cells of a lesson."""
    notebook = nbformat.read(find(lesson, files.NOTEBOOKS), as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def once(cells: list[str]) -> float:
    """Run the cells as a fresh kernel would; returns the seconds they took."""
    space: dict[str, object] = {"__name__": "__main__"}
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells:
            exec(compile(cell, "cell", "exec"), space)
    return time.perf_counter() - began


if __name__ == "__main__":
    lesson, times = sys.argv[1], int(sys.argv[2])
    cells = code_of(lesson)
    once(cells[:1])
    print("ready", flush=True)
    sys.stdin.readline()
    took = [once(cells) for _ in range(times)]
    print(json.dumps({"took": took, "megabytes": psutil.Process().memory_info().rss / 1e6}))
