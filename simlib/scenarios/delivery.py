"""Lesson 03: what can be promised about a message: at most once, at least once, and what is meant by exactly once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.views.counts import bars
from simlib.views.diagram import diagrams, telling
from simlib.views.scene import Scene
from simlib.world.arrivals import arrive, poisson
from simlib.world.client import Client, key_per_intent, no_key
from simlib.world.latency import Constant
from simlib.world.link import Link
from simlib.world.luck import Luck
from simlib.world.server import Server
from simlib.world.store import KeyStore
from simlib.world.world import World

ONE_WAY, WORK = 0.05, 0.02  # seconds
PATIENCE = 1.0  # seconds until a sender without an answer sends again
RATE = 5.0  # messages a second
UNTIL_HEARD = 60  # tries: practically until an answer comes
PROMISES = {
    "at most once": (1, False),
    "at least once": (UNTIL_HEARD, False),
    "effectively once": (UNTIL_HEARD, True),
}
"""The promise, to how often a message is sent and whether the receiver knows it again."""
LANES = ("sender", "network", "receiver", "database")
WORDS = {"send": "message {which}", "effect": "handled {n}", "replay": "known: not handled again", "reply": "confirmed",
         "receive": "", "timeout": "no confirmation", "backoff": "", "claim": "", "save": "noted"}  # fmt: skip
FEW = 1


@dataclass(frozen=True)
class Delivery:
    """Messages over a network that loses some, each confirmed by the receiver; the confirmation may get lost too."""

    title: ClassVar[str] = "What can be promised"
    contrast: ClassVar[Contrast] = Contrast(
        "promise",
        ("at most once", "at least once", "effectively once"),
        ("At most once", "At least once", "…and dedup"),
    )

    promise: str = field(
        default="at least once", metadata=knob("promise", "what sender and receiver do", choices=tuple(PROMISES))
    )
    loss: float = field(default=0.2, metadata=knob("loss", "share of messages lost, each way", 0, 0.6, 0.01))
    messages: int = field(default=200, metadata=knob("messages", "how many are sent", 1, 2_000, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        tries, known = PROMISES[self.promise]
        world, way = World(Luck(seed)), Constant(ONE_WAY)
        there = Link(world, to="receiver", carries="request", latency=way, loss=self.loss)
        back = Link(world, to="sender", carries="reply", latency=way, loss=self.loss)
        receiver = Server(
            world, work=KeyStore(world).pay, answer=back.send, service=Constant(WORK), workers=None,
            name="receiver", peer="sender",
        )  # fmt: skip
        policy = RetryPolicy(
            attempts=tries, deadline=math.inf, per_try=PATIENCE, backoff=Backoff(base=0.0, jitter="none")
        )
        key = key_per_intent if known else no_key
        sender = Client(world, policy=policy, send=there.send, key=key, name="sender", peer="receiver")
        there.connect(receiver.arrive)
        back.connect(sender.receive)
        arrive(world.clock, poisson(world.luck, "messages", RATE, self.messages), sender.begin)
        world.clock.run()
        trace = world.recorder.freeze()
        handled = np.bincount(trace.column("request")[trace.where("effect")], minlength=self.messages)
        counts = {
            "messages": self.messages,
            "sent": trace.count("send", actor="sender"),
            "handled": int(handled.sum()),
            "never": int((handled == 0).sum()),
            "twice": int((handled > 1).sum()),
        }
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        return (
            f"{counts['messages']:,} messages sent {counts['sent']:,} times, {counts['never']:,} never handled, "
            f"{counts['twice']:,} more than once"
        )

    def headline(self, counts: Mapping[str, float]) -> Headline:
        good = counts["never"] == counts["twice"] == 0
        return Headline(f"{counts['never']:,} lost, {counts['twice']:,} twice", good=good)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.messages <= FEW:
            return self.diagrams(runs)
        top = max(run.counts["sent"] for run in runs)
        inks = {"never": "bad", "twice": "bad"}
        shown = ("messages", "sent", "handled", "never", "twice")
        return [bars({name: run.counts[name] for name in shown}, top=top, inks=inks) for run in runs]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, requests=[telling(runs[0].trace)], words=WORDS)
