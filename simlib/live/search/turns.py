"""Sessions that take turns: each runs its function in a thread of its own, and goes only when it is told to."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Crashed(BaseException):
    """The process died here. Not an `Exception`: no handler of the function under study runs in a dead process."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a session stands before it does something that others can see or be seen by.

    `kind`: `sql`, `begin`, `commit`, `rollback` or `part` (a call to something that is not the database); `text` is the
    statement or the call. `implicit`: the statement begins a transaction by itself. `losable`: its answer may get lost.
    """

    kind: str
    text: str
    isolation: int | None = None
    implicit: bool = False
    losable: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call of the function ended: with a value, with an error, or in a crash."""

    value: Any = None
    error: BaseException | None = None

    @property
    def crashed(self) -> bool:
        return isinstance(self.error, Crashed)


GO, CRASH, UNHEARD = "go", "crash", "unheard"


class Session:
    """One session. The conductor calls `start`, `go` and `arrived`; the function's side calls `pause`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.point: Point | None = None
        self.answer: Answer | None = None
        self.rows = -1  # how many rows the last statement says it touched; -1 where that makes no sense
        self._job: Callable[[], Any] | None = None
        self._order = GO
        self._go = threading.Lock()
        self._came = threading.Lock()
        self._go.acquire()
        self._came.acquire()
        self._thread = threading.Thread(target=self._work, name=f"simlib session {number}", daemon=True)
        self._thread.start()

    def start(self, job: Callable[[], Any]) -> None:
        """Begin a call; it runs to its first point."""
        self.answer = None
        self.point = None
        self._job = job
        self._order = GO
        self._go.release()

    def go(self, order: str = GO) -> None:
        """Go on from the point to the next one, or crash here."""
        self.point = None
        self._order = order
        self._go.release()

    def arrived(self, seconds: float) -> bool:
        """Whether it has come to a point or ended; waits for it that long."""
        return self._came.acquire(timeout=seconds) if seconds else self._came.acquire(blocking=False)

    def pause(self, point: Point) -> str:
        """Stand at a point until told to go on; returns the order. `Crashed` when the order is to die."""
        if self._order == CRASH:
            raise Crashed
        self.point = point
        self._came.release()
        self._go.acquire()
        if self._order == CRASH:
            raise Crashed
        return self._order

    def alone(self, job: Callable[[], Any]) -> Answer:
        """Make a call with nobody beside it, and wait for its end; its connection must not ask for turns."""
        self.start(job)
        self._came.acquire()
        assert self.answer is not None
        return self.answer

    def close(self) -> None:
        """End the thread; only when no call is under way."""
        self._job = None
        self._go.release()
        self._thread.join()

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            while True:
                self._go.acquire()
                if self._job is None:
                    return
                self.answer = _ended(self._job, runner)
                self._came.release()


def _ended(job: Callable[[], Any], runner: asyncio.Runner) -> Answer:
    try:
        value = job()
        return Answer(runner.run(value) if inspect.iscoroutine(value) else value)
    except BaseException as error:  # whatever it raises is how it ended
        return Answer(error=error)
