"""Where schedules are played: a schema of its own on a real server, made as new again between two schedules.

The schema belongs to the search alone and is marked as in use by an advisory lock of its watching connection. A search
that was killed holds no lock any more, so the next one drops what it left.
"""

from __future__ import annotations

import os
import secrets
import select
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ConnStatus, TransactionStatus

from simlib.live.pg import schemas

PREFIX = "simlib_explore_"
LOCK_TIMEOUT = "30s"  # between schedules nobody holds a lock; should somebody, this is better than waiting for ever
FRESH = 400  # schedules after which tables are truncated, so that the dead rows of deletes do not pile up
Schema = str | Path | Callable[[psycopg.Connection[Any]], Any] | None

RESET = """
create function pg_temp.reset() returns bool language plpgsql as $body$
begin
{deletes}
{refills}
perform setval(seq, start, called) from pg_temp.sequences_at_start;
return ({objects}) = {count};
end $body$"""

OBJECTS = """
select (select count(*) from pg_depend where refclassid = 'pg_namespace'::regclass and refobjid = {space})
    + (select count(*) from pg_index where indrelid = any ('{tables}'::oid[]))"""
"""How many tables, sequences, functions and indexes a schema has, by indexes of the catalogue: pg_class has none."""


class Ground:
    """A schema for schedules, the connection that watches over it, and libpq connections for the sessions."""

    def __init__(self, dsn: str, schema: Schema = None, seed: str = "") -> None:
        self.name = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
        self._dsn = _on_path(dsn, self.name)
        self.watch = psycopg.connect(self._dsn, autocommit=True, prepare_threshold=None)
        self._spare: dict[int, Any] = {}
        self._played = 0
        try:
            schemas.hold(self.watch, self.name)
            _sweep(self.watch)
            self._make(schema, seed)
            self.watch.prepare_threshold = 0
        except BaseException:
            self.close()
            raise

    def _make(self, schema: Schema, seed: str) -> None:
        if schema is None:
            schemas.create(self.watch, self.name)
        else:
            self.watch.execute(sql.SQL("create schema {}").format(sql.Identifier(self.name)))
            if callable(schema):
                schema(self.watch)
            else:
                text = schema.read_text(encoding="utf-8") if isinstance(schema, Path) else schema
                self.watch.execute(text.encode())
        if seed:
            self.watch.execute(seed.encode())
        space = self._one("select oid from pg_namespace where nspname = %s", self.name)
        rows = self.watch.execute(
            "select relname from pg_class where relnamespace = %s and relkind in ('r', 'p') order by 1", [space]
        )
        self.tables = [name for (name,) in rows]
        self._superuser = self._one("select rolsuper from pg_roles where rolname = current_user")
        self._remember(space)

    def _remember(self, space: int) -> None:
        """Keep the rows and sequences of the start, and a function that brings them back."""
        self.watch.execute("create temp table sequences_at_start (seq regclass, start bigint, called bool)")
        found = self.watch.execute(
            "select oid::regclass::text from pg_class where relnamespace = %s and relkind = 'S'", [space]
        ).fetchall()
        for (name,) in found:
            start = f"select '{name}'::regclass, last_value, is_called from {name}"
            self.watch.execute(f"insert into pg_temp.sequences_at_start {start}".encode())
        deletes, refills = [], []
        for table in self.tables:
            name = f"{_quoted(self.name)}.{_quoted(table)}"
            deletes.append(f"if exists (select from {name}) then delete from {name}; end if;")
            if self._one(f"select exists (select from {name})"):
                kept = _quoted(f"start of {table}")
                self.watch.execute(f"create temp table {kept} as table {name}".encode())
                refills.append(f"insert into {name} overriding system value select * from pg_temp.{kept};")
        self._truncate = f"truncate {', '.join(map(_quoted, self.tables))}" if self.tables else "select"
        tables = self._one(
            "select array_agg(oid) from pg_class where relnamespace = %s and relkind in ('r', 'p')", space
        )
        objects = OBJECTS.format(space=space, tables="{" + ",".join(map(str, tables or [])) + "}")
        if not self._superuser:  # foreign keys and triggers would stand in the way of deletes
            deletes = [f"{self._truncate};"]
        text = RESET.format(
            deletes="\n".join(deletes), refills="\n".join(refills), objects=objects, count=self._one(objects)
        )
        self.watch.execute(text.encode())
        if self._superuser:
            self.watch.execute("set session_replication_role = replica")
        self.watch.execute("set synchronous_commit = off")
        self.watch.execute(f"set lock_timeout = '{LOCK_TIMEOUT}'".encode())

    def reset(self) -> None:
        """Rows and sequences as they were at the start."""
        self._played += 1
        if self._superuser and self._played % FRESH == 0:
            self.watch.execute(self._truncate.encode())
        try:
            row = self.watch.execute("select pg_temp.reset()").fetchone()
        except psycopg.errors.UndefinedTable:
            row = None
        if row != (True,):
            raise ValueError(
                "The function made or dropped a table, index or sequence; between schedules rows and sequences are "
                "reset, not the schema, so make it beforehand and give it as `schema`."
            )

    def pgconn(self, number: int) -> Any:
        """The libpq connection of a session, as new: not in a transaction, no settings, no locks."""
        kept = self._spare.get(number)
        if kept is not None and kept.status == ConnStatus.OK:
            if kept.transaction_status != TransactionStatus.IDLE:
                kept.exec_(b"rollback")
            if kept.exec_(b"discard all").status == 1:
                return kept
        new = psycopg.connect(self._dsn, autocommit=True)
        self._spare[number], new._closed = new.pgconn, True  # the wrapper goes, the connection stays
        return new.pgconn

    def blocked(self, pids: Collection[int], ours: Collection[int]) -> dict[int, tuple[int, ...]]:
        """Which of these server processes wait for a lock that one of ours holds or waits for, and for whom."""
        rows = self.watch.execute("select pid, pg_blocking_pids(pid) from unnest(%s::int[]) as pid", [list(pids)])
        return {pid: found for pid, by in rows if (found := tuple(sorted({*by} & {*ours})))}

    def kill(self, pgconn: Any) -> None:
        """End a session on the server and wait until its process is gone, and with it all it had not committed."""
        self.watch.execute("select pg_terminate_backend(%s)", [pgconn.backend_pid])
        deadline = time.monotonic() + 30
        while pgconn.status == ConnStatus.OK and time.monotonic() < deadline:
            select.select([pgconn.socket], [], [], 1)
            try:
                pgconn.consume_input()
            except psycopg.OperationalError:
                break
        pgconn.finish()

    def close(self) -> None:
        """Drop the schema and let go of the server."""
        for pgconn in self._spare.values():
            pgconn.finish()
        self._spare.clear()
        if not self.watch.closed:
            schemas.drop(self.watch, self.name)
            self.watch.close()

    def _one(self, query: str, *values: Any) -> Any:
        return self.watch.execute(query.encode() if not values else query, values or None).fetchone()[0]  # type: ignore[index, arg-type]


def _on_path(dsn: str, name: str) -> str:
    """The DSN with the search's schema on the path and settings that make schedules quick."""
    parts = conninfo_to_dict(dsn)
    options = str(parts.get("options") or "")
    with psycopg.connect(dsn, connect_timeout=10) as conn:
        row = conn.execute("select rolsuper from pg_roles where rolname = current_user").fetchone()
    more = " -c deadlock_timeout=2ms" if row and row[0] else ""
    settings = f"{options} -c search_path={name} -c synchronous_commit=off -c client_min_messages=error{more}"
    return make_conninfo(dsn, options=settings.strip(), application_name=name)


def _sweep(conn: psycopg.Connection[Any]) -> None:
    """Drop the schemas of searches that were killed."""
    rows = conn.execute(
        "select nspname from pg_namespace where starts_with(nspname, %s) and pg_has_role(nspowner, 'usage')", [PREFIX]
    ).fetchall()
    for (name,) in rows:
        if conn.execute("select pg_try_advisory_lock(hashtext(%s))", [name]).fetchone() == (True,):
            schemas.end_sessions(conn, name)
            schemas.drop(conn, name)
            conn.execute("select pg_advisory_unlock(hashtext(%s))", [name])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
