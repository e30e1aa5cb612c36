"""How far a learner is: kept in one file beside the lessons, and nowhere else.

`progress.json` in the folder of the notebook that asks (or the file that SIMLIB_PROGRESS names; where that is empty,
nothing is kept): exercise to `{"tries": 3, "passed": "2026-03-01"}`, without `passed` until it was.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from simlib.course.hints import hints
from simlib.course.lessons import link
from simlib.table import Table

FILE = "progress.json"
DONE, OPEN = "●", "○"


def remember(exercise: str, passed: bool) -> None:
    """Count a try, and keep the day of the first that passed. A folder that cannot be written keeps nothing."""
    path = _path()
    if path is None:
        return
    known = _kept(path)
    row = dict(known.get(exercise, {}))
    row["tries"] = row.get("tries", 0) + 1
    if passed:
        row.setdefault("passed", date.today().isoformat())
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        new.write_text(json.dumps({**known, exercise: row}, indent=1, sort_keys=True), encoding="utf-8")
        new.replace(path)


def progress() -> Table:
    """The lessons, with a full circle for each exercise that passed and the tries that it all took."""
    path = _path()
    kept = _kept(path) if path else {}
    exercises = list(hints())
    rows = []
    for lesson in sorted({name.partition(".")[0] for name in exercises}):
        mine = [kept.get(name, {}) for name in exercises if name.startswith(f"{lesson}.")]
        circles = "".join(DONE if "passed" in one else OPEN for one in mine)
        name = link(lesson).removesuffix(".ipynb").replace("_", " ")
        rows.append((name, circles, sum(one.get("tries", 0) for one in mine)))
    return Table(("lesson", "exercises", "tries"), tuple(rows))


def _path() -> Path | None:
    named = os.environ.get("SIMLIB_PROGRESS", FILE)
    return Path(named) if named else None


def _kept(path: Path) -> Mapping[str, dict[str, Any]]:
    """What the file holds; nothing where there is none, or where it is of no use."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: row for name, row in found.items() if isinstance(row, dict) and isinstance(row.get("tries"), int)}
