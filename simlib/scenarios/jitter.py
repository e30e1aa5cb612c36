"""Lesson 08: many clients want to change one row, and all but one fail. How long should they wait?

The contention study of the AWS Architecture Blog (M. Brooker, "Exponential Backoff And Jitter", 2015), in its setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush
from typing import ClassVar, cast

import numpy as np

from simlib.knobs import check, knob
from simlib.policy.backoff import Backoff, Delays
from simlib.policy.backoff import Jitter as Blur
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN, Trace
from simlib.views.diagram import diagrams
from simlib.views.load import Series, over_time, top_of
from simlib.views.looks import seconds
from simlib.views.scene import Scene
from simlib.world.latency import Normal, durations
from simlib.world.luck import Dice, Luck
from simlib.world.world import World

ONE_WAY = Normal(0.010, 0.002)  # seconds
BASE, CAP = 0.005, 2.0  # seconds
BACKOFFS: dict[str, Blur | None] = {
    "none": None,
    "exponential": "none",
    "equal": "equal",
    "full": "full",
    "decorrelated": "decorrelated",
}
FEW = 3  # clients that a sequence diagram can show
BINS = 40
WORDS = {"send": "write", "effect": "row changed", "refuse": "too late: version has changed"}
LANES = ("client", "database")


@dataclass(frozen=True)
class Jitter:
    """Clients that change one row: each reads its version, and writes if the version is still the same.

    Of those who write at the same moment one gets through; the others wait as their backoff says, read again and write
    again. `trials` are independent rows; counts are means over them.
    """

    title: ClassVar[str] = "One row, many writers"
    contrast: ClassVar[Contrast] = Contrast("backoff", ("exponential", "full"), ("Exponential", "Full jitter"))

    clients: int = field(default=50, metadata=knob("clients", "who want to change the row", 1, 500, 1))
    backoff: str = field(
        default="exponential", metadata=knob("backoff", "how those wait who failed", choices=tuple(BACKOFFS))
    )
    trials: int = field(default=1, metadata=knob("trials", "rows, each with clients of its own", 1, 200, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        blur = BACKOFFS[self.backoff]
        return self.run_with(None if blur is None else Backoff(BASE, cap=CAP, jitter=blur), seed)

    def run_with(self, backoff: Delays | None, seed: int = 7) -> Run:
        """A run with a backoff of one's own in place of the one the knob names; None: no waiting at all."""
        world = World(Luck(seed))
        finished = _contend(world, self.clients, self.trials, backoff)
        trace = world.recorder.freeze()
        calls = trace.count("send") / self.trials
        counts = {
            "clients": self.clients,
            "calls": calls,
            "finish_ms": float(np.mean(finished)) * 1000,
            "calls_a_client": calls / self.clients,
        }
        return Run(self, seed, counts, trace, self._series(trace, float(max(finished))))

    def describe(self, counts: Mapping[str, float]) -> str:
        return f"{counts['clients']:,} clients, {counts['calls']:,.0f} writes, all done after {_finish(counts)}"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        return Headline(
            f"{counts['calls']:,.0f} writes, {_finish(counts)}", good=counts["finish_ms"] < 200 * self.clients
        )

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.clients <= FEW:
            return self.diagrams(runs)
        until = max(run.series["second"][-1] for run in runs)
        times = np.linspace(0.0, until, BINS + 1)
        curves = [Series("writes", np.histogram(_writes(run.trace), times)[0].tolist()) for run in runs]
        top = top_of(curves)
        label = f"writes in {seconds(until / BINS)}"
        return [over_time(times[:-1].tolist(), [curve], top=top, y_label=label, stepped=True) for curve in curves]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, requests=range(min(self.clients, FEW)), words=WORDS)

    def _series(self, trace: Trace, until: float) -> dict[str, list[float]]:
        """Writes over the time until the last client is done."""
        edges = np.linspace(0.0, until, BINS + 1)
        return {"second": edges[1:].tolist(), "writes": np.histogram(_writes(trace), edges)[0].tolist()}


def _contend(world: World, clients: int, trials: int, backoff: Delays | None) -> list[float]:
    """Let everybody write until all have; when the last client of each trial was done, in seconds.

    A try is two entries on the clock: the read at the row, and the write at the row. Its messages are drawn ahead.
    """
    clock, recorder, luck = world.clock, world.recorder, world.luck
    heap, numbers, rows = clock.heap, clock.numbers, recorder.rows
    legs = [durations(luck, f"leg {leg}", ONE_WAY) for leg in range(4)]
    to_read, with_version, to_write, with_answer = (leg.at for leg in legs)
    dice = Dice(luck, "backoff")
    sent, written = recorder.kind("client", "send", "database"), recorder.kind("database", "effect")
    late, waits = recorder.kind("database", "refuse", "client"), recorder.kind("client", "backoff")
    version = [0] * trials
    finished = [0.0] * trials
    previous: list[float | None] = [None] * (clients * trials)

    def read(now: float, who: tuple[int, int]) -> None:
        number, attempt = who
        leaves = now + with_version(number, attempt)
        rows.extend((leaves, sent, number, attempt, -1, NAN))
        arrives = leaves + to_write(number, attempt)
        heappush(heap, (arrives, 1, next(numbers), write, (number, attempt, version[number // clients])))

    def write(now: float, what: tuple[int, int, int]) -> None:
        number, attempt, seen = what
        trial = number // clients
        hears = now + with_answer(number, attempt)
        if version[trial] == seen:
            version[trial] = seen + 1
            rows.extend((now, written, number, attempt, -1, NAN))
            finished[trial] = max(finished[trial], hears)
            return
        rows.extend((now, late, number, attempt, -1, NAN))
        wait = 0.0
        if backoff is not None:
            wait = backoff.delay(attempt, dice.of(number, attempt), previous[number])
            previous[number] = wait
            rows.extend((hears, waits, number, attempt, -1, wait))
        again = hears + wait + to_read(number, attempt + 1)
        heappush(heap, (again, 1, next(numbers), read, (number, attempt + 1)))

    for number in range(clients * trials):
        clock.at(to_read(number, 1), read, (number, 1))
    clock.run()
    return finished


def _writes(trace: Trace) -> np.ndarray:
    return cast(np.ndarray, trace.column("time")[trace.where("send")])


def _finish(counts: Mapping[str, float]) -> str:
    return seconds(counts["finish_ms"] / 1000)
