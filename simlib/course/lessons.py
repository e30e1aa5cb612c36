"""Which lessons there are, as files."""

from __future__ import annotations

from simlib.files import NOTEBOOKS


def link(lesson: str) -> str:
    """The file name of a lesson such as `"05"`, as a link from another lesson; ValueError if there is none."""
    found = sorted(NOTEBOOKS.glob(f"{lesson}_*.ipynb"))
    if not found:
        raise ValueError(f"There is no lesson {lesson!r}.")
    return found[0].name
