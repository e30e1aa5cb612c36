"""Lesson 03: two generals must attack together, and can only send messengers who may be caught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from simlib.knobs import check, knob
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Recorder
from simlib.views.diagram import diagrams
from simlib.views.scene import Scene

MOST = 8
GENERALS = ("general A", "general B")
LANES = ("general A", "valley", "general B")
WORDS = {"send": "{status}", "receive": "reads it", "lose": "caught", "save": "{status}"}


@dataclass(frozen=True)
class TwoGenerals:
    """Messages go to and fro: *attack at dawn*, *I know*, *I know that you know*, as deep as one likes.

    Whoever sends the last one cannot know whether it arrived: what they see is the same in both cases. So either the
    last message was not needed, or nobody can be sure; and that holds for every depth.
    """

    title: ClassVar[str] = "Two generals"
    contrast: ClassVar[Contrast] = Contrast(
        "last_lost", (False, True), ("The last one arrives", "The last one is caught")
    )

    depth: int = field(default=3, metadata=knob("messages", "how many go to and fro", 1, MOST, 1))
    last_lost: bool = field(default=False, metadata=knob("last is caught", "the last messenger does not arrive"))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """Plain logic: the seed changes nothing."""
        recorder = Recorder()
        for number in range(1, self.depth + 1):
            sender, reader = GENERALS[(number - 1) % 2], GENERALS[number % 2]
            last = number == self.depth
            recorder.add(number, sender, "send", request=0, attempt=number, peer=reader, status=_words(number))
            if last and self.last_lost:
                recorder.add(number + 0.3, "valley", "lose", request=0, attempt=number, peer=reader, status="request")
            else:
                recorder.add(number + 0.5, reader, "receive", request=0, attempt=number, peer=sender)
        arrived = self.depth - self.last_lost
        writer = GENERALS[(self.depth - 1) % 2]
        trace = recorder.freeze()
        seen = trace.sql(f"select count(*) from events where actor = '{writer}'").rows[0][0]
        counts = {"messages": self.depth, "arrived": arrived, "seen": seen, "writer": self.depth % 2}
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        writer = GENERALS[0] if counts["writer"] else GENERALS[1]
        return f"{counts['arrived']} of {counts['messages']} messages arrive; {writer}, who wrote the last, cannot know"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        return Headline(f"{counts['arrived']:.0f} arrive", good=counts["arrived"] == counts["messages"])

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        return self.diagrams(runs)

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, words=WORDS, timed=False)


def _words(number: int) -> str:
    if number == 1:
        return "attack at dawn"
    return "I know" + " that you know" * (number - 2) if number < 5 else f"I know, {number - 1} deep"
