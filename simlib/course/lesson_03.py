"""The exercises of lesson 03."""

from __future__ import annotations

from typing import Any

from simlib.course.check import NotYet, a_function
from simlib.scenarios.delivery import Delivery
from simlib.scenarios.two_generals import TwoGenerals

STREAMS = (
    ("a", "b", "a", "c", "b", "b"),
    ("a",),
    (),
    ("x", "x", "x"),
    tuple(str(i % 7) for i in range(50)),
)


def exercise_1(answer: Any) -> str:
    """A delivery that neither loses nor doubles, over a network that loses much."""
    if not isinstance(answer, Delivery):
        raise NotYet(f"Your answer is {answer!r}; give a delivery, such as sl.Delivery(promise='at most once').")
    if answer.loss < 0.3 or answer.messages < 100:
        raise NotYet("Make it hard: loss=0.3 or more, 100 messages or more.")
    for seed in range(40, 43):
        counts = answer.run(seed).counts
        if counts["never"] or counts["twice"]:
            raise NotYet(f"With luck that you have not seen: {answer.describe(counts)}.")
    return "nothing lost and nothing doubled; and it took retries *and* a receiver who knows a repeat."


def exercise_2(answer: Any) -> str:
    """The receiver: which of these deliveries are to be handled."""
    fn = a_function(answer)
    for stream in STREAMS:
        seen: set[str] = set()
        handled = [message for message in stream if fn(message, seen)]
        if handled != list(dict.fromkeys(stream)):
            raise NotYet(f"Delivered {', '.join(stream) or 'nothing'}; handled {', '.join(handled) or 'nothing'}.")
    return "each message once, in the order in which it first came."


def exercise_3(answer: Any) -> str:
    """Who of the two generals cannot be sure, for any number of messages."""
    fn = a_function(answer)
    for depth in range(1, 9):
        right = "A" if TwoGenerals(depth=depth).run().counts["writer"] else "B"
        if fn(depth) != right:
            raise NotYet(f"With {depth} messages it is the other one. Who wrote the last of them?")
    return "whoever writes the last message cannot know whether it arrived, however many there are."
