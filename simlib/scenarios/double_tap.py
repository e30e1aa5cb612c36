"""Lesson 01: you tap *Pay*, the answer is lost, the phone tries again. How often are you charged?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.policy.retry import RetryPolicy
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Trace
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

ONE_WAY = 0.4  # seconds a message takes
WORK = 0.3  # seconds the server works before the charge
PATIENCE = 10.0  # seconds a phone waits before it tries again
TAPS_PER_SECOND = 1.0
STORY = (1.0, 0.0)  # every first reply is lost, and no later one
FEW = 1  # purchases that a sequence diagram can show
LANES = ("phone", "network", "server", "database")
WORDS = {"timeout": "no answer in time", "backoff": "waits {seconds}, then taps again"}
SHOWN = ("purchases", "attempts", "lost", "charges", "duplicates")
INKS = {"duplicates": "bad"}


@dataclass(frozen=True)
class DoubleTap:
    """A phone pays over a network that loses messages; without an answer it tries again.

    With a key the server knows a repeat and answers from memory; without one it charges again. While both loss rates
    are None it tells the story: the first reply is lost, the retry gets through. A number makes it draw.
    """

    title: ClassVar[str] = "The double tap"
    contrast: ClassVar[Contrast] = Contrast("keys", (False, True), ("Without a key", "With a key"))

    keys: bool = field(default=False, metadata=knob("key", "every purchase carries an idempotency key"))
    reply_loss: float | None = field(
        default=None,
        metadata=knob("reply lost", "share of answers that never arrive", 0, 1, 0.01, optional=True, none="story"),
    )
    request_loss: float | None = field(
        default=None,
        metadata=knob("request lost", "share of requests that never arrive", 0, 1, 0.01, optional=True, none="story"),
    )
    purchases: int = field(default=1, metadata=knob("purchases", "people who tap Pay once", 1, 100_000, 1))
    attempts: int = field(default=3, metadata=knob("tries", "tries a phone makes, the first included", 1, 10, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        world = World(Luck(seed))
        told = self.reply_loss is None and self.request_loss is None
        way = Constant(ONE_WAY)
        lost_replies = STORY if told else self.reply_loss or 0.0
        requests = Link(world, to="server", carries="request", latency=way, loss=self.request_loss or 0.0)
        replies = Link(world, to="phone", carries="reply", latency=way, loss=lost_replies)
        server = Server(world, work=KeyStore(world).pay, answer=replies.send, service=Constant(WORK), workers=None)
        policy = RetryPolicy(attempts=self.attempts, deadline=math.inf, per_try=PATIENCE)
        phone = Client(world, policy=policy, send=requests.send, key=key_per_intent if self.keys else no_key)
        requests.connect(server.arrive)
        replies.connect(phone.receive)
        taps = poisson(world.luck, "taps", TAPS_PER_SECOND, self.purchases)
        arrive(world.clock, taps - taps[0], phone.begin)
        world.clock.run()
        trace = world.recorder.freeze()
        return Run(self, seed, count(trace, self.purchases), trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        named = ((counts[n], n.removesuffix("s")) for n in ("purchases", "charges", "duplicates"))
        return ", ".join(f"{n:,.0f} {word}{'' if n == 1 else 's'}" for n, word in named)

    def headline(self, counts: Mapping[str, float]) -> Headline:
        charges = counts["charges"]
        return Headline(f"{charges:,.0f} charge{'' if charges == 1 else 's'}", good=counts["duplicates"] == 0)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.purchases <= FEW:
            return self.diagrams(runs)
        top = max(run.counts["attempts"] for run in runs)
        return [bars({name: run.counts[name] for name in SHOWN}, top=top, inks=INKS) for run in runs]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, requests=[telling(runs[0].trace)], words=WORDS)


def count(trace: Trace, purchases: int) -> dict[str, float]:
    """What the lesson counts. A duplicate is a charge beyond the first of its purchase."""
    charged = np.bincount(trace.column("request")[trace.where("effect")], minlength=purchases)
    return {
        "purchases": purchases,
        "charges": int(charged.sum()),
        "duplicates": int(np.maximum(charged - 1, 0).sum()),
        "attempts": trace.count("send"),
        "lost": trace.count("lose"),
    }
