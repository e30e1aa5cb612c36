"""A relay: reads the outbox and publishes what stands in it, at least once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from simlib.trace import NAN
from simlib.world.message import Receiver, Request
from simlib.world.world import World

Dies = Callable[[Request, int], bool]
"""Whether the relay dies after it has published a message for the n-th time (from 1), before it notes that."""


class Relay:
    """Publishes committed messages in their order, one in `seconds`; each is noted as sent after it was published.

    Between the two it may die. After `restart` seconds it begins with the first that is not noted, so that one is
    published again: a copy to the broker, the same key to whoever dedups on it. Source: Richardson, Microservices
    Patterns (2018), "Transactional outbox" and "Polling publisher".
    """

    def __init__(
        self,
        world: World,
        *,
        publish: Receiver,
        dies: Dies = lambda message, time: False,
        seconds: float = 0.1,
        restart: float = 1.0,
        name: str = "relay",
        store: str = "database",
    ) -> None:
        for word, value in (("seconds", seconds), ("restart", restart)):
            if not value > 0.0:
                raise ValueError(f"Relay's {word} is {value!r}; it takes more than 0 seconds.")
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._publish = publish
        self._dies = dies
        self._seconds = seconds
        self._restart = restart
        self._unsent: deque[Request] = deque()
        self._times = 0  # that the first of them was published
        self._busy = False
        kind = world.recorder.kind
        self._written = kind(store, "save", "", "outbox")
        self._sent = kind(name, "send", "broker")
        self._noted = kind(store, "save", "", "sent")
        self._crashed = kind(name, "crash")

    def __len__(self) -> int:
        """Messages that are not noted as sent yet."""
        return len(self._unsent)

    def write(self, now: float, message: Request) -> None:
        """A transaction has committed with this message in its outbox."""
        self._row(now, self._written, message)
        self._unsent.append(message)
        if not self._busy:
            self._busy = True
            self._clock.at(now + self._seconds, self._send)

    def _send(self, now: float, _: None) -> None:
        message = self._unsent[0]
        self._times += 1
        self._row(now, self._sent, message)
        self._publish(now, message)
        if self._dies(message, self._times):
            self._row(now, self._crashed, message)
            self._clock.at(now + self._restart, self._send)
        else:
            self._clock.at(now + self._seconds, self._note)

    def _note(self, now: float, _: None) -> None:
        self._row(now, self._noted, self._unsent.popleft())
        self._times = 0
        self._busy = bool(self._unsent)
        if self._busy:
            self._send(now, None)

    def _row(self, now: float, kind: int, message: Request) -> None:
        self._rows.extend((now, kind, message[0], message[1], message[2], NAN))
