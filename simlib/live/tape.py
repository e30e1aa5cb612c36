"""The event log of a real run: the same rows as the simulator's, on one clock, from any thread and any process.

What ties a try's rows together travels in two request headers: which intent it belongs to (`X-Request-Id`) and which
try it is (`X-Attempt`). They are for logs and pictures only; nothing is decided by them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from simlib.trace import NONE, Recorder, Trace

INTENT = "x-request-id"
ATTEMPT = "x-attempt"


@dataclass(frozen=True)
class Try:
    """Which try of which intent an event belongs to, and the key it carried."""

    intent: str | None = None
    attempt: int = 0
    key: str | None = None


NOBODY = Try()


class Writer(Protocol):
    """Where a part tells what has happened: now, or `at` a moment of `time.monotonic` it had to keep to itself."""

    def add(
        self,
        actor: str,
        event: str,
        about: Try,
        peer: str = "",
        status: str = "",
        value: float | None = None,
        at: float | None = None,
    ) -> None: ...


class NoTape:
    """Nobody listens."""

    def add(
        self,
        actor: str,
        event: str,
        about: Try,
        peer: str = "",
        status: str = "",
        value: float | None = None,
        at: float | None = None,
    ) -> None:
        pass


NO_TAPE = NoTape()


class Tape:
    """A log being written. Times are seconds on the system's monotonic clock, which all processes share.

    With a `path`, rows go to that file, a line each, so that worker processes given the same path write one log and
    what a killed one wrote is kept.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._rows: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def add(
        self,
        actor: str,
        event: str,
        about: Try,
        peer: str = "",
        status: str = "",
        value: float | None = None,
        at: float | None = None,
    ) -> None:
        moment = time.monotonic() if at is None else at
        row = {"time": moment, "actor": actor, "event": event, "peer": peer, "status": status}
        row |= {"intent": about.intent, "attempt": about.attempt, "key": about.key, "value": value}
        with self._lock:
            if self._path is None:
                self._rows.append(row)
            else:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")

    def trace(self) -> Trace:
        """What has been written so far. Time 0 is the first event; intents are numbered as they first appear."""
        recorder = Recorder()
        rows = sorted(self._read(), key=lambda row: row["time"])
        intents: dict[str, int] = {}
        for row in rows:
            intent, value = row["intent"], row["value"]
            recorder.add(
                row["time"] - rows[0]["time"],
                row["actor"],
                row["event"],
                request=NONE if intent is None else intents.setdefault(intent, len(intents)),
                key=row["key"],
                attempt=row["attempt"],
                peer=row["peer"],
                status=row["status"],
                value=float("nan") if value is None else value,
            )
        return recorder.freeze()

    def _read(self) -> list[dict[str, Any]]:
        with self._lock:
            if self._path is None:
                return list(self._rows)
            if not self._path.exists():
                return []
            lines = self._path.read_text(encoding="utf-8").splitlines()
            return [json.loads(line) for line in lines]


def about(headers: Mapping[str, str]) -> Try:
    """Which try a request is, as its headers tell; what they do not tell, or tell oddly, is left open."""
    attempt = headers.get(ATTEMPT, "")
    number = int(attempt) if attempt.isascii() and attempt.isdigit() and len(attempt) < 5 else 0
    key = headers.get("idempotency-key")
    return Try(headers.get(INTENT) or key, number, key)
