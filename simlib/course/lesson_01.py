"""The exercises of lesson 01."""

from __future__ import annotations

from typing import Any

from simlib.course.check import NotYet, a_function
from simlib.policy.classify import Outcome, classify_http
from simlib.scenarios.three_outcomes import ThreeOutcomes

WORDS = {
    Outcome.SUCCESS: "yes",
    Outcome.PERMANENT: "no",
    Outcome.TRANSIENT: "no",
    Outcome.UNKNOWN: "no answer",
}
STATUSES = (200, 201, 402, 404, 422, 429, 500, 502, 503, 504)
PAYMENTS = (
    {"reference": "a1", "cents": 5000, "day": "Monday"},
    {"reference": "b2", "cents": 5000, "day": "Tuesday"},
    {"reference": "c3", "cents": 700, "day": "Tuesday"},
)


def exercise_1(answer: Any) -> str:
    """A story in which to check first charges twice."""
    if not isinstance(answer, ThreeOutcomes):
        raise NotYet(f"Your answer is {answer!r}; give a story, such as sl.ThreeOutcomes(fate='reply lost').")
    if answer.then != "check first":
        raise NotYet("Let the phone check first: then='check first'.")
    if answer.run().counts["charges"] != 2:
        raise NotYet(f"With '{answer.fate}' the question gets the right answer. When is it asked too early?")
    return "it was still being done when the phone asked: no payment yet, said the server, and then there were two."


def exercise_2(answer: Any) -> str:
    """Which of the three outcomes a status is, and which the lack of one."""
    fn = a_function(answer)
    for status in STATUSES:
        right, said = WORDS[classify_http(status)], fn(status)
        if said != right:
            raise NotYet(f"{status} is not {said!r}: {_why(status, right)}.")
    if fn(None) != "no answer":
        raise NotYet("None stands for a time-out or a broken connection: nothing was said, so nothing is known.")
    return f"{len(STATUSES)} statuses and silence: what the server said, and what it left open."


def exercise_3(answer: Any) -> str:
    """Finding one's own payment among others."""
    fn = a_function(answer)
    found = fn(list(PAYMENTS), {"reference": "b2", "cents": 5000, "day": "Tuesday"})
    if found != PAYMENTS[1]:
        raise NotYet(
            f"There are two payments of 5000 cents; this purchase has the reference 'b2', and yours found {found!r}."
        )
    missing = fn(list(PAYMENTS), {"reference": "d4", "cents": 700, "day": "Tuesday"})
    if missing is not None:
        raise NotYet(
            f"Somebody else paid 700 cents on Tuesday; this purchase, 'd4', was not paid, and yours found {missing!r}."
        )
    return "a purchase has a name of its own; what it cost and when is not one."


def _why(status: int, right: str) -> str:
    if right == "no answer":
        return "something broke on the way, and the work may have been done before"
    return "the server says that it was done" if right == "yes" else "the server says that it was not done"
