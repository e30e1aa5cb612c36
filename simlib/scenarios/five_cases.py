"""Lesson 04: a server that takes a second, tapped twice. What does the second request meet?"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from simpy import Event

from simlib.knobs import check, knob
from simlib.policy.verdict import Verdict
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN, Recorder
from simlib.views.diagram import diagrams
from simlib.views.looks import plural
from simlib.views.scene import Scene
from simlib.world.clock import Clock
from simlib.world.keys import Keys, Row

Steps = Generator[Event, Any, None]

HOP = 0.05  # seconds a message takes
WORK = 1.0  # seconds the server works on a payment
RETRY_AFTER = 1.0  # seconds that a 409 asks to wait
CENTS, OTHER_CENTS = 5000, 7000
LANES = ("phone", "server", "database")
SECONDS = {
    "a retry, later": 2.0,
    "a retry, at once": 0.3,
    "another amount": 2.0,
    "another account": 2.0,
    "no key": 2.0,
}
"""What the second request is, to when it is sent."""

WORDS = {
    "send": "{status}",
    "claim": "key is new",
    "save": "answer saved",
    "replay": "key known: saved answer",
    "refuse": "{status}",
    "wait": "key is being worked on: waits",
    "backoff": "told to wait {seconds}",
    "reply": "{status}",
}


@dataclass(frozen=True)
class FiveCases:
    """Two requests to a server that keeps keys, and takes a second for a payment.

    `style` is what a duplicate meets while the first is running: it waits, or is told 409 and to come back. The other
    knobs take a rule away: the key made for each try, the account left out of the key, the request not compared.
    """

    title: ClassVar[str] = "The five cases of a key"
    contrast: ClassVar[Contrast] = Contrast("style", ("wait", "409"), ("A duplicate waits", "A duplicate gets 409"))

    second: str = field(
        default="a retry, at once",
        metadata=knob("second request", "what comes after the first", choices=tuple(SECONDS)),
    )
    style: str = field(
        default="wait", metadata=knob("while running", "what a duplicate meets", choices=("wait", "409"))
    )
    per_attempt: bool = field(default=False, metadata=knob("key per try", "the client makes a new key for every try"))
    scoped: bool = field(default=True, metadata=knob("scoped", "a key belongs to its account"))
    compared: bool = field(default=True, metadata=knob("compared", "a known key's request is compared with the first"))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs: nothing in it is left to luck."""
        story = _Story(self)
        story.clock.process(story.phone(1))
        story.clock.process(story.phone(2))
        story.clock.run()
        trace = story.recorder.freeze()
        counts = {"charges": trace.count("effect"), "first": story.told[1], "second": story.told[2]}
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        return f"{plural(counts['charges'], 'charge')}, first {counts['first']}, second {counts['second']}"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        right = 2 if self.second == "another account" else 1
        return Headline(
            f"{counts['second']:.0f}, {plural(counts['charges'], 'charge')}", good=counts["charges"] == right
        )

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        return self.diagrams(runs)

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, words=WORDS)


class _Story:
    """The phone, the server and its rows, as SimPy processes."""

    def __init__(self, knobs: FiveCases) -> None:
        self.knobs = knobs
        self.clock = Clock()
        self.recorder = Recorder()
        self.told: dict[int, int] = {}
        self._keys = Keys(scoped=knobs.scoped, compared=knobs.compared)
        self._ended: dict[Row, Event] = {}  # happens when the request that claimed the row is finished

    def phone(self, number: int) -> Steps:
        """Send one of the two requests, and again when told to come back."""
        second = self.knobs.second if number == 2 else "first"
        yield self.clock.timeout(SECONDS.get(second, 0.0))
        account = 2 if second == "another account" else 1
        cents = OTHER_CENTS if second == "another amount" else CENTS
        key = None if second == "no key" else f"k{number}" if self.knobs.per_attempt else "k"
        attempt = number
        while True:
            shown = f"pay €{cents // 100}, {'no key' if key is None else f'key {key}'}"
            self._add("phone", "send", attempt, peer="server", status=f"{shown}{', account 2' if account == 2 else ''}")
            yield self.clock.timeout(HOP)
            self._add("server", "arrive", attempt, peer="phone")
            answer = self.clock.event()
            self.clock.process(self._serve(account, key, cents, attempt, answer))
            self.told[number] = yield answer
            self._add("server", "reply", attempt, peer="phone", status=str(answer.value))
            yield self.clock.timeout(HOP)
            self._add("phone", "receive", attempt, peer="server", status=str(answer.value))
            if answer.value != 409:
                return
            self._add("phone", "backoff", attempt, value=RETRY_AFTER)
            yield self.clock.timeout(RETRY_AFTER)
            attempt += 1

    def _serve(self, account: int, key: str | None, cents: int, attempt: int, answer: Event) -> Steps:
        """The five cases, in their order."""
        if key is None:
            self._add("server", "refuse", attempt, status="no key: 400")
            answer.succeed(400)
            return
        verdict, row = self._keys.claim(self.clock.now, account, key, f"{cents}")
        match verdict:
            case Verdict.MISMATCH:
                self._add("database", "refuse", attempt, status="another request: 422")
                answer.succeed(422)
            case Verdict.REPLAY:
                self._add("database", "replay", attempt)
                answer.succeed(201)
            case Verdict.RUNNING if self.knobs.style == "409":
                self._add("database", "refuse", attempt, status="still running: 409")
                answer.succeed(409)
            case Verdict.RUNNING:
                self._add("database", "wait", attempt)
                yield self._ended[row]
                self._add("database", "replay", attempt)
                answer.succeed(201)
            case _:
                self._ended[row] = self.clock.event()
                self._add("database", "claim", attempt)
                yield self.clock.timeout(WORK)
                self._add("database", "effect", attempt, value=cents)
                self._add("database", "save", attempt)
                row.answer = 201
                self._ended[row].succeed()
                answer.succeed(201)

    def _add(
        self, actor: str, event: str, attempt: int, *, peer: str = "", status: str = "", value: float = NAN
    ) -> None:
        self.recorder.add(
            self.clock.now, actor, event, request=0, attempt=attempt, peer=peer, status=status, value=value
        )
