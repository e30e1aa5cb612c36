"""Lesson 10: two regions, each with its own table of keys. The retry lands in the other one before the row does."""

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
from simlib.trace import Trace
from simlib.views.counts import bars
from simlib.views.diagram import diagrams, telling
from simlib.views.looks import plural
from simlib.views.scene import Scene
from simlib.world.arrivals import arrive, poisson
from simlib.world.client import Client, Roaming
from simlib.world.latency import Constant
from simlib.world.link import Link
from simlib.world.luck import Luck
from simlib.world.message import Receiver, Reply, Request
from simlib.world.regions import Replica
from simlib.world.server import Server
from simlib.world.store import KeyStore
from simlib.world.world import World

REGIONS = ("europe", "america")
ONE_WAY = 0.02  # seconds from a phone to either region
BETWEEN = 0.1  # seconds from one region to the other and back
WORK = 0.03  # seconds before the charge
PATIENCE = 1.0  # seconds a phone waits before it tries again
BACKOFF = Backoff(base=1.0, cap=4.0)
TRIES = 3
TAPS_PER_SECOND = 1.0
STORY = (1.0, 0.0)  # every first reply is lost, and no later one
FEW = 1
WAYS = ("own tables", "home region", "one store", "reconcile")
TITLES = ("A table in each region", "One home for each account")
LANES = ("phone", "network", *REGIONS)
WORDS = {"timeout": "no answer in time", "copy": "row on its way", "save": "", "claim": ""}
SHOWN = ("purchases", "charges", "refunds", "duplicates", "unanswered")


@dataclass(frozen=True)
class TwoRegions:
    """A phone pays in Europe; without an answer its retry is routed to America. Rows are copied after a lag.

    `own tables`: each region trusts its own rows, and a retry that is faster than the copy is charged again.
    `home region`: all tries of an account go to the one region that owns its keys. `one store`: both regions claim
    in a store that spans them, and every claim pays a round trip between them. `reconcile`: own tables, and a
    charge found to be the second one is refunded when the rows meet.

    While `reply_loss` is None it tells the story: the first reply is lost. With `outage`, Europe cannot be reached
    in the middle third of the run.
    """

    title: ClassVar[str] = "Two regions"
    contrast: ClassVar[Contrast] = Contrast("way", WAYS[:2], TITLES)

    way: str = field(
        default="own tables", metadata=knob("keys are kept", "who may claim a key, and where", choices=WAYS)
    )
    lag: float = field(default=3.0, metadata=knob("lag", "until a row is in the other region", 0, 30, 0.1, unit="s"))
    reply_loss: float | None = field(
        default=None,
        metadata=knob("reply lost", "share of answers that never arrive", 0, 1, 0.01, optional=True, none="story"),
    )
    purchases: int = field(default=1, metadata=knob("purchases", "people who tap Pay once", 1, 50_000, 1))
    outage: bool = field(default=False, metadata=knob("outage", "Europe cannot be reached for a third of the time"))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        world = World(Luck(seed))
        taps = poisson(world.luck, "taps", TAPS_PER_SECOND, self.purchases)
        taps -= taps[0]
        phone = self._build(world, float(taps[-1]))
        arrive(world.clock, taps, phone.begin)
        world.clock.run()
        trace = world.recorder.freeze()
        return Run(self, seed, _count(trace, self.purchases), trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        said = ", ".join(plural(counts[n], n.removesuffix("s")) for n in ("purchases", "charges"))
        refunds = f", {plural(counts['refunds'], 'refund')}" if counts["refunds"] else ""
        unanswered = f", {counts['unanswered']:,} not answered" if counts["unanswered"] else ""
        return f"{said}{refunds}, {plural(counts['duplicates'], 'duplicate')}{unanswered}, {counts['ms']:.0f} ms"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        refunds = f", {plural(counts['refunds'], 'refund')}" if counts["refunds"] else ""
        return Headline(f"{plural(counts['charges'], 'charge')}{refunds}", good=counts["duplicates"] == 0)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.purchases <= FEW:
            return self.diagrams(runs)
        top = max(run.counts["charges"] for run in runs)
        inks = {"duplicates": "bad", "unanswered": "bad"}
        return [bars({name: run.counts[name] for name in SHOWN}, top=top, inks=inks) for run in runs]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, requests=[telling(runs[0].trace)], words=WORDS)

    def _build(self, world: World, last: float) -> Client:
        loss = STORY if self.reply_loss is None else self.reply_loss
        way = Constant(ONE_WAY)
        stores = self._stores(world)
        service = Constant(WORK + (BETWEEN if self.way == "one store" else 0.0))
        dark = (last / 3, 2 * last / 3) if self.outage else (math.inf, math.inf)
        sends: list[Receiver] = []
        replies: list[Link] = []
        for region, store in zip(REGIONS, stores, strict=True):
            back = Link(world, to="phone", carries="reply", latency=way, loss=loss)
            server = Server(world, work=store.pay, answer=back.send, service=service, workers=None, name=region)
            there = Link(world, to=region, carries="request", latency=way)
            there.connect(server.arrive)
            sends.append(_unless_dark(world, there, region, dark) if region == REGIONS[0] else there.send)
            replies.append(back)
        home = (lambda _: 0) if self.way == "home region" else (lambda attempt: (attempt - 1) % 2)
        policy = RetryPolicy(attempts=TRIES, deadline=math.inf, per_try=PATIENCE, backoff=BACKOFF)
        phone = Roaming(world, policy=policy, sends=sends, peers=REGIONS, home=home)
        for back in replies:
            back.connect(phone.receive)
        return phone

    def _stores(self, world: World) -> tuple[Replica | KeyStore, Replica | KeyStore]:
        if self.way == "one store":
            store = KeyStore(world, name=REGIONS[0])
            return store, store
        europe, america = (
            Replica(world, lag=self.lag, reconcile=self.way == "reconcile", name=name) for name in REGIONS
        )
        europe.connect(america)
        america.connect(europe)
        return europe, america


def _unless_dark(world: World, link: Link, region: str, dark: tuple[float, float]) -> Receiver:
    """Send by this link, except while the region cannot be reached: then the message is lost at once."""
    rows, lost = world.recorder.rows, world.recorder.kind("network", "lose", region, "request")

    def send(now: float, request: Request | Reply) -> None:
        if dark[0] <= now < dark[1]:
            rows.extend((now, lost, request[0], request[1], request[2], math.nan))
        else:
            link.send(now, request)

    return send


def _count(trace: Trace, purchases: int) -> dict[str, float]:
    """What the lesson counts; a duplicate is a charge too many that nobody has paid back."""
    request, time = trace.column("request"), trace.column("time")
    charged = np.bincount(request[trace.where("effect")], minlength=purchases)
    refunded = np.bincount(request[trace.where("undo")], minlength=purchases)
    began, got = np.full(purchases, np.nan), np.full(purchases, np.nan)
    for mask, into in ((trace.where("send"), began), (trace.where("receive"), got)):
        into[request[mask][::-1]] = time[mask][::-1]  # the first of each
    return {
        "purchases": purchases,
        "charges": int(charged.sum()),
        "refunds": int(refunded.sum()),
        "duplicates": int(np.maximum(charged - refunded - 1, 0).sum()),
        "unanswered": trace.count("give_up"),
        "attempts": trace.count("send"),
        "lost": trace.count("lose"),
        "ms": 1000 * float(np.nanmedian(got - began)) if np.any(~np.isnan(got)) else math.inf,
    }
