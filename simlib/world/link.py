"""The way between two parts: messages take time and some never arrive."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush

import numpy as np

from simlib.trace import NAN
from simlib.world.latency import Latency, stream
from simlib.world.luck import Draws, Luck, Numbers, Source
from simlib.world.message import Receiver, Reply, Request
from simlib.world.world import World

_SOON = 1e-12  # seconds; keeps the sign of a loss on a link that takes no time


class Link:
    """One direction of a network. Each message draws its own latency, so messages may overtake each other.

    `loss` is the share of messages that vanish, halfway: one rate, or a rate for each attempt in turn, of which the
    last holds for all later ones; `(1, 0)` loses every first try and nothing after it. `carries` says what is
    lost: `request` or `reply`. A link is laid first and connected to its far end when that stands.
    """

    def __init__(
        self,
        world: World,
        *,
        to: str,
        carries: str,
        latency: Latency,
        loss: float | Sequence[float] = 0.0,
        name: str = "network",
    ) -> None:
        rates = tuple(loss) if isinstance(loss, Sequence) else (loss,)
        if not rates or not all(0.0 <= rate <= 1.0 for rate in rates):
            raise ValueError(f"loss is {loss!r}; it takes a share from 0 to 1, or one for each attempt.")
        clock, recorder, luck = world.clock, world.recorder, world.luck
        self._heap = clock.heap
        self._numbers = clock.numbers
        self._rows = recorder.rows
        self._lost = recorder.kind(name, "lose", to, carries)
        self._delays = _delays(luck, f"{name} {carries} to {to}", latency, rates)
        self._tries = self._delays.tries
        self._deliver: Receiver = self._lose

    def connect(self, deliver: Receiver) -> None:
        """Say where messages come out."""
        self._deliver = deliver

    def send(self, now: float, message: Request | Reply) -> None:
        """Put a message on its way."""
        try:
            delay = self._tries[message[1]][message[0]]
        except IndexError:
            delay = self._delays.more(message[0], message[1])
        if delay >= 0.0:
            heappush(self._heap, (now + delay, 1, next(self._numbers), self._deliver, message))
        else:
            heappush(self._heap, (now - delay, 1, next(self._numbers), self._lose, message))

    def _lose(self, now: float, message: Request | Reply) -> None:
        self._rows.extend((now, self._lost, message[0], message[1], message[2], NAN))


def _delays(luck: Luck, purpose: str, latency: Latency, rates: Sequence[float]) -> Draws:
    """Latencies, and for a lost message minus the time after which it vanishes.

    Latency and loss are drawn apart, so a changed loss rate moves no message that arrives anyway.
    """

    def open_stream(attempt: int) -> Source:
        seconds = stream(luck, f"{purpose}: latency", latency, attempt)
        uniforms = luck.generator(f"{purpose}: loss", attempt).random
        rate = rates[min(attempt, len(rates)) - 1]

        def draw(n: int) -> Numbers:
            delays = seconds(n)
            return np.where(uniforms(n) < rate, -(delays / 2 + _SOON), delays)

        return seconds if rate == 0.0 else draw

    return Draws(open_stream)
