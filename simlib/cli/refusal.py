"""What a command refuses, as one sentence."""

from __future__ import annotations

from simlib.knobs import KnobError
from simlib.live.pg.errors import PostgresError


class Refusal(Exception):
    """Something the user asked for that cannot be done; the message is one sentence with the mend in it."""


EXPECTED: tuple[type[Exception], ...] = (Refusal, KnobError, PostgresError, OSError)


def sentence(error: Exception) -> str:
    """The error as one sentence: its own words, or for the system's errors what happened to which file."""
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    return " ".join(str(error).split())
