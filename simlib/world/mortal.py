"""A server that dies and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from simlib.trace import NAN
from simlib.world.message import Receiver, Request
from simlib.world.server import Server
from simlib.world.world import World


class MortalServer(Server):
    """A server that is down in each of the windows `down` (from, until; seconds).

    When it dies, what waits in its line and what it is working on is gone: done, if the effect was done, and told to
    nobody. What arrives while it is down is lost. It comes back with an empty line. What it had committed is in the
    database, and stays. Everything else is as `Server` has it, and its arguments are passed on.
    """

    def __init__(
        self, world: World, *, down: Sequence[tuple[float, float]], name: str = "server", **server: Any
    ) -> None:
        super().__init__(world, name=name, **server)
        ends = [0.0, *(time for window in down for time in window)]
        if any(later < earlier for earlier, later in pairwise(ends)):
            raise ValueError(f"down is {tuple(down)!r}; it takes windows of two times, one after another.")
        self._note_crash = partial(world.recorder.add, actor=name, event="crash")
        self._at_the_door = world.recorder.kind(name, "lose", name, "down")
        self._in_hand = world.recorder.kind(name, "lose", name, "crash")
        self._up = True
        self._born(0)
        for dies, comes_back in down:
            world.clock.at(dies, self._die)
            world.clock.at(comes_back, self._come_back)

    def arrive(self, now: float, request: Request) -> None:
        if self._up:
            super().arrive(now, request)
        else:
            self._drop(now, self._at_the_door, request)

    def _born(self, life: int) -> None:
        """What is begun in this life is finished in it, or never."""
        self._life = life
        finish = self._finish if self._after is None else self._effect
        self._done = partial(self._if_alive, life, finish)
        self._leave = partial(self._if_alive, life, self._reply)

    def _die(self, now: float, _: None) -> None:
        self._note_crash(now)
        self._up = False
        self._born(self._life + 1)

    def _come_back(self, now: float, _: None) -> None:
        self._up = True
        self._free = [0.0] * len(self._free)
        self._starts.clear()

    def _if_alive(self, life: int, go_on: Receiver, now: float, message: Any) -> None:
        if life == self._life:
            go_on(now, message)
        else:
            self._drop(now, self._in_hand, message)

    def _drop(self, now: float, kind: int, message: Any) -> None:
        self._rows.extend((now, kind, message[0], message[1], message[2], NAN))
