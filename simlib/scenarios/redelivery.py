"""Lesson 07: a queue hands a message out again until it is confirmed. What does the consumer make of that?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Trace
from simlib.views.counts import bars
from simlib.views.diagram import diagrams
from simlib.views.looks import plural
from simlib.views.scene import Scene
from simlib.world.broker import Delivery, Queue
from simlib.world.consumer import Consumer, Mark, steps
from simlib.world.luck import Luck
from simlib.world.message import Request
from simlib.world.world import World

TOP_UPS = (500, 300, 200)  # cents, in turn
EVERY = 3.0  # seconds between messages
VISIBILITY = 20.0  # seconds
STEP = 0.2  # seconds the consumer takes for a step
RESTART = 1.0  # seconds
TOLD = 2  # of the story's messages, those with which the consumer dies
FEW = 4  # messages that a sequence diagram can show
WORDS = {
    "effect": "top-up {n}",
    "publish": "message kept",
    "deliver": "handed out",
    "redeliver": "handed out again",
    "skip": "known: left alone",
    "save": "noted as seen",
    "crash": "dies",
}
LANES = ("broker", "consumer", "database")


@dataclass(frozen=True)
class Redelivery:
    """Top-ups of a wallet arrive by a queue. The consumer dies between two of its steps, comes back, and is handed
    the same message again unless it had confirmed it.

    While `crashes` is None it tells the story: it dies with each of the first two messages, once. A number makes it
    draw. With `twice` the producer publishes every message twice, as one does whose publish was not confirmed.
    """

    title: ClassVar[str] = "Redelivery"
    contrast: ClassVar[Contrast] = Contrast("inbox", (False, True), ("Without an inbox", "With an inbox"))

    inbox: bool = field(default=False, metadata=knob("inbox", "the consumer notes what it has handled, and skips it"))
    ack: str = field(
        default="after", metadata=knob("ack", "confirm before or after the work", choices=("before", "after"))
    )
    mark: str = field(
        default="with",
        metadata=knob(
            "note is written",
            "in one transaction with the effect, or in another store before or after it",
            choices=("with", "before", "after"),
        ),
    )
    dedup_on: str = field(
        default="producer",
        metadata=knob("inbox knows", "the producer's id, or the broker's of each copy", choices=("producer", "broker")),
    )
    twice: bool = field(default=False, metadata=knob("published twice", "the producer sends every message twice"))
    crashes: float | None = field(
        default=None,
        metadata=knob("dies", "share of deliveries with which it dies", 0, 0.9, 0.01, optional=True, none="story"),
    )
    messages: int = field(default=3, metadata=knob("messages", "top-ups that are sent", 1, 5_000, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        world = World(Luck(seed))
        mark: Mark = self.mark if self.inbox else "none"  # type: ignore[assignment]
        queue = Queue(world, deliver=lambda now, delivery: consumer.receive(now, delivery), visibility=VISIBILITY)
        consumer = Consumer(
            world,
            ack=self.ack,  # type: ignore[arg-type]
            mark=mark,
            confirm=queue.ack,
            amount=_cents,
            identity=(lambda d: d[2]) if self.dedup_on == "producer" else (lambda d: d[4]),
            dies=self._dies(world.luck, len(steps(self.ack, mark))),  # type: ignore[arg-type]
            seconds=STEP,
            restart=RESTART,
            marks="database" if mark == "with" else "other store",
        )
        for number in range(self.messages):
            # the story's last message comes when the first two have been handed out again
            late = VISIBILITY if self.crashes is None and number >= TOLD else 0.0
            message: Request = (number, 1, number, number * EVERY)
            for copy in range(1 + self.twice):
                world.clock.at(number * EVERY + late + copy * 0.05, queue.publish, message)
        world.clock.run()
        trace = world.recorder.freeze()
        return Run(self, seed, count(trace, self.messages, consumer.balance), trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        messages, deliveries = plural(int(counts["messages"]), "message"), int(counts["deliveries"])
        return (
            f"{messages}, {deliveries:,} {'delivery' if deliveries == 1 else 'deliveries'}, {counts['applied']:,} "
            f"applied, balance {counts['balance']:,.0f} of {counts['right']:,.0f}"
        )

    def headline(self, counts: Mapping[str, float]) -> Headline:
        return Headline(f"balance {counts['balance']:,.0f}", good=counts["balance"] == counts["right"])

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.messages <= FEW and not self.twice:
            return self.diagrams(runs)
        top = max(run.counts["deliveries"] for run in runs)
        return [bars({name: run.counts[name] for name in ("messages", "deliveries", "applied", "lost", "duplicates")},
                     top=top, inks={"lost": "bad", "duplicates": "bad"}) for run in runs]  # fmt: skip

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, requests=range(min(self.messages, FEW)), words=WORDS)

    def _dies(self, luck: Luck, of: int):
        """After how many steps it dies with a delivery: in the story after the first, with the first two messages."""
        if self.crashes is None:
            return lambda d: int(d[0] < TOLD and d[1] == 1)
        whether, when, rate = luck.uniforms("consumer dies"), luck.uniforms("consumer dies after"), self.crashes

        def dies(d: Delivery) -> int:
            return 1 + int(when.at(d[4], d[1]) * of) if whether.at(d[4], d[1]) < rate else 0

        return dies


def count(trace: Trace, messages: int, balance: float) -> dict[str, float]:
    """What the lesson counts: a message applied more than once is a duplicate, one never applied is lost."""
    applied = np.bincount(trace.column("request")[trace.where("effect")], minlength=messages)
    return {
        "messages": messages,
        "deliveries": trace.count("deliver", "redeliver"),
        "applied": int(applied.sum()),
        "duplicates": int(np.maximum(applied - 1, 0).sum()),
        "lost": int((applied == 0).sum()),
        "balance": balance,
        "right": sum(map(_cents, range(messages))),
    }


def _cents(number: int) -> float:
    return TOP_UPS[number % len(TOP_UPS)]
