"""One table of keys in each of several regions, each told of the others' rows some time later."""

from __future__ import annotations

from collections.abc import Callable

from simlib.trace import NAN
from simlib.world.message import CREATED, Answer, Request
from simlib.world.world import World


class Replica:
    """A region's own table: claim, effect and saved answer in one transaction here, and a copy to the peer later.

    A copy takes `lag` seconds. When it brings a key for which this region has had an effect of its own, both have
    worked: with `reconcile` the younger one's effect is taken back, by the region that had it, once.
    """

    def __init__(
        self,
        world: World,
        *,
        lag: float,
        reconcile: bool = False,
        amount: float = 5000,
        answer: Answer = CREATED,
        name: str,
    ) -> None:
        if not lag >= 0.0:
            raise ValueError(f"lag is {lag!r}; a copy takes 0 seconds or more.")
        self.saved: dict[int, Answer] = {}
        self._own: dict[int, tuple[float, int, int]] = {}  # of each key it worked for: when, for whom, which try
        self._clock, self._rows, self._kind = world.clock, world.recorder.rows, world.recorder.kind
        self._lag, self._reconcile, self._amount, self._answer = lag, reconcile, amount, answer
        self.name = name
        self._heard = self._copy = -1
        self._tell: Callable[[float, tuple[Request, float]], None] | None = None
        kind = self._kind
        self._claim, self._effect = kind(name, "claim"), kind(name, "effect")
        self._save = kind(name, "save", "", answer.status)
        self._replay = kind(name, "replay", "", answer.status)
        self._undo = kind(name, "undo")

    def connect(self, peer: Replica) -> None:
        """Say which region this one tells of its rows, and hears of."""
        self._tell = peer.hear
        self._copy = self._kind(self.name, "copy", peer.name)
        self._heard = self._kind(self.name, "arrive", peer.name)

    def pay(self, now: float, request: Request) -> Answer:
        """The answer to a request: the saved one if its key is known here, by now."""
        number, attempt, key, _ = request
        saved = self.saved.get(key)
        if saved is not None:
            self._rows.extend((now, self._replay, number, attempt, key, NAN))
            return saved
        for kind, value in ((self._claim, NAN), (self._effect, self._amount), (self._save, NAN)):
            self._rows.extend((now, kind, number, attempt, key, value))
        self.saved[key] = self._answer
        self._own[key] = (now, number, attempt)
        if self._tell is not None:
            self._rows.extend((now, self._copy, number, attempt, key, NAN))
            self._clock.at(now + self._lag, self._tell, (request, now))
        return self._answer

    def hear(self, now: float, copied: tuple[Request, float]) -> None:
        """A row of the other region comes in, with the time at which it was written there."""
        (number, attempt, key, _), written = copied
        self._rows.extend((now, self._heard, number, attempt, key, NAN))
        self.saved.setdefault(key, self._answer)
        mine = self._own.get(key)
        if self._reconcile and mine is not None and mine[0] > written:
            self._rows.extend((now, self._undo, mine[1], mine[2], key, self._amount))
            del self._own[key]
