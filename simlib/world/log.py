"""A log in partitions, read by position: what was read after the last commit is read again by whoever comes next."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from simlib.trace import NAN
from simlib.world.broker import Delivery
from simlib.world.message import Receiver, Request
from simlib.world.world import World


class Partition:
    """One ordered slice of a log, and the reader that owns it now.

    The reader is handed one message after the other, `every` seconds apart, and goes on from `committed` when it
    takes over. With `auto_commit` (seconds) the position *handed out* is committed so often, done or not; else it is
    committed as far as the reader has said `done` without a gap. Source: Apache Kafka documentation, consumer
    configuration (`enable.auto.commit`, `auto.commit.interval.ms`) and "Offset Management".
    """

    def __init__(
        self,
        world: World,
        *,
        deliver: Receiver,
        every: float = 0.1,
        auto_commit: float | None = None,
        name: str = "broker",
        peer: str = "consumer",
    ) -> None:
        if not 0.0 < every < inf or (auto_commit is not None and not 0.0 < auto_commit < inf):
            raise ValueError(f"every is {every!r} and auto_commit {auto_commit!r}; both take seconds above 0.")
        self.committed = 0
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._deliver = deliver
        self._every = every
        self._auto = auto_commit
        self._log: list[Request] = []
        self._times_read: list[int] = []
        self._position = 0
        self._done: set[int] = set()
        self._owner = 0
        self._reading = False
        kind = world.recorder.kind
        self._published = kind(name, "publish")
        self._first = kind(name, "deliver", peer)
        self._again = kind(name, "redeliver", peer)
        self._commit_row = kind(peer, "ack", name, "offset")
        self._moved = kind(name, "take_over", peer)

    def publish(self, now: float, message: Request) -> None:
        """Append a message; its offset is its place, from 0."""
        self._log.append(message)
        self._times_read.append(0)
        self._rows.extend((now, self._published, message[0], message[1], message[2], NAN))
        self._read_on(now)

    def done(self, now: float, delivery: Delivery) -> None:
        """The reader has finished a message. What is done without a gap is committed, unless that goes by time."""
        offset = delivery[4]
        self._done.add(offset)
        if self._auto is None:
            upto = self.committed
            while upto in self._done:
                upto += 1
            self._commit(now, upto)

    def rebalance(self, now: float) -> None:
        """Another reader takes the partition over and goes on from the last commit."""
        self._owner += 1
        self._position = self.committed
        self._done = {offset for offset in self._done if offset < self.committed}
        self._reading = False
        self._rows.extend((now, self._moved, -1, 0, -1, float(self.committed)))
        self._read_on(now)

    def start(self, now: float) -> None:
        """Begin to commit by time, where that is asked for; call it once."""
        if self._auto is not None:
            self._clock.at(now + self._auto, self._tick, None)

    def _tick(self, now: float, _: None) -> None:
        assert self._auto is not None
        self._commit(now, self._position)
        if self._position < len(self._log):
            self._clock.at(now + self._auto, self._tick, None)

    def _commit(self, now: float, upto: int) -> None:
        if upto > self.committed:
            number, attempt, key, _ = self._log[upto - 1]
            self._rows.extend((now, self._commit_row, number, attempt, key, float(upto)))
            self.committed = upto

    def _read_on(self, now: float) -> None:
        if not self._reading and self._position < len(self._log):
            self._reading = True
            self._clock.at(now + self._every, self._read, self._owner)

    def _read(self, now: float, owner: int) -> None:
        if owner != self._owner:
            return
        offset = self._position
        self._position += 1
        self._times_read[offset] += 1
        times = self._times_read[offset]
        number, _, key, began = self._log[offset]
        self._rows.extend((now, self._first if times == 1 else self._again, number, times, key, NAN))
        self._reading = False
        self._read_on(now)
        self._deliver(now, (number, times, key, began, offset))


def partitioned(partitions: list[Partition]) -> Callable[[float, Request], None]:
    """Publish to the partition that a message's key belongs to, so messages of one key keep their order."""

    def publish(now: float, message: Request) -> None:
        partitions[message[2] % len(partitions)].publish(now, message)

    return publish
