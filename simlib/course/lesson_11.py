"""The exercises of lesson 11."""

from __future__ import annotations

from typing import Any

import psycopg

from simlib.course.check import NotYet, a_function
from simlib.live.exploring import explore, replay
from simlib.live.museum import BROKEN, TWICE, one_charge
from simlib.live.recovery_points import pay_external
from simlib.live.search.play import Diverged
from simlib.live.search.tree import Budget

SHORT = Budget(schedules=150, seconds=20)


def exercise_1(answer: Any) -> str:
    """The code of a schedule in which the check before the insert charges twice."""
    if not isinstance(answer, str):
        raise NotYet(f"Your answer is {answer!r}; give a schedule as text, such as 'A2B2'.")
    try:
        story = replay(BROKEN["check_then_insert"].fn, answer, args=TWICE)
    except ValueError as error:
        raise NotYet(str(error)) from error
    except Diverged as error:
        raise NotYet(f"That schedule cannot be played to its end: {error}") from error
    if not story.broke:
        raise NotYet(f"In {story.code} all goes well: one of the two had written the key before the other looked.")
    return f"in {story.code} both look before either has written, and both charge."


def exercise_2(answer: Any) -> str:
    """A payment that survives two sessions at once and a death at any point."""
    fn = a_function(answer)
    for crashes in (0, 1):
        report = explore(fn, args=TWICE, crashes=crashes, budget=Budget(schedules=600, seconds=30))
        if report.story is not None:
            when = "with a death somewhere" if crashes else "with nobody dying"
            raise NotYet(
                f"Two at once, {when}: {report.violating} of {report.schedules} schedules break a promise. "
                f"The shortest:\n{report.story.text}"
            )
    return "two at once, and one of them may die at any point: one charge, and every retry gets its answer."


def exercise_3(answer: Any) -> str:
    """SQL that tells a late worker's second write from a payment that went well."""
    if not isinstance(answer, str):
        raise NotYet(f"Your answer is {answer!r}; give SQL as text, in quotes.")
    try:
        right = explore(pay_external, args=TWICE, invariant=answer, expiries=1, budget=SHORT)
        wrong = BROKEN["lease_without_a_token"]
        late = explore(wrong.fn, args=TWICE, invariant=answer, expiries=1, budget=SHORT)
        seen = explore(wrong.fn, args=TWICE, invariant=one_charge, expiries=1, budget=SHORT)
    except psycopg.Error as error:
        raise NotYet(f"PostgreSQL says: {str(error).splitlines()[0]}") from error
    except ValueError as error:
        raise NotYet(str(error)) from error
    if right.violating:
        raise NotYet(f"It says false in {right.violating} schedules of `pay_external`, which does nothing wrong.")
    if not late.violating:
        raise NotYet("It says true in every schedule of `lease_without_a_token`, which sends receipts twice.")
    if late.violating < seen.violating:
        raise NotYet(f"It misses some: {late.violating} schedules found, and {seen.violating} go wrong.")
    return f"it is true of the right one and false in all {late.violating} schedules that went wrong."
