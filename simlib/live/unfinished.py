"""A client's own memory of its intents: which key each has, kept in a file before the first try is sent.

A phone that restarts must retry with the same key, so the key is written down first. The claim is the lesson's own:
insert, and if the intent is already there, take the key that it has.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

KEEP = 24 * 3600.0  # seconds a finished intent is remembered: as long as servers keep keys

_COLUMNS = "intent, key, path, body"
_TABLE = """
create table if not exists intents (
    intent text primary key, key text not null, path text not null, body blob not null, answered real
)"""


@dataclass(frozen=True)
class Intent:
    """One thing a person wants done: its name, the key it is asked for with, and the request."""

    name: str
    key: str
    path: str
    body: bytes


class ChangedIntent(ValueError):
    """The same intent with another request: a client's mistake, told before anything is sent."""


class Unfinished:
    """The file. Several processes may share it."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        with self._open() as db:
            db.execute(_TABLE)

    def claim(self, intent: Intent) -> Intent:
        """The intent of that name with the key it has had from the start; `intent` itself if it is new.

        It is on the disk when this returns. `ChangedIntent` if that name stands for another request.
        """
        with self._open() as db:
            db.execute("delete from intents where answered < ?", (time.time() - KEEP,))
            db.execute(
                "insert into intents values (?, ?, ?, ?, null) on conflict (intent) do nothing",
                (intent.name, intent.key, intent.path, intent.body),
            )
            row = db.execute(f"select {_COLUMNS} from intents where intent = ?", (intent.name,)).fetchone()
        kept = Intent(*row)
        if (kept.path, kept.body) != (intent.path, intent.body):
            raise ChangedIntent(
                f"The intent {intent.name!r} was begun with another request; give a new purchase a name of its own."
            )
        return kept

    def answered(self, intent: Intent) -> None:
        """It has a final answer: there is nothing left to finish."""
        with self._open() as db:
            db.execute("update intents set answered = ? where intent = ?", (time.time(), intent.name))

    def left(self) -> list[Intent]:
        """The intents without a final answer, oldest first."""
        with self._open() as db:
            rows = db.execute(f"select {_COLUMNS} from intents where answered is null order by rowid").fetchall()
        return [Intent(*row) for row in rows]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction: committed when the block ends well, closed however it ends."""
        with closing(sqlite3.connect(self._path, timeout=10)) as db, db:
            yield db
