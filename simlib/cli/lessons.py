"""Which lesson is meant, and where the learner works on it.

In a clone the lessons are worked on where they are. From an installed package they are copied, once, to a
folder of the learner's: whatever is there already is theirs and is never written over. When a newer package
ships another version of a lesson, the new one is put beside the learner's.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import shutil
from pathlib import Path

from simlib import __version__, files
from simlib.cli.refusal import Refusal

FOLDER = "simlib-course"
_RECORD = ".simlib-lessons.json"  # lesson -> digest of what was shipped when it was copied


def lessons(folder: Path) -> list[Path]:
    """The lessons in a folder, in the order of the course."""
    return sorted(folder.glob("[0-9][0-9]_*.ipynb"))


def find(word: str, folder: Path) -> Path:
    """The lesson a number (`5`, `05`) or a name (`05_claim`, `claim`) means; `Refusal` names the nearest."""
    names = {path.stem: path for path in lessons(folder)}
    asked = word.removesuffix(".ipynb").rpartition("/")[2].lower()
    if asked.isdigit():
        asked = asked.zfill(2)
    fits = [
        p for stem, p in names.items() if asked and (stem == asked or stem.startswith(f"{asked}_") or asked in stem[3:])
    ]
    if not fits:
        near = difflib.get_close_matches(asked, [stem[3:] for stem in names], 1, 0.5)
        hint = f"did you mean {near[0]}" if near else f"there are {', '.join(names) or 'none yet'}"
        raise Refusal(f"there is no lesson {word!r}; {hint}.")
    return fits[0]


def working_folder(here: Path) -> tuple[Path, list[str]]:
    """Where the learner works, with the lessons in it, and what there is to say about it."""
    if files.in_clone():
        return files.NOTEBOOKS, []
    folder = here if (here / _RECORD).exists() else here / FOLDER
    return folder, hand_out(files.NOTEBOOKS, folder)


def hand_out(shipped: Path, folder: Path) -> list[str]:
    """Copy lessons that are not there yet, put changed ones beside the learner's; says what it did."""
    folder.mkdir(parents=True, exist_ok=True)
    record_file = folder / _RECORD
    record: dict[str, str] = json.loads(record_file.read_text(encoding="utf-8")) if record_file.exists() else {}
    said: list[str] = []
    copied = 0
    for lesson in lessons(shipped):
        digest, mine = _digest(lesson), folder / lesson.name
        if not mine.exists():
            shutil.copyfile(lesson, mine)
            copied += 1
        elif record.get(lesson.name) != digest and _digest(mine) != digest:
            beside = _free_name(mine)
            shutil.copyfile(lesson, beside)
            said.append(f"{lesson.name} is yours and stays; the new version lies beside it as {beside.name}.")
        record[lesson.name] = digest
    if copied:
        said.insert(0, f"Copied {copied} lessons to {folder}; what you change there is yours.")
    record_file.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return said


def _free_name(mine: Path) -> Path:
    """A name beside the learner's lesson that nothing has yet."""
    beside, more = mine.with_name(f"{mine.stem} (new in {__version__}).ipynb"), 2
    while beside.exists():
        beside, more = mine.with_name(f"{mine.stem} (new in {__version__}, {more}).ipynb"), more + 1
    return beside


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
