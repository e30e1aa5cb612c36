"""Breaking things on purpose: named points in the code where a process may die, or stand still.

Code under study calls `faults.point("after-charge")` at each point in `POINTS`. What happens there is decided
outside: nothing (`OFF`, the default everywhere), death by SIGKILL (`CrashAt`), an exception that unwinds like a crash
and spares the notebook (`CrashAt(..., how="raise")`), or a stop until released (`HoldAt`). A real worker process arms
itself from its environment (`armed`), and only when that variable is set.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from typing import Literal, Protocol

VARIABLE = "SIMLIB_CRASH_AT"

POINTS: dict[str, str] = {
    "after-claim": "the key is committed as started; nobody holds its lease",
    "after-lease": "the lease is taken; the provider has heard nothing",
    "after-charge": "the provider has charged; no row here says so",
    "after-charged": "the recovery point `charged` is committed",
    "before-commit": "answer and receipt are written, not committed",
    "after-commit": "everything is committed; the caller has heard nothing",
    "after-publish": "the relay has published an outbox row and not marked it",
    "after-effect": "the consumer has done the work; its mark and ack are still to come",
    "before-ack": "the consumer has committed and not acknowledged",
}
"""Name of each crash point to what is true at that moment."""


class Crashed(BaseException):
    """A crash told as an exception. Not an `Exception`: no handler on the way may mistake it for an error to mend."""


class Faults(Protocol):
    """Whatever is told where the code has got to, and may let it go no further."""

    def point(self, name: str) -> None: ...


class Off:
    """No faults: every point is passed."""

    def point(self, name: str) -> None:
        pass


OFF = Off()


class CrashAt:
    """The process dies when it reaches `name` for the `nth` time.

    `how="kill"` sends SIGKILL to this very process: no handler, no `finally`, no buffer is flushed. `how="raise"`
    raises `Crashed` instead, for a cell that wants to look at what is left. ValueError for an unknown point.
    """

    def __init__(self, name: str, nth: int = 1, how: Literal["kill", "raise"] = "kill") -> None:
        self.name = _known(name)
        self.nth = nth
        self.how = how
        self._passed = 0

    def point(self, name: str) -> None:
        if name != self.name:
            return
        self._passed += 1
        if self._passed != self.nth:
            return
        if self.how == "raise":
            raise Crashed(f"crashed {name.replace('-', ' ')}: {POINTS[name]}")
        os.kill(os.getpid(), signal.SIGKILL)


class HoldAt:
    """A slow worker: it stands still at `name` the first time, until `release` is called.

    `reached` is set once it stands there. It goes on by itself after `limit` seconds, so a forgotten one ends.
    """

    def __init__(self, name: str, limit: float = 30.0) -> None:
        self.name = _known(name)
        self.limit = limit
        self.reached = threading.Event()
        self._released = threading.Event()

    def point(self, name: str) -> None:
        if name == self.name and not self.reached.is_set():
            self.reached.set()
            self._released.wait(self.limit)

    def release(self) -> None:
        self._released.set()


def armed(environment: Mapping[str, str] = os.environ) -> Faults:
    """What $SIMLIB_CRASH_AT asks of this process: `after-charge`, or `after-charge:2` for the second time."""
    words = environment.get(VARIABLE, "")
    if not words:
        return OFF
    name, _, count = words.partition(":")
    if count and not (count.isascii() and count.isdigit() and int(count) > 0):
        raise ValueError(f"${VARIABLE} is {words!r}; after the colon it takes which time, from 1 up.")
    return CrashAt(name, int(count or 1))


def _known(name: str) -> str:
    if name not in POINTS:
        raise ValueError(f"{name!r} is not a crash point; they are {', '.join(POINTS)}.")
    return name
