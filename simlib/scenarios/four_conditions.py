"""Four conditions for one effect, whatever network, server and phone do; take one away and it happens twice."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from simpy import Event

from simlib.knobs import check, knob
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN, Recorder
from simlib.views.counts import bars
from simlib.views.diagram import diagrams
from simlib.views.looks import plural
from simlib.views.scene import Scene
from simlib.world.clock import Clock
from simlib.world.keys import Keys
from simlib.world.luck import Luck

Steps = Generator[Event, Any, None]

EVERY = 1.0  # seconds from one purchase to the next
TRIES = 6
PATIENCE = 1.0  # seconds a phone waits for an answer
WAIT = 1.0  # seconds before the first retry; doubled from retry to retry
WORK = 0.2  # seconds of work before the effect
GAP = 0.05  # seconds between effect and mark where these are two steps
SLOWEST = 10.0  # seconds after which a message is as good as lost
ACCOUNT, CENTS = 1, 5000
LANES = ("phone", "server", "database")
WORDS = {"claim": "key is new", "save": "key marked", "replay": "key known: no work"}

LAST_RETRY = TRIES * PATIENCE + WAIT * (2 ** (TRIES - 1) - 1) + 2 * SLOWEST + WORK
"""Seconds after which nothing of a purchase is under way any more."""


@dataclass(frozen=True)
class FourConditions:
    """People buy; messages are slow or get lost, the server dies at work, phones restart.

    At most one charge a purchase takes four things: one key for all tries (`key per try` off), written down before the
    first of them (`key saved`), mark and effect in one transaction (`mark`), and keys that are kept for longer than
    anybody retries (`window`).
    """

    title: ClassVar[str] = "Four conditions"
    contrast: ClassVar[Contrast] = Contrast(
        "mark", ("after the effect", "with the effect"), ("Effect, then mark", "Both in one transaction")
    )

    per_attempt: bool = field(default=False, metadata=knob("key per try", "the client makes a new key for every try"))
    saved: bool = field(default=True, metadata=knob("key saved", "a phone that restarts finds its key again"))
    mark: str = field(
        default="with the effect",
        metadata=knob(
            "mark", "when the key is marked", choices=("with the effect", "before the effect", "after the effect")
        ),
    )
    window: float = field(default=86_400.0, metadata=knob("window", "how long a key is kept", 1, 172_800, 1, unit="s"))
    loss: float = field(default=0.3, metadata=knob("loss", "share of messages lost each way", 0, 1, 0.01))
    delay: float = field(default=0.3, metadata=knob("delay", "mean time a message takes", 0, 5, 0.1, unit="s"))
    crash: float = field(
        default=0.2, metadata=knob("crashes", "share of requests at which the server dies", 0, 1, 0.01)
    )
    restart: float = field(
        default=0.2, metadata=knob("restarts", "share of waits in which a phone restarts", 0, 1, 0.01)
    )
    purchases: int = field(default=50, metadata=knob("purchases", "people who buy", 1, 1000, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        story = _Story(self, Luck(seed))
        for number in range(self.purchases):
            story.clock.process(story.phone(number))
        story.clock.run()
        trace = story.recorder.freeze()
        charges = np.bincount(trace.column("request")[trace.where("effect")], minlength=self.purchases)
        told = np.bincount(trace.column("request")[trace.where("receive")], minlength=self.purchases) > 0
        counts = {
            "purchases": self.purchases,
            "charges": int(charges.sum()),
            "duplicates": int(np.maximum(charges - 1, 0).sum()),
            "told": int(told.sum()),
            "told_and_not_charged": int((told & (charges == 0)).sum()),
        }
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        said = f"{plural(counts['purchases'], 'purchase')}, {plural(counts['charges'], 'charge')}"
        said += f", {plural(counts['duplicates'], 'duplicate')}"
        return f"{said}, {counts['told_and_not_charged']} told they had paid and not charged"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        if missing := counts["told_and_not_charged"]:
            return Headline(f"{missing} not charged", good=False)
        return Headline(plural(counts["duplicates"], "duplicate"), good=counts["duplicates"] == 0)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.purchases == 1:
            return self.diagrams(runs)
        names = ("charges", "duplicates", "told_and_not_charged")
        shown = [{name.replace("_", " "): float(run.counts[name]) for name in names} for run in runs]
        top = max(max(bar.values()) for bar in shown)
        return [bars(bar, top=top) for bar in shown]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, words=WORDS, requests=[0])


class _Story:
    """Phones and the server as SimPy processes, and the table of keys."""

    def __init__(self, knobs: FourConditions, luck: Luck) -> None:
        self.knobs = knobs
        self.clock = Clock()
        self.recorder = Recorder()
        self._keys = Keys(keep=knobs.window)
        self._lost = {leg: luck.uniforms(f"{leg}: loss") for leg in ("request", "reply")}
        self._slow = {leg: luck.uniforms(f"{leg}: delay") for leg in ("request", "reply")}
        self._dies = luck.uniforms("server: dies")
        self._restarts = luck.uniforms("phone: restarts")

    def phone(self, number: int) -> Steps:
        """One purchase: tries until an answer comes, or the last has been in vain."""
        yield self.clock.timeout(EVERY * number)
        key = f"key {number}"
        lives = 1
        for attempt in range(1, TRIES + 1):
            if attempt > 1 and self._restarts.at(number, attempt) < self.knobs.restart:
                self._add("phone", "crash", number, attempt)
                lives += not self.knobs.saved
            carried = f"{key}, {attempt}" if self.knobs.per_attempt else f"{key}, {lives}"
            self._add("phone", "send", number, attempt, carried, peer="server")
            answer = self.clock.event()
            self.clock.process(self._request(number, attempt, carried, answer))
            yield answer | self.clock.timeout(PATIENCE)
            if answer.processed:
                return
            self._add("phone", "timeout", number, attempt, carried)
            yield self.clock.timeout(WAIT * 2 ** (attempt - 1))
        self._add("phone", "give_up", number, TRIES, status="tries")

    def _request(self, number: int, attempt: int, key: str, answer: Event) -> Steps:
        """A request on its way, at work, and its answer on the way back."""
        if (yield from self._travels("request", number, attempt, key, to="server")):
            self._add("server", "arrive", number, attempt, key, peer="phone")
            if (yield from self._works(number, attempt, key)):
                self._add("server", "reply", number, attempt, key, peer="phone", status="201")
                if (yield from self._travels("reply", number, attempt, key, to="phone")) and not answer.triggered:
                    self._add("phone", "receive", number, attempt, key, peer="server", status="201")
                    answer.succeed()

    def _travels(self, leg: str, number: int, attempt: int, key: str, to: str) -> Generator[Event, Any, bool]:
        """Whether a message gets there, once it has, or would have."""
        slow = self.knobs.delay * -np.log1p(-self._slow[leg].at(number, attempt))
        yield self.clock.timeout(min(float(slow), SLOWEST))
        lost = self._lost[leg].at(number, attempt) < self.knobs.loss
        if lost:
            self._add("network", "lose", number, attempt, key, peer=to, status=leg)
        return not lost

    def _works(self, number: int, attempt: int, key: str) -> Generator[Event, Any, bool]:
        """The server at work; False if it died. A number below `crash` says that it does, and where."""
        luck = self._dies.at(number, attempt) / self.knobs.crash if self.knobs.crash else 1.0
        mark = self.knobs.mark
        if mark != "with the effect" and self._known(number, attempt, key):
            return True
        if mark == "before the effect":
            self._save(number, attempt, key)
        yield self.clock.timeout(WORK)
        if luck < 1 / 2:
            return self._crash(number, attempt, key)
        if mark == "with the effect":
            if not self._known(number, attempt, key):
                self._effect(number, attempt, key)
                self._save(number, attempt, key)
        else:
            self._effect(number, attempt, key)
        yield self.clock.timeout(GAP)
        if luck < 1:
            return self._crash(number, attempt, key)
        if mark == "after the effect":
            self._save(number, attempt, key)
        return True

    def _known(self, number: int, attempt: int, key: str) -> bool:
        if self._keys.find(self.clock.now, ACCOUNT, key) is None:
            return False
        self._add("database", "replay", number, attempt, key)
        return True

    def _effect(self, number: int, attempt: int, key: str) -> None:
        self._add("database", "effect", number, attempt, key, value=CENTS)

    def _save(self, number: int, attempt: int, key: str) -> None:
        _, row = self._keys.claim(self.clock.now, ACCOUNT, key, str(CENTS))
        row.answer = 201
        self._add("database", "save", number, attempt, key)

    def _crash(self, number: int, attempt: int, key: str) -> bool:
        self._add("server", "crash", number, attempt, key)
        return False

    def _add(
        self,
        actor: str,
        event: str,
        number: int,
        attempt: int,
        key: str | None = None,
        *,
        peer: str = "",
        status: str = "",
        value: float = NAN,
    ) -> None:
        self.recorder.add(
            self.clock.now,
            actor,
            event,
            request=number,
            key=key,
            attempt=attempt,
            peer=peer,
            status=status,
            value=value,
        )
