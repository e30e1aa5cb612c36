"""All schedules of a study: depth first, each from the start, with the ways not taken kept for later."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from simlib.live.search.arena import Arena
from simlib.live.search.judge import broken
from simlib.live.search.moves import STEP, Move
from simlib.live.search.play import Diverged, Happened, Play

TRIES = 20


@dataclass(frozen=True)
class Budget:
    """When to stop looking: after so many schedules, or so many seconds."""

    schedules: int = 20_000
    seconds: float = 60.0

    def __post_init__(self) -> None:
        for name, least in (("schedules", 1), ("seconds", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"A budget's {name} is {getattr(self, name)!r}; it takes {least} or more.")


@dataclass(frozen=True)
class Ended:
    """One schedule as it went: its moves, what happened, and what it broke (name to what was seen)."""

    moves: tuple[Move, ...]
    story: tuple[Happened, ...]
    broke: Mapping[str, str]

    @property
    def length(self) -> tuple[int, int, int]:
        """How long it is to tell: troubles first, then moves, then turns taken from one session to another."""
        troubles = sum(m.kind != STEP for m in self.moves)
        turns = sum(a.session != b.session for a, b in zip(self.moves, self.moves[1:], strict=False))
        return troubles, len(self.moves), turns


@dataclass
class Searched:
    """What a search has seen: schedules, those that broke something by what they broke, and the shortest of them."""

    schedules: int = 0
    seconds: float = 0.0
    complete: bool = True
    violations: dict[str, int] = field(default_factory=dict)
    violating: int = 0
    shortest: Ended | None = None


def search(
    arena: Arena,
    invariants: Mapping[str, str | Callable[..., Any]],
    budget: Budget,
    *,
    reduce: bool = True,
    first: bool = False,
) -> Searched:
    """Play every schedule, or until the budget is spent, or (with `first`) until one breaks something."""
    seen = Searched()
    began = time.monotonic()
    left: list[tuple[tuple[Move, ...], frozenset[Move]]] = [((), frozenset())]
    while left:
        seen.seconds = time.monotonic() - began
        if seen.schedules >= budget.schedules or seen.seconds > budget.seconds:
            seen.complete = False
            break
        play = played(arena, *left.pop(), reduce=reduce)
        left.extend(play.branches)
        if play.ending in ("same", "idle"):
            continue
        ended = judged(arena, play, invariants)
        seen.schedules += 1
        for name in ended.broke:
            seen.violations[name] = seen.violations.get(name, 0) + 1
        if ended.broke:
            seen.violating += 1
            if seen.shortest is None or ended.length < seen.shortest.length:
                seen.shortest = ended
            if first:
                seen.complete = not left
                break
    seen.seconds = time.monotonic() - began
    return seen


def played(
    arena: Arena, prefix: Sequence[Move] = (), asleep: frozenset[Move] = frozenset(), *, reduce: bool = False
) -> Play:
    """Play one schedule; whom a deadlock costs is up to the server, so where it chose otherwise, play it again."""
    for _ in range(TRIES):
        with suppress(Diverged):
            return Play(arena, reduce=reduce).run(prefix, asleep)
    return Play(arena, reduce=reduce).run(prefix, asleep)


def judged(arena: Arena, play: Play, invariants: Mapping[str, str | Callable[..., Any]]) -> Ended:
    """A schedule that was played, with what it broke."""
    return Ended(tuple(play.made), tuple(play.story), broken(arena, play, invariants))
