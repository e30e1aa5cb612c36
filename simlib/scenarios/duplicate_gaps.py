"""Lesson 10: two charges of one purchase are found in the books. How far apart they are says who did it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Trace
from simlib.views.counts import histogram
from simlib.views.diagram import diagrams, telling
from simlib.views.looks import plural, seconds
from simlib.views.scene import Scene
from simlib.world.arrivals import arrive, poisson
from simlib.world.client import Client, key_per_intent, no_key
from simlib.world.latency import Exponential
from simlib.world.link import Link
from simlib.world.luck import Luck
from simlib.world.message import CREATED, NO_KEY, Answer, Receiver, Request
from simlib.world.server import Server
from simlib.world.trouble import Copies
from simlib.world.world import World

PER_SECOND = 5.0  # purchases
WAY = Exponential(0.01)  # seconds a message takes
WORK = Exponential(0.03)  # seconds from the look at the key to the charge
COPY = Exponential(0.003)  # seconds from a request to its copy
BINS = 40
LANES = ("phone", "network", "server", "database")


@dataclass(frozen=True)
class DuplicateGaps:
    """Purchases that are charged twice, for one of two reasons.

    `client retry`: nobody sends a key, a reply is lost, and the phone taps again after its time-out. `server race`:
    every purchase has a key, and the server looks for it before it inserts; a request that comes twice at once finds
    nothing twice. The gap between the two charges is about the time-out in one case, and milliseconds in the other.
    """

    title: ClassVar[str] = "Who did it twice?"
    contrast: ClassVar[Contrast] = Contrast(
        "cause", ("client retry", "server race"), ("The client, without a key", "The server, that looks first")
    )

    cause: str = field(
        default="client retry",
        metadata=knob("cause", "why purchases are charged twice", choices=("client retry", "server race")),
    )
    share: float = field(default=0.1, metadata=knob("share", "purchases that it befalls", 0, 1, 0.01))
    timeout: float = field(default=2.0, metadata=knob("time-out", "how long a phone waits", 0.5, 30, 0.5, unit="s"))
    purchases: int = field(default=2000, metadata=knob("purchases", "people who tap Pay once", 1, 20_000, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        world, race = World(Luck(seed)), self.cause == "server race"
        requests = Link(world, to="server", carries="request", latency=WAY)
        replies = Link(world, to="phone", carries="reply", latency=WAY, loss=(0.0 if race else self.share, 0.0))
        database = _LooksFirst(world)
        server = Server(world, work=database.pay, answer=replies.send, service=WORK, workers=None)
        doors = Copies(world, send=database.seen_by(server), share=self.share if race else 0.0, after=COPY)
        policy = RetryPolicy(attempts=2, deadline=math.inf, per_try=self.timeout, backoff=Backoff(base=0.1, cap=0.2))
        phone = Client(world, policy=policy, send=requests.send, key=key_per_intent if race else no_key)
        requests.connect(doors.send)
        replies.connect(phone.receive)
        arrive(world.clock, poisson(world.luck, "taps", PER_SECOND, self.purchases), phone.begin)
        world.clock.run()
        trace = world.recorder.freeze()
        between = gaps(trace)
        charges = trace.count("effect")
        counts = {
            "purchases": self.purchases,
            "charges": charges,
            "duplicates": len(between),
            "gap_ms": 1000 * median(between) if between else 0.0,
        }
        return Run(self, seed, counts, trace, {"gaps": between})

    def describe(self, counts: Mapping[str, float]) -> str:
        said = f"{plural(counts['purchases'], 'purchase')}, {plural(counts['duplicates'], 'duplicate')}"
        return f"{said}, the middle gap {seconds(counts['gap_ms'] / 1000)}" if counts["duplicates"] else said

    def headline(self, counts: Mapping[str, float]) -> Headline:
        if not counts["duplicates"]:
            return Headline("no duplicates", good=True)
        return Headline(f"{seconds(counts['gap_ms'] / 1000)} apart", good=False)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.purchases == 1:
            return self.diagrams(runs)
        marks = {"time-out": self.timeout}
        return [histogram(run.series["gaps"], marks=marks, bins=BINS, label="gap between two charges") for run in runs]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, requests=[telling(runs[0].trace)])


def gaps(trace: Trace) -> list[float]:
    """Seconds between one effect and the next of the same request, over all requests."""
    at = trace.where("effect")
    request, time = trace.column("request")[at], trace.column("time")[at]
    order = np.lexsort((time, request))
    apart, same = np.diff(time[order]), np.diff(request[order]) == 0
    return apart[same].tolist()


class _LooksFirst:
    """A database whose user looks for the key when a request comes in, and inserts it when the work is done."""

    def __init__(self, world: World) -> None:
        self._rows = world.recorder.rows
        self._effect = world.recorder.kind("database", "effect")
        self._replay = world.recorder.kind("database", "replay")
        self._keys: set[int] = set()
        self._found: defaultdict[int, list[bool]] = defaultdict(list)  # by request: what each look has found

    def seen_by(self, server: Server) -> Receiver:
        """The server's door, with a look at the key on the way in."""

        def look(now: float, request: Request) -> None:
            self._found[request[0]].append(request[2] != NO_KEY and request[2] in self._keys)
            server.arrive(now, request)

        return look

    def pay(self, now: float, request: Request) -> Answer:
        number, attempt, key, _ = request
        kind = self._replay if self._found[number].pop(0) else self._effect
        self._rows.extend((now, kind, number, attempt, key, 5000))
        self._keys.add(key)
        return CREATED
