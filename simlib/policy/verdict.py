"""What a server does with a key it is shown: the decision, without the database."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Verdict(Enum):
    """What the key of a request means, once its stored row (if any) is known."""

    NEW = "new"
    """Never seen: claim it, do the work, save the answer."""
    RUNNING = "running"
    """Somebody works on it: wait for them, or answer 409."""
    REPLAY = "replay"
    """Finished: serve the saved answer, byte for byte."""
    MISMATCH = "mismatch"
    """The same key for another request: answer 422, whatever state the row is in."""


class Stored(Protocol):
    """What must be known of a stored key."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def finished(self) -> bool: ...


def verdict(stored: Stored | None, fingerprint: str) -> Verdict:
    """Which of the cases a request with this fingerprint is, given the row its key has (None: no row)."""
    if stored is None:
        return Verdict.NEW
    if stored.fingerprint != fingerprint:
        return Verdict.MISMATCH
    return Verdict.REPLAY if stored.finished else Verdict.RUNNING
