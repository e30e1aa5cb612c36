"""What stands beside the database in some exhibits: another store, a broker, a courier. New for every schedule."""

from __future__ import annotations

from dataclasses import dataclass


class Store:
    """A store of its own, such as a cache: marks that no transaction of the database covers."""

    def __init__(self) -> None:
        self._marks: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the mark is set."""
        return name in self._marks

    def mark(self, name: str) -> bool:
        """Set a mark; False if it was set already."""
        new = name not in self._marks
        self._marks.add(name)
        return new


@dataclass(frozen=True)
class Delivery:
    """A message as a broker hands it over: its own number, and the event's id as the producer gave it."""

    number: int
    event: str
    cents: int


class Broker:
    """An at-least-once broker with one message, which it delivers until somebody acknowledges it."""

    def __init__(self) -> None:
        self._acked = False
        self._deliveries = 0

    def take(self) -> Delivery | None:
        """The next delivery, or None when there is nothing left."""
        if self._acked:
            return None
        self._deliveries += 1
        return Delivery(self._deliveries, "evt-1", 500)

    def ack(self, delivery: Delivery) -> None:
        """Say that it need not come again."""
        self._acked = True


class Courier:
    """A service that sends parcels and keeps no keys: every call sends one."""

    def __init__(self) -> None:
        self._sent: list[str] = []

    def send(self, what: str) -> None:
        """Send it."""
        self._sent.append(what)

    def sent(self) -> list[str]:
        """What has been sent, in order."""
        return list(self._sent)
