"""A message queue that delivers at least once: what is not confirmed in time is handed out again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from simlib.trace import NAN
from simlib.world.message import Receiver, Request
from simlib.world.world import World

Delivery: TypeAlias = tuple[int, int, int, float, int]
"""(message, delivery, key, published, copy): which message (the intent), which delivery of this copy (from 1), the
producer's id as a code, when it was published, and the broker's own number of this copy. A producer that publishes
twice makes two copies of one message: same key, other copy."""


@dataclass(slots=True)
class _Kept:
    """A copy in the queue: how often it was handed out, and until when it is hidden from consumers."""

    message: Request
    copy: int
    deliveries: int = 0
    hidden_until: float = 0.0


class Queue:
    """Keeps messages until a consumer confirms them.

    A message that is handed out is hidden for `visibility` seconds; if no ack has come by then it is handed out again,
    at most `most` times in all, after which it goes to `dead_letters`. At most `prefetch` messages are out at a time.
    An ack that comes late still removes the message. Sources: Amazon SQS developer guide, "Visibility timeout";
    RabbitMQ, "Quorum queues" (delivery limit) and "Consumer prefetch".
    """

    def __init__(
        self,
        world: World,
        *,
        deliver: Receiver,
        visibility: float = 30.0,
        most: float = inf,
        prefetch: float = inf,
        name: str = "broker",
        peer: str = "consumer",
    ) -> None:
        for word, value, least in (("visibility", visibility, 0), ("most", most, 1), ("prefetch", prefetch, 1)):
            if not value >= least:
                raise ValueError(f"Queue's {word} is {value!r}; it takes a number from {least} up.")
        self.dead_letters: list[Request] = []
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._deliver = deliver
        self._visibility = visibility
        self._most = most
        self._prefetch = prefetch
        self._ready: deque[_Kept] = deque()
        self._kept: dict[int, _Kept] = {}
        self._out = 0
        self._copies = 0
        kind = world.recorder.kind
        self._published = kind(name, "publish")
        self._first = kind(name, "deliver", peer)
        self._again = kind(name, "redeliver", peer)
        self._acked = kind(peer, "ack", name)
        self._nacked = kind(peer, "nack", name)
        self._dead = kind(name, "expire", "", "dead letter")

    def __len__(self) -> int:
        """Messages not yet confirmed, whether waiting or handed out."""
        return len(self._kept)

    def publish(self, now: float, message: Request) -> None:
        """Keep a message, and hand it out as soon as there is room."""
        kept = _Kept(message, self._copies)
        self._copies += 1
        self._kept[kept.copy] = kept
        self._rows.extend((now, self._published, message[0], message[1], message[2], NAN))
        self._ready.append(kept)
        self._hand_out(now)

    def ack(self, now: float, delivery: Delivery) -> None:
        """A consumer is done with a message: forget it. For one already forgotten nothing happens."""
        kept = self._kept.pop(delivery[4], None)
        if kept is not None:
            self._rows.extend((now, self._acked, delivery[0], delivery[1], delivery[2], NAN))
            self._back(now, kept)

    def nack(self, now: float, delivery: Delivery) -> None:
        """A consumer hands a message back: it may be handed out again at once."""
        kept = self._kept.get(delivery[4])
        if kept is not None and kept.hidden_until > now and kept.deliveries == delivery[1]:
            self._rows.extend((now, self._nacked, delivery[0], delivery[1], delivery[2], NAN))
            self._return(now, kept)

    def _hand_out(self, now: float) -> None:
        while self._ready and self._out < self._prefetch:
            kept = self._ready.popleft()
            if kept.copy not in self._kept:
                continue  # confirmed late, while it waited to be handed out again
            kept.deliveries += 1
            kept.hidden_until = now + self._visibility
            self._out += 1
            number, _, key, began = kept.message
            kind = self._first if kept.deliveries == 1 else self._again
            self._rows.extend((now, kind, number, kept.deliveries, key, NAN))
            if self._visibility < inf:
                self._clock.at(kept.hidden_until, self._appear, (kept, kept.deliveries))
            self._deliver(now, (number, kept.deliveries, key, began, kept.copy))

    def _appear(self, now: float, hidden: tuple[_Kept, int]) -> None:
        """The visibility timeout of a delivery has run out."""
        kept, deliveries = hidden
        if kept.copy in self._kept and kept.deliveries == deliveries and kept.hidden_until > 0.0:
            self._return(now, kept)

    def _return(self, now: float, kept: _Kept) -> None:
        if kept.deliveries >= self._most:
            del self._kept[kept.copy]
            self.dead_letters.append(kept.message)
            self._rows.extend((now, self._dead, kept.message[0], kept.deliveries, kept.message[2], NAN))
        else:
            self._ready.append(kept)
        self._back(now, kept)

    def _back(self, now: float, kept: _Kept) -> None:
        """A delivery is no longer out; there is room for another."""
        if kept.hidden_until > 0.0:
            kept.hidden_until = 0.0
            self._out -= 1
        self._hand_out(now)
