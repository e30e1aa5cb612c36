"""The card provider's own books: a SQLite file, so that what it has charged is kept whatever dies around it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_TABLES = """
create table if not exists charges (
    number integer primary key, amount_cents integer not null, reference text, made_at text default current_timestamp
);
create table if not exists keys (key text primary key, request text not null, status integer, body text);
"""

_CHARGES = """
select number, amount_cents, reference from charges
where :reference is null or reference = :reference order by number"""


class Claim(Enum):
    """What a key is to the provider."""

    NEW = "new"
    RUNNING = "running"
    MISMATCH = "mismatch"


@dataclass(frozen=True)
class Answer:
    """An answer as it was first given: status and body."""

    status: int
    body: str


class Books:
    """Charges and keys. Every method is one transaction, on the disk when it returns.

    Opening the books forgets the keys that nobody finished: whoever worked on them died with the last provider.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        with closing(sqlite3.connect(self._path)) as db:
            db.execute("pragma journal_mode = wal")
            db.executescript(_TABLES)
        with self._transaction() as db:
            db.execute("delete from keys where status is null")

    def claim(self, key: str, request: str) -> Claim | Answer:
        """Claim a key for a request, or say what it is already: running, for another request, or answered."""
        with self._transaction() as db:
            insert = "insert into keys (key, request) values (?, ?) on conflict (key) do nothing"
            if db.execute(insert, (key, request)).rowcount:
                return Claim.NEW
            stored, status, body = db.execute("select request, status, body from keys where key = ?", (key,)).fetchone()
        if stored != request:
            return Claim.MISMATCH
        return Claim.RUNNING if status is None else Answer(status, body)

    def save(self, key: str | None, answer: Answer) -> Answer:
        """Keep the first answer to a key (None: there is no key to keep it by)."""
        with self._transaction() as db:
            _save(db, key, answer)
        return answer

    def charge(self, key: str | None, cents: int, reference: str | None, answer: Callable[[str], Answer]) -> Answer:
        """Charge the card and keep the `answer` made from the charge's id: both or neither."""
        with self._transaction() as db:
            made = db.execute("insert into charges (amount_cents, reference) values (?, ?)", (cents, reference))
            first = answer(f"ch_{made.lastrowid}")
            _save(db, key, first)
        return first

    def charges(self, reference: str | None = None) -> list[tuple[str, int, str | None]]:
        """All charges (id, cents, reference) in order, or those that carry a reference."""
        with self._transaction() as db:
            rows = db.execute(_CHARGES, {"reference": reference}).fetchall()
        return [(f"ch_{number}", cents, name) for number, cents, name in rows]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=10)) as db, db:
            db.execute("begin immediate")
            yield db


def _save(db: sqlite3.Connection, key: str | None, answer: Answer) -> None:
    db.execute("update keys set status = ?, body = ? where key = ?", (answer.status, answer.body, key))
