"""Lesson 09: retries in every layer. What a database hears of one tap, and whether it recovers from a bad moment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simlib.knobs import check, knob
from simlib.policy.backoff import Backoff
from simlib.policy.breaker import CircuitBreaker
from simlib.policy.budgets import BUDGETS
from simlib.policy.retry import RetryPolicy
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Trace
from simlib.views.counts import bars
from simlib.views.diagram import diagrams
from simlib.views.load import Level, Series, Window, over_time, top_of
from simlib.views.scene import Scene
from simlib.world.arrivals import arrive
from simlib.world.client import Client
from simlib.world.latency import Constant, Exponential
from simlib.world.luck import Luck
from simlib.world.message import CREATED, FAILED, Answer, Receiver, Request, nowhere
from simlib.world.server import Server
from simlib.world.service import Service
from simlib.world.world import World

NAMES = ("app", "gateway", "service", "worker")  # from the user down; the last one in use calls the database
RATE = 20.0  # taps a second
WORKERS, SERVICE = 6, 0.2  # of the database: so many at a time, seconds each on average
CAPACITY = WORKERS / SERVICE  # calls a second
PATIENCE = 1.0  # seconds a caller of the database waits for it
BEGINS, LASTS = 0.25, 0.15  # of the time: when the cause begins, and how long it lasts
SLOWER, BUSIER = 4.0, 2.0  # times, while the cause lasts
SHED = 20  # calls that may wait at the database when it sheds load
USER_WAITS = 10.0  # seconds
USEFUL = 0.9  # of the taps: answered well again so often, it has recovered
SMOOTH = 5  # seconds over which that is seen
CAUSES = {"slow": "slow for {} s", "spike": "busy for {} s", "outage": "down for {} s"}


@dataclass(frozen=True)
class RetryStorm:
    """People tap, and a call goes down through layers to a database; each layer tries again by itself.

    With the cause `failures` every call at the database fails with the same chance and nothing queues: a tap's load
    is what arithmetic says. With any other cause the database can do 30 calls a second, and for a while it is slow,
    overrun or down; does it recover when the cause has gone?
    """

    title: ClassVar[str] = "The retry storm"
    contrast: ClassVar[Contrast] = Contrast("budget", (None, "share"), ("Retries everywhere", "Retry budget 10%"))

    layers: int = field(default=3, metadata=knob("layers", "layers that call the next one", 1, 4, 1))
    attempts: int = field(default=3, metadata=knob("tries", "tries each layer makes", 1, 5, 1))
    failure: float = field(
        default=0.5, metadata=knob("failure", "share of calls that fail at the database", 0, 1, 0.01)
    )
    taps: int = field(default=2000, metadata=knob("taps", "people who tap, 20 a second", 1, 20_000, 1))
    cause: str = field(default="failures", metadata=knob("cause", "what goes wrong", choices=("failures", *CAUSES)))
    budget: str | None = field(
        default=None,
        metadata=knob("budget", "each layer's retry budget", choices=tuple(BUDGETS), optional=True, none="none"),
    )
    retry_at: str = field(
        default="every layer",
        metadata=knob("retry at", "who tries again", choices=("every layer", "the top", "the bottom")),
    )
    jitter: bool = field(default=False, metadata=knob("long backoff", "waits double up to 20 s, with full jitter"))
    breaker: bool = field(default=False, metadata=knob("breaker", "a circuit breaker in front of the database"))
    shed: bool = field(default=False, metadata=knob("shed load", "the database turns away what cannot be served soon"))
    propagate: bool = field(
        default=False, metadata=knob("pass on the deadline", "the database skips calls for which nobody waits")
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The layers in use, from the user down."""
        return NAMES[: self.layers]

    @property
    def lasts(self) -> tuple[float, float]:
        """When the cause begins and ends, in seconds."""
        whole = self.taps / RATE
        return BEGINS * whole, (BEGINS + LASTS) * whole

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs and the seed."""
        world = World(Luck(seed))
        taps = self._taps(world.luck)
        user = self._build(world)
        arrive(world.clock, taps, user.begin)
        world.clock.run(None if self.cause == "failures" else self.taps / RATE + 1.0)
        trace = world.recorder.freeze()
        series = {} if self.cause == "failures" else self._series(trace, until=float(taps[-1]))
        return Run(self, seed, self._count(trace, len(taps), series), trace, series)

    def describe(self, counts: Mapping[str, float]) -> str:
        taps, calls = counts["taps"], counts["bottom_calls"]
        said = f"{taps:,} tap{'' if taps == 1 else 's'}, {calls:,} calls at the database, {counts['load']:.2f} a tap"
        said += f", {counts['failures']:,} failed"
        return said if self.cause == "failures" else f"{said}, {_recovery(counts['recovers'])}"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        if self.cause == "failures":
            return Headline(f"{counts['load']:.3g} calls a tap", good=counts["load"] < 2)
        return Headline(_recovery(counts["recovers"]), good=math.isfinite(counts["recovers"]))

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        if self.cause == "failures":
            loads = [{n: float(run.counts[f"{n} calls"]) for n in ("user", *self.names)} for run in runs]
            top = max(max(load.values()) for load in loads)
            return [bars(load, top=top) for load in loads]
        start, end = self.lasts
        window = Window(start, end, CAUSES[self.cause].format(f"{end - start:.0f}"))
        capacity = Level(CAPACITY, "capacity")
        curves = [
            (Series("load", run.series["load"]), Series("useful answers", run.series["useful"], "good", "dashdot"))
            for run in runs
        ]
        top = top_of([c for pair in curves for c in pair], [capacity])
        label = "calls per second at the database"
        return [
            over_time(run.series["second"], pair, windows=[window], levels=[capacity], top=top, y_label=label)
            for run, pair in zip(runs, curves, strict=True)
        ]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=(*self.names, "database"), requests=[0])

    def _taps(self, luck: Luck) -> np.ndarray:
        """When people tap; during a spike three times as often, on top of the others."""
        luck_of = luck.generator("taps").standard_exponential
        taps = np.cumsum(luck_of(self.taps)) / RATE
        if self.cause != "spike":
            return taps
        start, end = self.lasts
        more = start + np.cumsum(luck_of(self.taps)) / (RATE * (BUSIER - 1))
        return np.sort(np.concatenate((taps, more[more < end])))

    def _build(self, world: World) -> Client:
        """The layers, from the database up; returns the users' client."""
        replies: list[Receiver] = [nowhere] * self.layers
        arrives = self._database(world, lambda now, reply: replies[-1](now, reply))
        for depth in reversed(range(1, self.layers)):
            service = Service(
                world,
                policy=self._policy(depth),
                send=arrives,
                answer=lambda now, reply, above=depth - 1: replies[above](now, reply),
                name=self.names[depth],
                above=self.names[depth - 1],
                below=(*self.names, "database")[depth + 1],
            )
            arrives, replies[depth] = service.arrive, service.client.receive
        below = (*self.names, "database")[1]
        user = Client(world, policy=self._policy(0), send=arrives, name=self.names[0], peer=below)
        replies[0] = user.receive
        return user

    def _policy(self, depth: int) -> RetryPolicy:
        last = depth == self.layers - 1
        tries = {"every layer": True, "the top": depth == 0, "the bottom": last}[self.retry_at]
        timed = self.cause != "failures"
        return RetryPolicy(
            attempts=self.attempts if tries else 1,
            deadline=USER_WAITS if timed and depth == 0 else math.inf,
            per_try=(PATIENCE if last else USER_WAITS) if timed else math.inf,
            backoff=Backoff(base=0.5, cap=20.0) if self.jitter else Backoff(base=0.0, jitter="none"),
            budget=None if self.budget is None else BUDGETS[self.budget](),
            breaker=CircuitBreaker(failures=5, cool_down=5.0) if self.breaker and last else None,
        )

    def _database(self, world: World, answer: Receiver) -> Receiver:
        last = self.names[-1]
        if self.cause == "failures":
            rate, fails = self.failure, world.luck.uniforms("database fails")

            def try_luck(now: float, request: Request) -> Answer:
                return FAILED if fails.at(request[0], request[1]) < rate else CREATED

            return Server(
                world, work=try_luck, answer=answer, service=Constant(0.0), workers=None, name="database", peer=last
            ).arrive
        start, end = self.lasts
        slow = self.cause == "slow"
        down = self.cause == "outage"
        return Server(
            world,
            work=lambda now, request: FAILED if down and start <= now < end else CREATED,
            answer=answer,
            service=Exponential(SERVICE),
            workers=WORKERS,
            limit=SHED if self.shed else None,
            patience=PATIENCE if self.propagate else None,
            pace=(lambda now: SLOWER if start <= now < end else 1.0) if slow else None,
            name="database",
            peer=last,
        ).arrive

    def _series(self, trace: Trace, until: float) -> dict[str, list[float]]:
        """Each second's calls at the database and good answers to users, as long as people tap."""
        edges = np.arange(0.0, min(self.taps / RATE, until) + 1.0)
        time = trace.column("time")
        load = np.histogram(time[trace.where("send", actor=self.names[-1])], edges)[0]
        useful = np.histogram(time[trace.where("receive", actor=self.names[0], status="201")], edges)[0]
        return {"second": edges[:-1].tolist(), "load": load.tolist(), "useful": useful.tolist()}

    def _count(self, trace: Trace, taps: int, series: Mapping[str, Sequence[float]]) -> dict[str, float]:
        calls = {name: trace.count("send", actor=name) for name in self.names}
        bottom = calls[self.names[-1]]
        counts: dict[str, float] = {
            "taps": taps,
            "bottom_calls": bottom,
            "load": bottom / taps,
            "failures": trace.count("give_up", actor=self.names[0]),
            "user calls": taps,
            **{f"{name} calls": n for name, n in calls.items()},
        }
        if series:
            counts["recovers"] = self._recovers(series)
            counts["peak"] = max(series["load"])
        return counts

    def _recovers(self, series: Mapping[str, Sequence[float]]) -> float:
        """Seconds from the end of the cause until users are served again for good; infinite if they never are."""
        end = round(self.lasts[1])
        useful = np.convolve(series["useful"], np.ones(SMOOTH) / SMOOTH, "valid")[end:]
        starved = np.flatnonzero(useful < USEFUL * RATE - 2 * math.sqrt(RATE / SMOOTH))
        if len(starved) == 0:
            return 0.0
        return math.inf if starved[-1] >= len(useful) - SMOOTH else float(starved[-1] + 1)


def _recovery(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "never recovers"
    return "not disturbed" if seconds == 0 else f"recovers in {seconds:.0f} s"
