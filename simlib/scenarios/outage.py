"""Lesson 08: a server is gone for a while. When it is back, so are all who waited for it: when exactly?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.policy.backoff import Backoff, Delays
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN, Trace
from simlib.views.diagram import diagrams
from simlib.views.load import Series, Window, over_time, top_of
from simlib.views.scene import Scene
from simlib.world.latency import Exponential, durations
from simlib.world.luck import Dice, Luck
from simlib.world.world import World

ONE_WAY = Exponential(0.005)  # seconds
BASE, CAP = 1.0, 30.0  # seconds
BIN = 0.25  # seconds over which arrivals are counted
AFTER = CAP + 5.0  # seconds watched after the server is back
FEW = 3


@dataclass(frozen=True)
class Outage:
    """Clients find a server gone in the same moment, and try again as their backoff says until it is back.

    Every try in the meantime is refused at once. `peak` is the most arrivals in a quarter of a second once the server
    is back; `arrivals` are all of them.
    """

    title: ClassVar[str] = "After the outage"
    contrast: ClassVar[Contrast] = Contrast("jitter", ("none", "full"), ("Exponential alone", "Full jitter"))

    jitter: str = field(
        default="none",
        metadata=knob("jitter", "how waits are blurred", choices=("none", "equal", "full", "decorrelated")),
    )
    clients: int = field(default=1000, metadata=knob("clients", "who wait for the server", 1, 5_000, 1))
    seconds: float = field(default=60.0, metadata=knob("outage", "how long the server is gone", 1, 300, 1, unit="s"))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        return self.run_with(Backoff(BASE, cap=CAP, jitter=self.jitter), seed)  # type: ignore[arg-type]

    def run_with(self, backoff: Delays, seed: int = 7) -> Run:
        """A run with a backoff of one's own in place of the one the knob names."""
        world = World(Luck(seed))
        _return(world, self.clients, self.seconds, backoff)
        trace = world.recorder.freeze()
        series = self._series(trace)
        after = [n for second, n in zip(series["second"], series["arrivals"], strict=True) if second >= self.seconds]
        counts = {
            "clients": self.clients,
            "attempts": trace.count("send"),
            "arrivals": sum(after),
            "peak": max(after, default=0),
            "served_within": self._served_within(trace),
        }
        return Run(self, seed, counts, trace, series)

    def describe(self, counts: Mapping[str, float]) -> str:
        return (
            f"{counts['clients']:,} clients, {counts['attempts']:,} tries; once it is back, at most {counts['peak']:,} "
            f"in a quarter of a second, all served {counts['served_within']:.0f} s later"
        )

    def headline(self, counts: Mapping[str, float]) -> Headline:
        return Headline(f"peak {counts['peak']:,}", good=counts["peak"] < self.clients / 4)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.clients <= FEW:
            return self.diagrams(runs)
        curves = [Series("arrivals", run.series["arrivals"]) for run in runs]
        window = Window(0.0, self.seconds, "gone")
        top = top_of(curves)
        return [
            over_time(run.series["second"], [curve], windows=[window], top=top, y_label="tries in 0.25 s", stepped=True)
            for run, curve in zip(runs, curves, strict=True)
        ]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        lanes, few = ("phone", "server"), range(min(self.clients, FEW))
        return diagrams([run.trace for run in runs], lanes=lanes, requests=few)

    def _series(self, trace: Trace) -> dict[str, list[float]]:
        edges = np.arange(0.0, self.seconds + AFTER + BIN, BIN)
        arrived = trace.column("time")[trace.where("arrive", actor="server")]
        return {"second": edges[:-1].tolist(), "arrivals": np.histogram(arrived, edges)[0].tolist()}

    def _served_within(self, trace: Trace) -> float:
        """Seconds from the end of the outage until the last client had its answer."""
        good = trace.column("time")[trace.where("receive", status="201")]
        return float(good.max()) - self.seconds if len(good) else math.inf


def _return(world: World, clients: int, seconds: float, backoff: Delays) -> None:
    """Let everybody try at time 0, and again as the backoff says, until the server is back.

    A try is one entry on the clock, its arrival; what follows from it is known there and then.
    """
    clock, recorder, luck = world.clock, world.recorder, world.luck
    heap, numbers, rows = clock.heap, clock.numbers, recorder.rows
    out, back = (durations(luck, f"network {way}", ONE_WAY).at for way in ("there", "back"))
    dice = Dice(luck, "phone: jitter")
    sent, arrived = recorder.kind("phone", "send", "server"), recorder.kind("server", "arrive", "phone")
    no, yes = (recorder.kind("server", "reply", "phone", status) for status in ("503", "201"))
    told_no, told_yes = (recorder.kind("phone", "receive", "server", status) for status in ("503", "201"))
    waits = recorder.kind("phone", "backoff")
    previous: list[float | None] = [None] * clients

    def arrive(now: float, what: tuple[int, int, float]) -> None:
        number, attempt, left = what
        hears = now + back(number, attempt)
        if now >= seconds:
            rows.extend((left, sent, number, attempt, -1, NAN, now, arrived, number, attempt, -1, NAN,
                         now, yes, number, attempt, -1, NAN, hears, told_yes, number, attempt, -1, NAN))  # fmt: skip
            return
        wait = previous[number] = backoff.delay(attempt, dice.of(number, attempt), previous[number])
        rows.extend((left, sent, number, attempt, -1, NAN, now, arrived, number, attempt, -1, NAN,
                     now, no, number, attempt, -1, NAN, hears, told_no, number, attempt, -1, NAN,
                     hears, waits, number, attempt, -1, wait))  # fmt: skip
        leaves = hears + wait
        at = leaves + out(number, attempt + 1)
        heappush(heap, (at, 1, next(numbers), arrive, (number, attempt + 1, leaves)))

    for number in range(clients):
        clock.at(out(number, 1), arrive, (number, 1, 0.0))
    clock.run()
