"""Where effects happen, and where keys are kept so that they happen once."""

from __future__ import annotations

from simlib.trace import NAN
from simlib.world.message import CREATED, NO_KEY, Answer, Request
from simlib.world.world import World


class KeyStore:
    """A database that does claim, effect and saved answer in one transaction.

    The transaction is one moment of the simulation: whoever comes later with the same key finds the saved answer and
    gets it again; a request without a key has its effect every time. `amount` is the size of an effect, in cents.
    """

    def __init__(self, world: World, *, amount: float = 5000, answer: Answer = CREATED, name: str = "database") -> None:
        recorder = world.recorder
        self.saved: dict[int, Answer] = {}
        self._rows = recorder.rows
        self._amount = amount
        self._answer = answer
        self._claim = recorder.kind(name, "claim")
        self._effect = recorder.kind(name, "effect")
        self._save = recorder.kind(name, "save", "", answer.status)
        self._replay = recorder.kind(name, "replay", "", answer.status)

    def pay(self, now: float, request: Request) -> Answer:
        """The answer to a request: after the effect if it is new, the saved one if its key is known."""
        number, attempt, key, _ = request
        if key == NO_KEY:
            self._rows.extend((now, self._effect, number, attempt, key, self._amount))
            return self._answer
        saved = self.saved.get(key)
        if saved is not None:
            self._rows.extend((now, self._replay, number, attempt, key, NAN))
            return saved
        claim, effect, save = self._claim, self._effect, self._save
        # fmt: off
        self._rows.extend((now, claim, number, attempt, key, NAN,  # one flat tuple: joining three would cost six times
                           now, effect, number, attempt, key, self._amount,
                           now, save, number, attempt, key, NAN))
        # fmt: on
        self.saved[key] = self._answer
        return self._answer
