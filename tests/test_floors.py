"""The floors of the house: a room imports only from rooms on floors below its own (or from itself)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import simlib

HOUSE = Path(simlib.__file__).parent
FLOORS = {
    "knobs": 0,
    "policy": 0,
    "files": 0,
    "table": 0,
    "arrow": 0,
    "trace": 1,
    "world": 1,
    "views": 2,
    "scenarios": 3,
    "live": 3,
    "course": 4,
    "cli": 4,
}
NEIGHBOURS = {("world", "trace"), ("arrow", "table")}  # on one floor, one way only: (who imports, what)
MODULES = sorted(p for p in HOUSE.rglob("*.py") if p != HOUSE / "__init__.py")


def room(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The rooms a module imports from, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "simlib":
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("simlib."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("simlib.")}
    return found - {"__version__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_a_module_imports_only_from_floors_below(path: Path) -> None:
    here = room(path)
    assert here in FLOORS, f"{here} is a new room: give it a floor"
    for other in imported(path):
        below = FLOORS[other] < FLOORS[here] or (here, other) in NEIGHBOURS
        assert other == here or below, f"{path.name} ({here}) imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_a_file_stays_short_enough_to_hold_in_the_head(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400
