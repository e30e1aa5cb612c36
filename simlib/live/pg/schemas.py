"""A schema for each notebook: its own tables under the usual names, gone when the notebook is."""

from __future__ import annotations

import os
import secrets
import time
from importlib.resources import files

import psycopg
from psycopg import sql

PREFIX = "simlib_"
OLD_SECONDS = 600  # an abandoned schema this old belongs to a kernel that is dead, not to one about to connect again

PREPARED = """
select distinct gid
from pg_prepared_xacts
join pg_locks as own on own.transactionid = transaction and own.pid is null
join pg_locks as locks on locks.virtualtransaction = own.virtualtransaction and locks.pid is null
join pg_class on pg_class.oid = locks.relation
join pg_namespace on pg_namespace.oid = relnamespace
where nspname = %s and pg_prepared_xacts.database = current_database()"""


def new_name() -> str:
    """A schema name nobody has; it says when it was made and by which process."""
    return f"{PREFIX}{int(time.time())}_{os.getpid()}_{secrets.token_hex(4)}"


def create(conn: psycopg.Connection, name: str) -> None:
    """Make a schema and the lesson's tables in it."""
    conn.execute(sql.SQL("create schema {}").format(sql.Identifier(name)))
    tables = files("simlib.live").joinpath("sql", "schema.sql").read_bytes()
    with conn.transaction():
        conn.execute(sql.SQL("set local search_path to {}").format(sql.Identifier(name)))
        conn.execute(tables)


def hold(conn: psycopg.Connection, name: str) -> None:
    """Mark a schema as in use for as long as this connection lives."""
    conn.execute("select pg_advisory_lock_shared(hashtext(%s))", [name])


def drop(conn: psycopg.Connection, name: str) -> None:
    """Remove a schema and all it holds."""
    conn.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(name)))


def end_sessions(conn: psycopg.Connection, name: str) -> None:
    """End the other sessions that call themselves by this schema's name, and wait until they are gone."""
    conn.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
        "where application_name = %s and pid <> pg_backend_pid()",
        [name],
    )


def remove(conn: psycopg.Connection, name: str) -> None:
    """Drop a schema whose notebook is gone, and first of all what would hold that up.

    That is its sessions, and its prepared transactions: those have no session and keep their locks for ever.
    """
    end_sessions(conn, name)
    prepared = conn.execute(PREPARED, [name])
    for (gid,) in prepared.fetchall():
        conn.execute(sql.SQL("rollback prepared {}").format(gid))
    conn.execute("set lock_timeout = '5s'")
    drop(conn, name)


def drop_all(conn: psycopg.Connection) -> None:
    """Remove every notebook's schema: for a server that has just started, where nobody can be using one."""
    for name in _names(conn):
        remove(conn, name)


def sweep(conn: psycopg.Connection) -> None:
    """Remove the schemas whose notebook is gone: nobody holds or uses them, and they are not new."""
    used = {name for (name,) in conn.execute("select distinct application_name from pg_stat_activity")}
    for name in _names(conn):
        if name in used:
            continue
        made = name.removeprefix(PREFIX).split("_")[0]
        if not made.isdigit() or time.time() - int(made) < OLD_SECONDS:
            continue
        free = conn.execute("select pg_try_advisory_lock(hashtext(%s))", [name]).fetchone()
        if free == (True,):
            remove(conn, name)
            conn.execute("select pg_advisory_unlock(hashtext(%s))", [name])


def _names(conn: psycopg.Connection) -> list[str]:
    rows = conn.execute(
        "select nspname from pg_namespace where starts_with(nspname, %s) and pg_has_role(nspowner, 'usage')", [PREFIX]
    )
    return [name for (name,) in rows]
