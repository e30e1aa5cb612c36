"""The exercises of lesson 12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlib.course.check import NotYet, a_function
from simlib.course.pitfalls import PITFALLS
from simlib.live.attacking import attack

IN_MY_PAY = {"check, then insert", "key not scoped to the account", "request not compared"}
NONE = "no answer"
SENT: tuple[tuple[str, list[Any], Any, int], ...] = (
    ("an answer at once", [201], 201, 1),
    ("two time-outs, then an answer", [NONE, NONE, 201], 201, 3),
    ("503, then 201", [503, 201], 201, 2),
    ("a final no", [422, 201], 422, 1),
    ("503 for ever", [503] * 9, 503, 3),
    ("never an answer", [NONE] * 9, NONE, 3),
)
"""What the server does in turn; what the caller should get, after how many tries."""


def exercise_1(answer: Any) -> str:
    """The pitfalls in the lesson's `my_pay`."""
    names = {p.name for p in PITFALLS}
    if not isinstance(answer, list | tuple | set) or not all(isinstance(name, str) for name in answer):
        raise NotYet(f"Your answer is {answer!r}; give a list of names, as sl.pitfalls() has them.")
    unknown = sorted(set(answer) - names)
    if unknown:
        raise NotYet(f"{unknown[0]!r} is not in the list of pitfalls.")
    wrong = sorted(set(answer) - IN_MY_PAY)
    if wrong:
        raise NotYet(f"{wrong[0]!r} is not what is wrong with it: run sl.pitfall of it, and compare.")
    missing = len(IN_MY_PAY) - len(set(answer))
    if missing:
        raise NotYet(f"What you name is in it. There {'is' if missing == 1 else 'are'} {missing} more.")
    return "all three. None of them shows when one customer pays once."


def exercise_2(answer: Any) -> str:
    """A payment that survives everything."""
    board = attack(a_function(answer))
    failed = [row for row in board.rows if row.result == "failed"]
    if failed:
        story = board.story
        told = f"\n{story.text}" if story is not None else ""
        raise NotYet(
            f"{len(failed)} of {len(board.rows)} attacks got through. {failed[0].attack}: {failed[0].says}{told}"
        )
    return f"it survived {len(board.rows)} attacks, every order of two sessions among them."


def exercise_3(answer: Any) -> str:
    """A client's loop."""
    fn = a_function(answer)
    used: set[str] = set()
    for name, script, due, tries in SENT:
        keys, got = _called(fn, script)
        if len(set(keys)) > 1:
            raise NotYet(
                f"{name}: {len(keys)} tries carried {len(set(keys))} keys. To the server these are as many purchases."
            )
        if not keys or not isinstance(keys[0], str) or not keys[0]:
            raise NotYet(f"{name}: it sent {keys[:1]!r} for a key; a key is text, and never empty.")
        if keys[0] in used:
            raise NotYet(f"{name}: it used the key of an earlier purchase. That one would be swallowed.")
        used.add(keys[0])
        if len(keys) != tries:
            raise NotYet(f"{name}: it tried {len(keys)} times; {tries} would be right.")
        if got != due:
            raise NotYet(f"{name}: the caller got {got!r}, and should get {due!r}.")
    return f"{len(SENT)} servers, good and bad: one key for each purchase, and no try too many."


def _called(fn: Callable[..., Any], script: list[Any]) -> tuple[list[Any], Any]:
    """The keys it sent, and what its caller got."""
    keys: list[Any] = []

    def send(key: Any) -> int:
        keys.append(key)
        step = script[len(keys) - 1] if len(keys) <= len(script) else 201
        if step == NONE:
            raise TimeoutError
        return step

    try:
        return keys, fn(send)
    except TimeoutError:
        return keys, NONE
