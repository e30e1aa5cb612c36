"""Lesson 07: a log is read by position. What happens to the messages in hand when another reader takes over?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN
from simlib.views.diagram import diagrams
from simlib.views.scene import Scene
from simlib.world.broker import Delivery
from simlib.world.log import Partition
from simlib.world.luck import Luck
from simlib.world.world import World

LANES = ("broker", "consumer", "database")
WORK = 0.3  # seconds a message takes
STUCK = 4  # the message, counted from 1, that takes longer the first time it is read
AUTO = 0.5  # seconds between commits of what was handed out
WORDS = {
    "effect": "applied",
    "deliver": "message {which}",
    "redeliver": "message {which} again",
    "take_over": "another reader takes over",
    "skip": "known: left alone",
    "publish": "",
    "ack": "position committed",
}


@dataclass(frozen=True)
class Offsets:
    """Seven messages in a log; the fourth takes long, the reader works on the others meanwhile, and is then replaced.

    `commit`: what is *done* without a gap, so all after the slow one come again; or what was *handed out*, by the
    clock, so the one in hand is lost. With an inbox what comes again is known.
    """

    title: ClassVar[str] = "Offsets"
    contrast: ClassVar[Contrast] = Contrast("commit", ("handed out", "done"), ("By the clock", "What is done"))

    commit: str = field(
        default="handed out", metadata=knob("commit", "which position is written down", choices=("handed out", "done"))
    )
    inbox: bool = field(default=False, metadata=knob("inbox", "the consumer notes what it has handled, and skips it"))
    messages: int = field(default=7, metadata=knob("messages", "messages in the log", 5, 50, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs: nothing in it is left to luck."""
        world = World(Luck(seed))
        rows, kind = world.recorder.rows, world.recorder.kind
        effect, skip = kind("database", "effect"), kind("database", "skip")
        seen: set[int] = set()
        reader = [0]

        def read(now: float, delivery: Delivery) -> None:
            slow = delivery[0] == STUCK - 1 and delivery[1] == 1
            world.clock.at(now + (100.0 if slow else WORK), work, (delivery, reader[0]))

        def work(now: float, held: tuple[Delivery, int]) -> None:
            delivery, owner = held
            if owner != reader[0]:
                return  # whoever held it is gone
            known = self.inbox and delivery[2] in seen
            seen.add(delivery[2])
            rows.extend((now, skip if known else effect, delivery[0], delivery[1], delivery[2], NAN))
            log.done(now, delivery)

        def replace(now: float, _: None) -> None:
            reader[0] += 1
            log.rebalance(now)

        log = Partition(world, deliver=read, auto_commit=AUTO if self.commit == "handed out" else None)
        for number in range(self.messages):
            world.clock.at(0.0, log.publish, (number, 1, number, 0.0))
        world.clock.at(0.0, lambda now, _: log.start(now), None)
        world.clock.at(0.1 * self.messages + 1.0, replace, None)
        world.clock.run()
        trace = world.recorder.freeze()
        applied = np.bincount(trace.column("request")[trace.where("effect")], minlength=self.messages)
        counts = {
            "messages": self.messages,
            "applied": int(applied.sum()),
            "twice": int((applied > 1).sum()),
            "lost": int((applied == 0).sum()),
            "again": trace.count("redeliver"),
        }
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        fate = f"{counts['twice']} applied twice, {counts['lost']} lost"
        return f"{counts['messages']} messages, {counts['again']} read again, {fate}"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        return Headline(f"{counts['lost']} lost, {counts['twice']} twice", good=not counts["lost"] + counts["twice"])

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        return self.diagrams(runs)

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        shown = range(STUCK - 2, STUCK + 1)
        return diagrams([run.trace for run in runs], lanes=LANES, requests=shown, words=WORDS)
