"""Checking an exercise: the learner's answer is run against what they have not seen, and told what went wrong."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlib.course.progress import remember

LESSONS = sorted(path.stem.removeprefix("lesson_") for path in Path(__file__).parent.glob("lesson_[0-9][0-9].py"))


class NotYet(Exception):
    """An answer that does not hold; the message is the story of how it fails, never the answer."""


def a_function(answer: Any) -> Callable[..., Any]:
    """The answer, if it is a function."""
    if not callable(answer):
        raise NotYet(f"Your answer is {answer!r}; give the function itself, without brackets.")
    return answer


@dataclass(frozen=True)
class Result:
    """How an answer did: the exercise, whether it holds, and what there is to say."""

    exercise: str
    passed: bool
    says: str

    def __repr__(self) -> str:
        if self.passed:
            return f"✓ {self.exercise}: {self.says}"
        return f'○ {self.exercise}: {self.says}\n  For a hint: sl.hint("{self.exercise}")'


def check(exercise: str, answer: Any) -> Result:
    """Run an answer to an exercise such as `"05.2"` and say how it did. An answer left as `...` is waited for.

    Tries, and what passed, are kept for `simlib.course.progress`.

    ValueError names the exercises there are.
    """
    exercises = _exercises()
    if exercise not in exercises:
        raise ValueError(f"There is no exercise {exercise!r}; there are {', '.join(exercises)}.")
    if answer is ...:
        return Result(exercise, False, "waiting for your answer; put it in place of the three dots.")
    result = _tried(exercise, exercises[exercise], answer)
    remember(exercise, result.passed)
    return result


def _tried(exercise: str, verdict: Callable[[Any], str], answer: Any) -> Result:
    try:
        return Result(exercise, True, verdict(answer))
    except NotYet as story:
        return Result(exercise, False, f"not yet. {story}")
    except Exception as error:
        return Result(exercise, False, f"not yet. Your answer raised {type(error).__name__}: {error}")


def _exercises() -> dict[str, Callable[[Any], str]]:
    """Every exercise by its name: function `exercise_2` of `simlib.course.lesson_05` is `05.2`."""
    found: dict[str, Callable[[Any], str]] = {}
    for lesson in LESSONS:
        module = importlib.import_module(f"simlib.course.lesson_{lesson}")
        for name in dir(module):
            if name.startswith("exercise_"):
                found[f"{lesson}.{name.removeprefix('exercise_')}"] = getattr(module, name)
    return found
