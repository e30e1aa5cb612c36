"""A payment's rows in the event log, heard from the statements on its connection: the code under study stays as it is.

It suits code that does its work in one transaction: what it claims is told at once; its effects and the saved answer
are told once it has returned, with the moment they were made: until its commit they may still be taken back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from simlib.live.tape import Try, Writer
from simlib.trace import NAN

STATEMENTS = {
    "claim": re.compile(r"\s*insert\s+into\s+(idempotency_keys|payment_keys)\b", re.IGNORECASE),
    "effect": re.compile(r"\s*insert\s+into\s+charges\b", re.IGNORECASE),
    "save": re.compile(r"\s*update\s+(idempotency_keys|payment_keys)\b", re.IGNORECASE),
}
"""Event to the statement that makes it happen, if it changes a row."""


@contextmanager
def hearing(conn: psycopg.Connection[Any], tape: Writer, about: Try) -> Iterator[None]:
    """Write `claim`, `effect` and `save` as the block's statements on `conn` make them; `crash` if it raises."""
    done: list[tuple[float, str, float]] = []

    class Hearing(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **how: Any) -> Any:
            event = _event(query)
            if event == "claim":
                done.clear()  # claiming again: what was done before was rolled back
            super().execute(query, params, **how)
            if event == "claim" and self.rowcount > 0:
                tape.add("database", "claim", about)
            elif event and self.rowcount > 0:
                done.append((time.monotonic(), event, _cents(params) if event == "effect" else NAN))
            return self

    usual, conn.cursor_factory = conn.cursor_factory, Hearing
    try:
        yield
    except psycopg.errors.AdminShutdown:  # told by whoever ended the session, and before anything came of it
        raise
    except psycopg.Error as error:
        tape.add("database", "crash", about, status=error.sqlstate or "")
        raise
    finally:
        conn.cursor_factory = usual
    for moment, event, value in done:
        tape.add("database", event, about, value=value, at=moment)


def call(fn: Callable[[psycopg.Connection[Any]], Any], conn: psycopg.Connection[Any], tape: Writer, about: Try) -> Any:
    """`fn(conn)`, told as a whole try: the phone sends, the server asks the database, the phone has its answer."""
    tape.add("phone", "send", about, peer="server")
    tape.add("server", "arrive", about, peer="phone")
    with hearing(conn, tape, about):
        answer = fn(conn)
    code = str(getattr(answer, "code", ""))
    if getattr(answer, "replayed", False):
        tape.add("database", "replay", about, status=code)
    elif code and not code.startswith("2"):
        tape.add("database", "refuse", about, status=code)
    tape.add("server", "reply", about, peer="phone", status=code)
    tape.add("phone", "receive", about, peer="server", status=code)
    return answer


def _event(query: Any) -> str | None:
    text = query if isinstance(query, str) else ""
    return next((event for event, statement in STATEMENTS.items() if statement.match(text)), None)


def _cents(params: Any) -> float:
    """The amount among a statement's parameters, if they have names."""
    return float(params.get("amount_cents", NAN)) if isinstance(params, dict) else NAN
