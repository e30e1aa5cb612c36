"""A scenario as a file: TOML, one line a knob, read back exactly as it was.

    scenario = "retry-storm"

    [knobs]
    layers = 4
    budget = "share"

Knobs that are not named stand at their default. A knob that is off is written in its own word for that.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from simlib import files, knobs
from simlib.knobs import Knob, KnobError, check_value, parse
from simlib.scenarios import SCENARIOS

FOLDER = files.DATA / "scenarios"


class BadScenarioFile(KnobError):
    """A file that is no scenario; the message names the file, the line and the mend."""


def to_toml(scenario: Any) -> str:
    """The scenario as TOML: its name, and every knob."""
    name = name_of(scenario)
    values = knobs.values(scenario)
    lines = [f"{k.name} = {_word(k, values[k.name])}" for k in knobs.knobs(scenario)]
    return "\n".join([f'scenario = "{name}"', "", "[knobs]", *lines, ""])


def name_of(scenario: Any) -> str:
    """The name that a scenario has on the command line and in files; `BadScenarioFile` for one that has none."""
    found = next((name for name, cls in SCENARIOS.items() if cls is type(scenario)), None)
    if found is None:
        kind = type(scenario).__name__
        raise BadScenarioFile(f"A {kind} has no name to be saved under; name it in SCENARIOS of simlib.scenarios.")
    return found


def save_scenario(scenario: Any, path: str | Path) -> None:
    """Write a scenario as TOML."""
    Path(path).write_text(to_toml(scenario), encoding="utf-8")


def load_scenario(path: str | Path) -> Any:
    """The scenario of a TOML file, or of the course's own by name; `BadScenarioFile` says what is wrong, and where."""
    path = Path(path)
    if not path.exists() and path.suffix == "" and (FOLDER / f"{path}.toml").exists():
        path = FOLDER / f"{path}.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadScenarioFile(f"There is no file {path}; the course's are {', '.join(course_scenarios())}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadScenarioFile(f"{path} cannot be read: {error}; a scenario file is TOML in UTF-8.") from None
    return from_toml(text, str(path))


def course_scenarios() -> tuple[str, ...]:
    """The names of the scenario files that come with the course."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def from_toml(text: str, name: str = "the text") -> Any:
    """The scenario that a TOML text describes; `name` is what messages call it."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadScenarioFile(f"{name} is not TOML: {error}.") from None
    if unknown := [key for key in told if key not in ("scenario", "knobs")]:
        raise BadScenarioFile(f"{_at(name, text, unknown[0])}: {unknown[0]!r} is unknown; it takes scenario and knobs.")
    cls = SCENARIOS.get(told["scenario"]) if isinstance(told.get("scenario"), str) else None
    if cls is None:
        asked = told.get("scenario")
        near = difflib.get_close_matches(str(asked), SCENARIOS, 1)
        hint = f"did you mean {near[0]}?" if near else f"they are {', '.join(SCENARIOS)}."
        raise BadScenarioFile(f"{_at(name, text, 'scenario')}: there is no scenario {asked!r}; {hint}")
    given = told.get("knobs", {})
    if not isinstance(given, dict):
        raise BadScenarioFile(f"{_at(name, text, 'knobs')}: knobs is {given!r}; write [knobs] and a line for each.")
    known = {k.name: k for k in knobs.knobs(cls)}
    chosen: dict[str, Any] = {}
    for key, value in given.items():
        try:
            chosen[key] = _value(known[key], value) if key in known else value
            knobs.replace(cls(), **{key: chosen[key]})
        except KnobError as error:
            raise BadScenarioFile(f"{_at(name, text, key)}: {error}") from None
    return cls(**chosen)


def _value(k: Knob, value: Any) -> Any:
    """A value of TOML as the knob's: a whole number may stand for a float, and a word for off."""
    if isinstance(value, str):
        return parse(k, value)
    if k.kind is float and type(value) is int:
        value = float(value)
    check_value(k, value)
    return value


def _word(k: Knob, value: Any) -> str:
    if value is None:
        return json.dumps(k.none)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _at(name: str, text: str, key: str) -> str:
    """`name, line 4`, where the key stands."""
    written = re.compile(rf"""^\s*\[?\s*["']?{re.escape(key)}["']?\s*[\]=]""")
    line = next((n for n, row in enumerate(text.splitlines(), 1) if written.match(row)), None)
    return name if line is None else f"{name}, line {line}"
