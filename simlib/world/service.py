"""A service in the middle: what it is asked it asks the next one, with a retry policy of its own."""

from __future__ import annotations

from simlib.policy.retry import Policy
from simlib.trace import NAN
from simlib.world.client import Client
from simlib.world.message import Kinds, Receiver, Reply, Request
from simlib.world.world import World


class Service:
    """Each request from above becomes a call of its own below; when that has ended, above is answered.

    Every try from above is a new call here, with tries of its own: so retries multiply from layer to layer. Its own
    work takes no time. It does not know whether the one above still waits.
    """

    def __init__(
        self, world: World, *, policy: Policy, send: Receiver, answer: Receiver, name: str, above: str, below: str
    ) -> None:
        self.client = Client(world, policy=policy, send=send, ended=self._ended, name=name, peer=below)
        self._answer = answer
        self._asked: list[Request] = []  # by the number of the call that was made of it
        self._rows = world.recorder.rows
        self._arrived = world.recorder.kind(name, "arrive", above)
        self._replied = Kinds(world.recorder, name, "reply", above)

    def arrive(self, now: float, request: Request) -> None:
        """A request from above: call below."""
        self._rows.extend((now, self._arrived, request[0], request[1], request[2], NAN))
        self._asked.append(request)
        self.client.begin(now, len(self._asked) - 1)

    def _ended(self, now: float, reply: Reply) -> None:
        number, attempt, key, began = self._asked[reply[0]]
        self._rows.extend((now, self._replied[reply[4]], number, attempt, key, NAN))
        self._answer(now, (number, attempt, key, began, reply[4]))
