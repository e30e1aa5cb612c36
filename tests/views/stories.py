"""Traces made by hand for the tests of pictures: the two taps, and one of every event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from simlib.knobs import check, knob
from simlib.trace import EVENTS, Recorder, Trace
from simlib.views.counts import bars
from simlib.views.diagram import diagrams
from simlib.views.scene import Scene

LANES = ("phone", "network", "server", "database")


def two_taps(*, keys: bool, timeout: float = 2.0) -> Trace:
    """One purchase; its first reply is lost, the second try gets through."""
    log = Recorder()
    key = "8e03a1f2-77aa-4a10" if keys else None

    def add(time: float, actor: str, event: str, attempt: int = 1, **more: object) -> None:
        log.add(time, actor, event, request=0, attempt=attempt, key=key, **more)  # type: ignore[arg-type]

    add(0.0, "phone", "send", peer="server")
    add(0.02, "server", "arrive", peer="phone")
    if keys:
        add(0.03, "database", "claim")
    add(0.03, "database", "effect", value=5000)
    if keys:
        add(0.03, "database", "save", status="201")
    add(0.05, "server", "reply", peer="phone", status="201")
    add(0.07, "network", "lose", peer="phone", status="reply")
    add(timeout, "phone", "timeout")
    add(timeout, "phone", "backoff", value=0.4)
    add(timeout + 0.4, "phone", "send", 2, peer="server")
    add(timeout + 0.42, "server", "arrive", 2, peer="phone")
    if keys:
        add(timeout + 0.43, "database", "replay", 2, status="201")
    else:
        add(timeout + 0.43, "database", "effect", 2, value=5000)
    add(timeout + 0.45, "server", "reply", 2, peer="phone", status="201")
    add(timeout + 0.47, "phone", "receive", 2, peer="server", status="201")
    return log.freeze()


def every_event() -> Trace:
    """Each event once, a second apart, on lanes with and without a usual place."""
    log = Recorder()
    for i, event in enumerate(EVENTS):
        log.add(float(i), "server", event, request=i, attempt=1, peer="worker-9", status="503", value=2.0)
    return log.freeze()


@dataclass(frozen=True)
class Contrast:
    knob: str
    values: tuple[bool, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    text: str
    good: bool


@dataclass(frozen=True)
class Run:
    """As much of a run as pictures and playgrounds use."""

    scenario: Taps
    seed: int
    counts: Mapping[str, float]
    trace: Trace

    @property
    def text(self) -> str:
        return f"Taps(keys={self.scenario.keys}, seed={self.seed}): {self.counts['charges']:g} charges"


@dataclass(frozen=True)
class Taps:
    """A scenario with a knob of every kind, that tells the two taps."""

    contrast: ClassVar[Contrast] = Contrast("keys", (False, True), ("Without a key", "With a key"))
    ran: ClassVar[list[float | None]] = []  # the loss of every run, in order

    keys: bool = field(default=False, metadata=knob("key", "carries a key"))
    loss: float | None = field(
        default=None, metadata=knob("reply lost", "share", 0, 1, 0.01, optional=True, none="story")
    )
    purchases: int = field(default=1, metadata=knob("purchases", "how many", 1, 5000, 1))
    patience: float = field(default=2.0, metadata=knob("patience", "waits", 0.5, 60, 0.5, unit="s"))
    audit: bool = field(default=False, metadata=knob("audit", "looks twice"))
    jitter: str = field(default="full", metadata=knob("jitter", choices=("none", "full")))
    region: str = field(default="a", metadata=knob("region", choices=("a", "b", "c", "d", "e")))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        self.ran.append(self.loss)
        trace = two_taps(keys=self.keys, timeout=self.patience)
        charges = trace.count("effect") * self.purchases
        return Run(self, seed, {"purchases": self.purchases, "charges": charges}, trace)

    def headline(self, counts: Mapping[str, float]) -> Headline:
        return Headline(f"{counts['charges']:g} charges", counts["charges"] == counts["purchases"])

    def pictures(self, runs: list[Run]) -> list[Scene]:
        return self.diagrams(runs) if self.purchases == 1 else [bars(run.counts, top=10_000) for run in runs]

    def diagrams(self, runs: list[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES)
