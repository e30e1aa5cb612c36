"""psycopg connections whose every round trip is a point where another session may go first.

In psycopg 3 all that reaches the server passes through `Connection.wait`, so the function under study runs unchanged.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import waiting
from psycopg.pq import TransactionStatus
from psycopg.sql import Composable

from simlib.live.search.turns import Point, Session

IDLE = TransactionStatus.IDLE


class Stepped(psycopg.Connection[Any]):
    """A connection that asks its session for the turn before every round trip."""

    session: Session | None = None

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        if self.session is None:
            return super().wait(gen, *args, **kwargs)
        point = describe(gen, self)
        if point is not None:
            self.session.pause(point)
        cursor = gen.gi_frame.f_locals.get("self")
        result = super().wait(gen, *args, **kwargs)
        self.session.rows = getattr(cursor, "rowcount", -1)
        return result

    def __del__(self, __warn: Any = None) -> None:
        """Nothing: what it wraps is kept for the next schedule."""


class SteppedAsync(psycopg.AsyncConnection[Any]):
    """The same for asyncio. Each session has a loop of its own, so it may stand still in the middle of a round trip."""

    session: Session | None = None

    async def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        if self.session is None:
            return await super().wait(gen, *args, **kwargs)
        point = describe(gen, self)
        if point is not None:
            self.session.pause(point)
        cursor = gen.gi_frame.f_locals.get("self")
        result = waiting.wait(gen, self.pgconn.socket)
        self.session.rows = getattr(cursor, "rowcount", -1)
        return result

    def __del__(self, __warn: Any = None) -> None:
        """Nothing: what it wraps is kept for the next schedule."""


def dress(pgconn: Any, session: Session, isolation: int | None, is_async: bool) -> Stepped | SteppedAsync:
    """A connection as new, in autocommit mode, around a libpq connection that is used again and again."""
    conn = (SteppedAsync if is_async else Stepped)(pgconn)
    conn._autocommit = True  # as `connect(autocommit=True)` does
    conn.prepare_threshold = None
    conn._isolation_level = None if isolation is None else psycopg.IsolationLevel(isolation)
    conn.session = session
    return conn


def describe(gen: Any, conn: Any) -> Point | None:
    """What a generator of psycopg's is about to do, read from its arguments; None if it does not reach the server."""
    local = gen.gi_frame.f_locals
    status = conn.pgconn.transaction_status
    match gen.__name__:
        case "_enter_gen":
            return _point("begin", "BEGIN", conn) if status == IDLE else _point("sql", "SAVEPOINT", conn)
        case "_exit_gen" if hasattr(local.get("self"), "_outer_transaction"):
            block = local["self"]
            undo = local["exc_val"] is not None or block.force_rollback
            if block._outer_transaction:
                return _point("rollback", "ROLLBACK", conn) if undo else _point("commit", "COMMIT", conn)
            return _point("sql", "ROLLBACK TO SAVEPOINT" if undo else "RELEASE SAVEPOINT", conn)
        case "_commit_gen":
            return None if status == IDLE else _point("commit", "COMMIT", conn)
        case "_rollback_gen":
            return None if status == IDLE else _point("rollback", "ROLLBACK", conn)
        case name if name.startswith("_set_"):
            return None
    query = local.get("query", local.get("statement", gen.__name__))
    text = _text(query, conn)
    kind = {"begin": "begin", "start": "begin", "commit": "commit", "end": "commit", "rollback": "rollback"}.get(
        text.split(maxsplit=1)[0].lower().rstrip(";") if text else "", "sql"
    )
    if kind == "rollback" and " to " in f" {text.lower()} ":
        kind = "sql"
    return _point(kind, text, conn, implicit=status == IDLE and not conn.autocommit)


def _point(kind: str, text: str, conn: Any, *, implicit: bool = False) -> Point:
    level = conn._isolation_level
    return Point(kind, text, None if level is None else int(level), implicit)


def _text(query: Any, conn: Any) -> str:
    if isinstance(query, bytes):
        query = query.decode()
    elif isinstance(query, Composable):
        query = query.as_string(conn)
    return " ".join(str(query).split())
