"""What befalls messages besides delay and loss: they come twice, or for a while they do not come at all.

Each of these stands between two parts and is called as either of them would be, so any number can follow another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simlib.trace import NAN
from simlib.world.latency import Constant, Latency, durations
from simlib.world.message import Receiver, Reply, Request, nowhere
from simlib.world.world import World

NewKey = Callable[[Request], int]
"""The code of the key that a copy carries."""


class Copies:
    """A network that sends some messages twice, or a person who taps twice.

    Of a message in `share` of all cases a copy goes `again` (by default where the message itself went), `after` it.
    A copy carries the key of the original, unless `key` gives another: a person whose second tap is a new purchase to
    the app. Put it behind a link to copy what arrives; put it before one, with a link of its own for the copies, to
    give them a luck of their own.
    """

    def __init__(
        self,
        world: World,
        *,
        send: Receiver,
        share: float,
        after: Latency | None = None,
        again: Receiver | None = None,
        key: NewKey | None = None,
        to: str = "server",
        name: str = "network",
    ) -> None:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share is {share!r}; the share of messages that come twice is from 0 to 1.")
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._send = send
        self._again = again or send
        self._share = share
        self._key = key
        self._chosen = world.luck.uniforms(f"{name} to {to}: copies")
        self._after = durations(world.luck, f"{name} to {to}: after", after or Constant(0.0))
        self._copied = world.recorder.kind(name, "copy", to)

    def send(self, now: float, message: Request) -> None:
        """A message passes, and perhaps a copy of it later."""
        number, attempt = message[0], message[1]
        self._send(now, message)
        if self._chosen.at(number, attempt) < self._share:
            copy = message if self._key is None else (number, attempt, self._key(message), message[3])
            self._clock.at(now + self._after.at(number, attempt), self._second, copy)

    def _second(self, now: float, copy: Request) -> None:
        self._rows.extend((now, self._copied, copy[0], copy[1], copy[2], NAN))
        self._again(now, copy)


class Partition:
    """A network that is cut from time to time: what is sent in one of the `windows` (from, until; seconds) is lost."""

    def __init__(
        self,
        world: World,
        *,
        send: Receiver,
        windows: Sequence[tuple[float, float]],
        to: str = "server",
        carries: str = "request",
        name: str = "network",
    ) -> None:
        for begin, end in windows:
            if not 0.0 <= begin <= end:
                raise ValueError(f"a window is {(begin, end)!r}; it takes two times from 0 up, the earlier one first.")
        self._rows = world.recorder.rows
        self._send = send
        self._windows = tuple(windows)
        self._lost = world.recorder.kind(name, "lose", to, carries)

    def send(self, now: float, message: Request | Reply) -> None:
        """A message passes, or is lost."""
        if any(begin <= now < end for begin, end in self._windows):
            self._rows.extend((now, self._lost, message[0], message[1], message[2], NAN))
        else:
            self._send(now, message)


class Hedge:
    """A client that does not wait for the slow ones: without an answer `after` some seconds it asks again.

    The second request is the same try with the same key, sent `again` on a way of its own; the answer that comes first
    counts. Only what may safely happen twice can be hedged. Answers pass through here, to `receive`.
    Source: Dean and Barroso, The Tail at Scale (CACM 2013); gRPC, request hedging.
    """

    def __init__(
        self, world: World, *, send: Receiver, again: Receiver, after: float, name: str = "phone", peer: str = "server"
    ) -> None:
        if not after >= 0.0:
            raise ValueError(f"after is {after!r}; a hedge waits 0 seconds or more.")
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._send = send
        self._again = again
        self._after = after
        self._open: set[tuple[int, int]] = set()
        self._answer: Receiver = nowhere
        self._copied = world.recorder.kind(name, "copy", peer)

    def connect(self, answer: Receiver) -> None:
        """Say who asked: where answers go."""
        self._answer = answer

    def send(self, now: float, request: Request) -> None:
        """A try goes out, and perhaps a second time later."""
        self._open.add(request[:2])
        self._clock.at(now + self._after, self._hedge, request)
        self._send(now, request)

    def receive(self, now: float, reply: Reply) -> None:
        """An answer comes: this try needs no second request."""
        self._open.discard(reply[:2])
        self._answer(now, reply)

    def _hedge(self, now: float, request: Request) -> None:
        if request[:2] in self._open:
            self._rows.extend((now, self._copied, request[0], request[1], request[2], NAN))
            self._again(now, request)
