"""Many wishes, one deed: while a slider is dragged only its newest value is worth a picture."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any


class Latest:
    """Does a job once for a burst of wishes.

    In a kernel each move of a slider is a message, and messages queue up while a picture is drawn. So a wish only
    notes that there is something to do; the job runs when no new wish has come for `settle` seconds, at the latest
    `patience` seconds after the first one, and then reads the newest values. Where no event loop runs (a script, a
    test) it runs at once.
    """

    def __init__(
        self,
        job: Callable[[], None],
        *,
        settle: float = 0.004,
        patience: float = 0.05,
        loop: Callable[[], Any] = asyncio.get_running_loop,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job = job
        self._settle = settle
        self._patience = patience
        self._loop = loop
        self._now = now
        self._due: Any = None
        self._since = 0.0

    @property
    def waiting(self) -> bool:
        """Whether a wish has not been fulfilled yet."""
        return self._due is not None

    def ask(self) -> None:
        """Wish for the job to be done, with the values as they will be then."""
        try:
            loop = self._loop()
        except RuntimeError:
            self._job()
            return
        now = self._now()
        if self._due is None:
            self._since = now
        else:
            self._due.cancel()
        left = self._since + self._patience - now
        self._due = loop.call_later(max(0.0, min(self._settle, left)), self.flush)

    def flush(self) -> None:
        """Do the job now if it is wished for."""
        if self._due is not None:
            self.drop()
            self._job()

    def drop(self) -> None:
        """Forget the wish."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
