"""The exercises of lesson 09."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simlib import knobs
from simlib.course.check import NotYet, a_function
from simlib.policy.closed_forms import layered
from simlib.scenarios.retry_storm import RetryStorm

SEEDS = range(20, 25)
CURES = {"budget": None, "jitter": False, "breaker": False, "shed": False, "propagate": False}


def exercise_1(answer: Any) -> str:
    """Calls at the bottom of one tap, from the failure, the tries and the layers."""
    fn = a_function(answer)
    for failure, tries, layers in ((0.0, 3, 3), (1.0, 3, 3), (0.5, 3, 3), (0.05, 2, 4), (0.9, 5, 1), (1.0, 2, 4)):
        right, said = layered(failure, [tries] * layers).calls, fn(failure, tries, layers)
        if not isinstance(said, int | float) or not math.isclose(said, right, rel_tol=1e-6):
            raise NotYet(
                f"With {failure:.0%} failing, {tries} tries and {layers} layers yours says {said!r}. "
                f"Think of one layer first: when is a second call made, and when a third?"
            )
    return "from nothing failing to everything failing, your sum is the simulator's."


def exercise_2(answer: Any) -> str:
    """A storm in which one single measure lets it recover."""
    storm = _storm(answer)
    if storm.cause != "slow" or storm.layers < 2 or storm.attempts < 2:
        raise NotYet("Keep the story: cause='slow', two layers or more, two tries or more. Change one measure.")
    taken = [name for name, off in CURES.items() if getattr(storm, name) != off]
    if storm.retry_at != "every layer":
        taken.append("retry_at")
    if len(taken) != 1:
        raise NotYet(f"You took {len(taken)} measures ({', '.join(taken) or 'none'}); take one, to see what it does.")
    untreated = knobs.replace(storm, **CURES, retry_at="every layer")
    if any(math.isfinite(untreated.run(seed).counts["recovers"]) for seed in SEEDS):
        raise NotYet("Without your measure it recovers too, now and then; so it is not your measure that does it.")
    recovered = [storm.run(seed).counts["recovers"] for seed in SEEDS]
    if not all(map(math.isfinite, recovered)):
        stayed = sum(not math.isfinite(r) for r in recovered)
        raise NotYet(f"With {taken[0]} it stayed down in {stayed} of {len(recovered)} runs that you have not seen.")
    return f"{taken[0]} alone: it recovers within {max(recovered):.0f} s, in each of {len(recovered)} runs."


def exercise_3(answer: Any) -> str:
    """A budget of one's own that lets a few retries through and no flood."""
    if not isinstance(answer, type):
        raise NotYet(f"Your answer is {answer!r}; give the class itself, without brackets.")
    flood, calm = _allowed(answer, good=0.0), _allowed(answer, good=0.99)
    if flood > 200:
        raise NotYet(f"Of 1,000 requests that all failed yours allowed {flood} retries; a budget allows at most 200.")
    if flood < 1:
        raise NotYet(
            "When everything fails yours allows no retry at all, not even the first; then nothing is ever tried."
        )
    if calm < 8:
        raise NotYet(
            f"Of 1,000 requests only 10 failed, and yours allowed {calm} retries; in calm times allow them all."
        )
    return f"{flood} retries when all of 1,000 fail, and {calm} of 10 when few do."


def _allowed(budget: Callable[[], Any], good: float) -> int:
    """Retries allowed among 1,000 requests one after another, each of which wants one retry if it failed."""
    mine, allowed = budget(), 0
    for number in range(1000):
        mine.on_request()
        if number % 100 >= good * 100:
            allowed += bool(mine.try_retry())
    return allowed


def _storm(answer: Any) -> RetryStorm:
    if not isinstance(answer, RetryStorm):
        raise NotYet(f"Your answer is {answer!r}; give a storm, such as sl.RetryStorm(layers=2, cause='slow').")
    return answer
