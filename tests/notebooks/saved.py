"""How a lesson is saved: its outputs real, and nothing in the file that another run on another machine would change."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from simlib.files import ROOT

MAY_FAIL = "raises-exception"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_KEPT = ("tags", "slideshow")  # of a cell's metadata; the rest is times, scroll positions and trust
_WIDGET = "application/vnd.jupyter.widget-view+json"
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_MACHINE = (str(ROOT), str(Path.home()), tempfile.gettempdir())


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Leave in the notebook only what a reader sees; changes it in place and returns it."""
    notebook.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        cell.source = "\n".join(line.rstrip() for line in cell.source.strip("\n").split("\n"))
        cell.id = _cell_id(cell, seen)
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k in _KEPT and v})
        for output in cell.get("outputs", ()):
            _normalise_output(output)
    return notebook


def faults(notebook: NotebookNode) -> list[str]:
    """What must not be in a saved lesson, in words with the number of the code cell; empty when all is well."""
    found: list[str] = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        may_fail = MAY_FAIL in cell.metadata.get("tags", ())
        if cell.source and cell.execution_count is None:
            found.append(f"cell {number} was not run")
        for output in cell.outputs:
            found += [f"cell {number} {fault}" for fault in _output_faults(output, may_fail)]
    return found


def texts(output: NotebookNode) -> list[str]:
    """Every text in an output."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [output.evalue]
    return [v for kind, v in output.data.items() if kind.startswith("text/") or kind == "image/svg+xml"]


def _cell_id(cell: NotebookNode, seen: Counter[str]) -> str:
    """An id made from the source, so that it changes only when the cell does; equal cells are counted."""
    seen[cell.source] += 1
    return hashlib.sha256(f"{seen[cell.source]} {cell.cell_type} {cell.source}".encode()).hexdigest()[:8]


def _normalise_output(output: NotebookNode) -> None:
    if output.output_type == "error":
        output.traceback = [f"{output.ename}: {output.evalue}"]  # the rest names files of this machine
    elif output.output_type in ("display_data", "execute_result"):
        output.data.pop(_WIDGET, None)  # its model died with the kernel; picture and text beside it stay


def _output_faults(output: NotebookNode, may_fail: bool) -> list[str]:
    found: list[str] = []
    if output.output_type == "error" and not may_fail:
        found.append(f"fails: {output.ename}: {output.evalue}")
    if output.output_type == "stream" and output.name == "stderr":
        found.append(f"warns: {output.text.strip()}")
    for text in texts(output):
        found += [f"shows the address {address}" for address in _ADDRESS.findall(text)]
        found += [f"shows the folder {folder} of this machine" for folder in _MACHINE if f"{folder}/" in text]
    data: dict[str, Any] = output.get("data", {})
    for kind in data:
        if kind.startswith("image/") and kind != "image/svg+xml" and not output.metadata.get(kind, {}).get("alt"):
            found.append(f"shows a picture ({kind}) without alt text")
    return found
