"""Hints to the exercises, a step at a time, from one file."""

from __future__ import annotations

import tomllib

from simlib.files import DATA


class Hint(str):
    """A hint; a notebook shows it without quotes."""

    def __repr__(self) -> str:
        return str(self)


def hints() -> dict[str, list[str]]:
    """Every exercise's hints, from the gentlest on."""
    return tomllib.loads((DATA / "hints.toml").read_text(encoding="utf-8"))


def hint(exercise: str, step: int = 1) -> Hint:
    """What helps with an exercise such as `"05.2"`: step 1 says where to look, each further one says more.

    ValueError names the exercises, or the steps, that there are.
    """
    steps = hints().get(exercise)
    if steps is None:
        raise ValueError(f"There is no exercise {exercise!r}; there are {', '.join(hints())}.")
    if not 1 <= step <= len(steps):
        raise ValueError(f"Exercise {exercise} has hints 1 to {len(steps)}; {step!r} is none of them.")
    more = f'; the next is sl.hint("{exercise}", {step + 1})' if step < len(steps) else ""
    return Hint(f"{steps[step - 1]}\n(hint {step} of {len(steps)}{more})")
