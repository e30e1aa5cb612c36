"""Lesson 01: the answer does not come. What has happened? From where the caller sits it always looks the same."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from simpy import Event

from simlib.knobs import check, knob
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN, Recorder
from simlib.views.diagram import diagrams
from simlib.views.looks import plural
from simlib.views.scene import Scene
from simlib.world.clock import Clock

Steps = Generator[Event, Any, None]

HOP = 0.1  # seconds a message takes
WORK = 0.5  # seconds the server takes as a rule
SLOW = 14.0  # seconds it takes when it is slow
PATIENCE = 10.0  # seconds the phone waits
CENTS = 5000
LANES = ("phone", "network", "server", "database")
FATES = {
    "all goes well": "the answer comes",
    "a no": "the server refuses, and says so",
    "request lost": "it never arrived: nothing was done",
    "reply lost": "it was done, and the answer got lost",
    "server dies": "it was done in part, by a server that died before it could answer",
    "just slow": "it is still being done",
}
THEN = {
    "give up": "leaves it at that",
    "try again": "sends it once more",
    "check first": "asks whether it was done, and sends it once more if not",
}
WORDS = {
    "timeout": "no answer in time",
    "save": "{status}",
    "probe": "asks: was it done?",
    "effect": "charge {n}",
    "refuse": "card declined",
    "give_up": "does not know",
    "skip": "it was done: leaves it",
}


@dataclass(frozen=True)
class ThreeOutcomes:
    """One payment, one fate on its way, and what the phone does when no answer comes.

    No keys here: this is why they are needed. What the phone *sees* is the same for four of the fates.
    """

    title: ClassVar[str] = "Yes, no, or no answer"
    contrast: ClassVar[Contrast] = Contrast(
        "fate", ("request lost", "reply lost"), ("The request is lost", "The reply is lost")
    )

    fate: str = field(default="reply lost", metadata=knob("fate", "what befalls the payment", choices=tuple(FATES)))
    then: str = field(
        default="try again", metadata=knob("then", "what the phone does without an answer", choices=tuple(THEN))
    )

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs: nothing in it is left to luck."""
        story = _Story(self)
        story.clock.process(story.phone())
        story.clock.run()
        trace = story.recorder.freeze()
        counts = {"charges": trace.count("effect"), "sees": story.sees, "attempts": trace.count("send")}
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, Any]) -> str:
        return f"the phone sees: {counts['sees']}; {plural(counts['charges'], 'charge')} in the end"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        right = 0 if self.fate == "a no" else 1
        return Headline(plural(counts["charges"], "charge"), good=counts["charges"] == right)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        return self.diagrams(runs)

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, words=WORDS)


class _Story:
    """The phone and the server, as SimPy processes."""

    def __init__(self, knobs: ThreeOutcomes) -> None:
        self.knobs = knobs
        self.clock = Clock()
        self.recorder = Recorder()
        self.sees = ""
        self._charged = False

    def phone(self) -> Steps:
        """Pay, wait, and then do as the knobs say."""
        answer = self._send(1)
        told = yield answer | self.clock.timeout(PATIENCE)
        if answer in told:
            self.sees = f"answer {answer.value}"
            return
        self.sees = "no answer within 10 s"
        self._add("phone", "timeout", 1, peer="server")
        if self.knobs.then == "give up":
            self._add("phone", "give_up", 1)
            return
        if self.knobs.then == "check first":
            self._add("phone", "probe", 1)
            yield self.clock.timeout(2 * HOP)
            if self._charged:
                self._add("phone", "skip", 1)
                return
        yield self._send(2)

    def _send(self, attempt: int) -> Event:
        answer = self.clock.event()
        self._add("phone", "send", attempt, peer="server", value=CENTS)
        self.clock.process(self._travel(attempt, self.knobs.fate if attempt == 1 else "all goes well", answer))
        return answer

    def _travel(self, attempt: int, fate: str, answer: Event) -> Steps:
        """The request's way to the server, the work, and the answer's way back."""
        yield self.clock.timeout(HOP)
        if fate == "request lost":
            self._add("network", "lose", attempt, peer="server", status="request")
            return
        self._add("server", "arrive", attempt, peer="phone")
        if fate == "a no":
            self._add("database", "refuse", attempt)
            yield from self._answer(attempt, "402", answer)
            return
        yield self.clock.timeout(SLOW if fate == "just slow" else WORK)
        self._add("database", "effect", attempt, value=CENTS)
        self._charged = True
        if fate == "server dies":
            self._add("server", "crash", attempt)
            return
        if fate == "reply lost":
            self._add("server", "reply", attempt, peer="phone", status="201")
            yield self.clock.timeout(HOP)
            self._add("network", "lose", attempt, peer="phone", status="reply")
            return
        yield from self._answer(attempt, "201", answer)

    def _answer(self, attempt: int, status: str, answer: Event) -> Steps:
        self._add("server", "reply", attempt, peer="phone", status=status)
        yield self.clock.timeout(HOP)
        self._add("phone", "receive", attempt, peer="server", status=status)
        answer.succeed(status)

    def _add(
        self, actor: str, event: str, attempt: int, *, peer: str = "", status: str = "", value: float = NAN
    ) -> None:
        self.recorder.add(
            self.clock.now, actor, event, request=0, attempt=attempt, peer=peer, status=status, value=value
        )
