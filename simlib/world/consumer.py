"""A consumer: works on one message after another, confirms them, remembers them or not, and may die in between.

What it does with a message are steps, each a moment of its own; a crash falls between two of them, and their order
decides whether the message is then lost, repeated, or neither.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

from simlib.trace import NAN
from simlib.world.broker import Delivery
from simlib.world.message import Receiver
from simlib.world.world import World

Ack = Literal["before", "after"]
Mark = Literal["none", "with", "before", "after"]
Step = Literal["ack", "mark", "effect", "mark and effect"]
Dies = Callable[[Delivery], int]
"""After how many of its steps the consumer dies with this delivery in hand; 0 for never."""


def steps(ack: Ack, mark: Mark) -> tuple[Step, ...]:
    """What is done with a message that is not known yet, in order.

    `mark` is when it is noted as handled: in one transaction `with` the effect, or in another store `before` or
    `after` it, or `none`. The ack comes `before` all of that or `after`.
    """
    by_mark: dict[Mark, tuple[Step, ...]] = {
        "none": ("effect",),
        "with": ("mark and effect",),
        "before": ("mark", "effect"),
        "after": ("effect", "mark"),
    }
    return ("ack", *by_mark[mark]) if ack == "before" else (*by_mark[mark], "ack")


def never(delivery: Delivery) -> int:
    """A consumer that does not die."""
    return 0


class Consumer:
    """Takes deliveries one at a time; each step takes `seconds`.

    A message that its inbox knows is skipped and confirmed. When it dies, what it had in hand and in its buffer is
    gone, and it comes back after `restart` seconds with the marks and effects it had committed. `amount` is the size
    of a message's effect, by its number; `identity` is what it dedups on: the producer's key (right) or the broker's
    copy (wrong: a message published twice is two copies).
    """

    def __init__(
        self,
        world: World,
        *,
        ack: Ack = "after",
        mark: Mark = "with",
        confirm: Receiver,
        amount: Callable[[int], float] = lambda number: 1.0,
        identity: Callable[[Delivery], int] = lambda delivery: delivery[2],
        dies: Dies = never,
        seconds: float = 0.1,
        restart: float = 1.0,
        name: str = "consumer",
        store: str = "database",
        marks: str = "database",
    ) -> None:
        self.balance = 0.0
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._steps = steps(ack, mark)
        self._remembers = mark != "none"
        self._confirm = confirm
        self._amount = amount
        self._identity = identity
        self._dies = dies
        self._seconds = seconds
        self._restart = restart
        self._seen: set[int] = set()
        self._buffer: deque[Delivery] = deque()
        self._busy = False
        self._life = 0
        kind = world.recorder.kind
        self._arrived = kind(name, "arrive", "broker")
        self._lost = kind(name, "lose", name, "message")
        self._skipped = kind(store, "skip")
        self._effect = kind(store, "effect")
        self._saved = kind(marks, "save", "", "seen")
        self._crashed = kind(name, "crash")

    def receive(self, now: float, delivery: Delivery) -> None:
        """The broker hands over a message; while the consumer is down it falls on the floor."""
        if self._life < 0:
            self._rows.extend((now, self._lost, delivery[0], delivery[1], delivery[2], NAN))
            return
        self._rows.extend((now, self._arrived, delivery[0], delivery[1], delivery[2], NAN))
        self._buffer.append(delivery)
        if not self._busy:
            self._next(now)

    def _next(self, now: float) -> None:
        self._busy = bool(self._buffer)
        if self._busy:
            self._clock.at(now + self._seconds, self._look, (self._life, self._buffer.popleft()))

    def _look(self, now: float, work: tuple[int, Delivery]) -> None:
        """Is this one known? Then confirm it again and leave it alone."""
        life, delivery = work
        if life != self._life:
            return
        if self._remembers and self._identity(delivery) in self._seen:
            self._rows.extend((now, self._skipped, delivery[0], delivery[1], delivery[2], NAN))
            self._confirm(now, delivery)
            self._next(now)
        else:
            self._do(now, (life, delivery, 0))

    def _do(self, now: float, work: tuple[int, Delivery, int]) -> None:
        life, delivery, at = work
        if life != self._life:
            return
        number, attempt, key, _, _ = delivery
        step = self._steps[at]
        if step == "ack":
            self._confirm(now, delivery)
        if "mark" in step:
            self._seen.add(self._identity(delivery))
            self._rows.extend((now, self._saved, number, attempt, key, NAN))
        if "effect" in step:
            self.balance += self._amount(number)
            self._rows.extend((now, self._effect, number, attempt, key, self._amount(number)))
        if at + 1 == self._dies(delivery):
            self._crash(now, delivery)
        elif at + 1 < len(self._steps):
            self._clock.at(now + self._seconds, self._do, (life, delivery, at + 1))
        else:
            self._next(now)

    def _crash(self, now: float, delivery: Delivery) -> None:
        self._rows.extend((now, self._crashed, delivery[0], delivery[1], delivery[2], NAN))
        self._life = -self._life - 1
        self._buffer.clear()
        self._clock.at(now + self._restart, self._come_back)

    def _come_back(self, now: float, _: None) -> None:
        self._life = -self._life
        self._busy = False
