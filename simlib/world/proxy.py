"""Something in the middle that retries by itself, unasked: a load balancer, a sidecar, an HTTP library."""

from __future__ import annotations

from simlib.trace import NAN
from simlib.world.message import GIVEN_UP, Kinds, Receiver, Reply, Request
from simlib.world.world import World


class Proxy:
    """Passes requests on as they are, key and all; without an answer in `per_try` seconds it sends them again.

    It makes at most `tries` of each request it was sent, counts its own tries by purchase (so that each has its own
    luck on the link behind), and hands the first answer back; after the last it says that there was none (503). What
    comes later is dropped.
    """

    def __init__(
        self,
        world: World,
        *,
        send: Receiver,
        answer: Receiver,
        per_try: float = 1.0,
        tries: int = 2,
        name: str = "proxy",
        above: str = "phone",
        below: str = "server",
    ) -> None:
        if not per_try > 0.0:
            raise ValueError(f"per_try is {per_try!r}; a proxy waits for more than 0 seconds.")
        if tries < 1:
            raise ValueError(f"tries is {tries!r}; a proxy makes 1 or more.")
        self._clock = world.clock
        self._rows = world.recorder.rows
        self._send = send
        self._answer = answer
        self._per_try = per_try
        self._tries = tries
        self._open: dict[tuple[int, int], Request] = {}  # by request and the proxy's own try: what was asked
        self._made: dict[int, int] = {}  # tries made, by request
        kind = world.recorder.kind
        self._arrived = kind(name, "arrive", above)
        self._sent = kind(name, "send", below)
        self._timeout = kind(name, "timeout", below)
        self._received = Kinds(world.recorder, name, "receive", below)
        self._replied = Kinds(world.recorder, name, "reply", above)
        self._late = kind(name, "receive", below, "late")

    def arrive(self, now: float, request: Request) -> None:
        """A request from above."""
        self._row(now, self._arrived, request)
        self._try(now, request, self._tries)

    def receive(self, now: float, reply: Reply) -> None:
        """An answer from below, to one of the proxy's own tries."""
        asked = self._open.pop(reply[:2], None)
        if asked is None:
            self._row(now, self._late, reply)
            return
        self._row(now, self._received[reply[4]], reply)
        self._reply(now, (*asked, reply[4]))

    def _try(self, now: float, asked: Request, left: int) -> None:
        number, _, key, began = asked
        mine = self._made[number] = self._made.get(number, 0) + 1
        self._open[number, mine] = asked
        self._row(now, self._sent, (number, mine, key, began))
        self._clock.at(now + self._per_try, self._time_out, ((number, mine), left - 1))
        self._send(now, (number, mine, key, began))

    def _time_out(self, now: float, waited: tuple[tuple[int, int], int]) -> None:
        (number, mine), left = waited
        asked = self._open.pop((number, mine), None)
        if asked is None:
            return
        self._row(now, self._timeout, (number, mine, asked[2], asked[3]))
        if left:
            self._try(now, asked, left)
        else:
            self._reply(now, (*asked, GIVEN_UP))

    def _reply(self, now: float, reply: Reply) -> None:
        self._row(now, self._replied[reply[4]], reply)
        self._answer(now, reply)

    def _row(self, now: float, kind: int, message: Request | Reply) -> None:
        self._rows.extend((now, kind, message[0], message[1], message[2], NAN))
