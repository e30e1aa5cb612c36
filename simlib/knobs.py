"""What a knob is: one declaration from which widget, CLI flag, check and reference table are made.

A scenario is a frozen dataclass; each field that a learner may turn says so once::

    reply_loss: float = field(default=0.05, metadata=knob("reply loss", "share of replies", 0, 1, 0.01))

Everything else (`simlib.views.playground`, `simlib.cli`, `check`) reads that declaration.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_META = "simlib.knob"


class KnobError(ValueError):
    """A value no knob allows; the message names the knob, the value, the range and the mend."""


@dataclass(frozen=True)
class Knob:
    """One thing a learner may turn.

    `low`, `high` and `step` are in `unit`s and None for switches and choices.
    `optional` knobs also take None, which means what `none` says (for example "told as a story").
    """

    name: str
    label: str
    help: str
    kind: type
    default: Any
    unit: str = ""
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[Any, ...] = ()
    optional: bool = False
    none: str = "off"

    @property
    def flag(self) -> str:
        """The name on the command line and in a scenario file, without dashes in front."""
        return self.name.replace("_", "-")

    @property
    def range(self) -> str:
        """What is allowed, in words: `0 to 1`, `on or off`, `none, full or equal`."""
        if self.kind is bool:
            words = "on or off"
        elif self.choices:
            words = _either(str(c) for c in self.choices)
        else:
            words = f"{self.low:g} to {self.high:g}" + (f" {self.unit}" if self.unit else "")
        return f"{words}, or {self.none}" if self.optional else words


def knob(
    label: str,
    help: str = "",
    low: float | None = None,
    high: float | None = None,
    step: float | None = None,
    *,
    unit: str = "",
    choices: tuple[Any, ...] = (),
    optional: bool = False,
    none: str = "off",
) -> dict[str, Any]:
    """Metadata for `dataclasses.field`: what a knob is called, means and allows.

    A knob with `choices` or of type bool needs no range; every other needs `low` and `high`.
    """
    return {
        _META: {
            "label": label,
            "help": help,
            "low": low,
            "high": high,
            "step": step,
            "unit": unit,
            "choices": choices,
            "optional": optional,
            "none": none,
        }
    }


def knobs(scenario: Any) -> tuple[Knob, ...]:
    """The knobs of a scenario (class or instance), in the order they were declared."""
    found: list[Knob] = []
    for f in dataclasses.fields(scenario):
        if _META not in f.metadata:
            continue
        meta = f.metadata[_META]
        kind = _kind(f.type, f.default, meta["choices"])
        found.append(Knob(name=f.name, kind=kind, default=f.default, **meta))
    return tuple(found)


def check(scenario: Any) -> None:
    """Raise `KnobError` for the first knob whose value is not allowed; call it in `__post_init__`."""
    for k in knobs(scenario):
        check_value(k, getattr(scenario, k.name))


def check_value(k: Knob, value: Any) -> None:
    """Raise `KnobError` unless `value` is one this knob takes."""
    if value is None and k.optional:
        return
    if k.choices:
        allowed = value in k.choices
    elif k.kind is bool:
        allowed = isinstance(value, bool)
    else:
        allowed = _is_number(value, whole=k.kind is int) and k.low <= value <= k.high  # type: ignore[operator]
    if not allowed:
        raise KnobError(f"{k.name} ({k.label}) is {value!r}; it takes {k.range}.")


def parse(k: Knob, text: str) -> Any:
    """The value that `text` from a command line or a file stands for; `KnobError` if it stands for none."""
    word = text.strip().lower()
    if k.optional and word in ("none", k.none):
        return None
    value: Any = text
    if k.choices:
        value = next((c for c in k.choices if str(c).lower() == word), text)
    elif k.kind is bool:
        value = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}.get(word, text)
    else:
        try:
            value = int(word) if k.kind is int else float(word)
        except ValueError:
            value = text
    check_value(k, value)
    return value


def replace(scenario: Any, **changes: Any) -> Any:
    """The same scenario with some knobs turned; an unknown name is told with the nearest known one."""
    names = [k.name for k in knobs(scenario)]
    for name in changes:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise KnobError(f"{type(scenario).__name__} has no knob {name!r}.{hint} It has {_either(names, 'and')}.")
    return dataclasses.replace(scenario, **changes)


def values(scenario: Any) -> dict[str, Any]:
    """Knob name to its value in this scenario, in the order of declaration."""
    return {k.name: getattr(scenario, k.name) for k in knobs(scenario)}


def changed(scenario: Any) -> Mapping[str, Any]:
    """Only the knobs that do not stand at their default."""
    return {k.name: getattr(scenario, k.name) for k in knobs(scenario) if getattr(scenario, k.name) != k.default}


def _is_number(value: Any, *, whole: bool) -> bool:
    if isinstance(value, bool):
        return False
    if whole:
        return isinstance(value, int)
    return isinstance(value, int | float) and not math.isnan(value)


def _kind(annotation: Any, default: Any, choices: tuple[Any, ...]) -> type:
    words = str(annotation)
    for name, kind in (("bool", bool), ("int", int), ("float", float), ("str", str)):
        if name in words:
            return kind
    chosen: object = choices[0] if choices else default
    return type(chosen)


def _either(words: Any, joint: str = "or") -> str:
    *most, last = list(words)
    return f"{', '.join(most)} {joint} {last}" if most else last
