"""Who waits for whom: PostgreSQL's own answer, from `pg_stat_activity` and `pg_blocking_pids`, while they wait."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from simlib.table import Table

LOOK = """
select pid, pg_blocking_pids(pid), wait_event_type, wait_event, query
from pg_stat_activity
where pid <> pg_backend_pid() and state <> 'idle'
  and case when %(pids)s::int[] is null
      then application_name = current_setting('application_name') else pid = any(%(pids)s) end
order by xact_start, pid"""


@dataclass(frozen=True)
class Session:
    """A session in the middle of a statement or a transaction.

    `blockers` are the process numbers of the sessions that must end their transactions before it can go on; `event` is
    what the server says it waits for (`Lock: transactionid`), empty if for nothing; `statement` is its SQL in one line.
    """

    pid: int
    blockers: tuple[int, ...]
    event: str
    statement: str

    @property
    def waits(self) -> bool:
        """Whether another session stands in its way."""
        return bool(self.blockers)


def sessions(conn: psycopg.Connection[Any], pids: Collection[int] | None = None) -> tuple[Session, ...]:
    """The sessions at work now, in the order of `queue`.

    Without `pids`, all others that call themselves by this connection's application name (its schema).
    """
    rows = conn.execute(LOOK, {"pids": None if pids is None else list(pids)}).fetchall()
    return queue(
        Session(pid, tuple(blockers), f"{kind}: {event}" if kind == "Lock" else "", " ".join(query.split()))
        for pid, blockers, kind, event, query in rows
    )


def queue(seen: Iterable[Session]) -> tuple[Session, ...]:
    """Sessions in order: each after all those that it waits for; sessions in a circle keep their places at the end."""
    left = list(seen)
    ordered: list[Session] = []
    while left:
        waited_for = {s.pid for s in left}
        free = [s for s in left if waited_for.isdisjoint(s.blockers)] or left
        ordered += free
        left = [s for s in left if s not in free]
    return tuple(ordered)


def waiting(conn: psycopg.Connection[Any], pids: Collection[int] | None = None) -> Table:
    """The sessions at work now, as a table that says the same each time it shows the same: see `table`."""
    return table(sessions(conn, pids))


def table(seen: Sequence[Session]) -> Table:
    """Sessions as rows, numbered from 1 in place of their process numbers, which differ from run to run."""
    number = {s.pid: i for i, s in enumerate(seen, 1)}
    rows = [(number[s.pid], whom(s, number), s.event, _short(s.statement)) for s in seen]
    return Table(
        ("session", "waits for", "event", "statement"),
        tuple((n, blockers, event if blockers else "", statement) for n, blockers, event, statement in rows),
    )


def whom(session: Session, number: dict[int, int]) -> str:
    """The numbers of those a session waits for: `1`, `1, 2`; empty if none of the numbered stands in its way."""
    return ", ".join(str(n) for n in sorted({number[b] for b in session.blockers if b in number}))


def _short(statement: str) -> str:
    return statement if len(statement) <= 60 else f"{statement[:59]}…"
