"""A class on one PostgreSQL: every learner has a role of their own, which owns what it makes and sees nothing else.

A learner's limits are settings of the role, and whoever can run SQL can change a setting; so the one who keeps the
class also looks once in a while (`keep_order`) and ends what goes beyond them. Nothing here needs PostgreSQL to be
ours: any superuser's DSN will do.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from simlib.live.pg import schemas
from simlib.live.pg.errors import PostgresError

PREFIX = "simlib_learner_"
OWNED = "select nspname from pg_namespace where nspowner = %s::regrole"
ONE_CLASS = "select pg_try_advisory_lock(hashtext('simlib class'))"
IS_LEARNER = "usename like 'simlib\\_learner\\_%%'"

LATE = f"""
select pid, usename, extract(epoch from clock_timestamp() - query_start)::int from pg_stat_activity
where {IS_LEARNER} and state = 'active' and query_start < clock_timestamp() - make_interval(secs => %s)"""

IDLE = f"""
select pid, usename, extract(epoch from clock_timestamp() - state_change)::int from pg_stat_activity
where {IS_LEARNER} and state like 'idle in transaction%%'
  and state_change < clock_timestamp() - make_interval(secs => %s)"""

ROOM = f"""
select usename, sum(pg_total_relation_size(c.oid))::bigint
from pg_class c join pg_user on usesysid = relowner
where {IS_LEARNER} and relkind in ('r', 'm') group by usename
having sum(pg_total_relation_size(c.oid)) > %s"""

TABLES = """
select format('%%I.%%I', nspname, relname) from pg_class c join pg_namespace n on n.oid = relnamespace
where relowner = %s::regrole and relkind = 'r' and pg_total_relation_size(c.oid) > 1000000"""


@dataclass(frozen=True)
class Limits:
    """What one learner may use up.

    `statement` and `idle`: seconds a statement may run, and a transaction may do nothing; `connections` at once;
    `megabytes` all their rows may take (a million charges take about 100).
    """

    statement: int = 30
    idle: int = 300
    connections: int = 12
    megabytes: int = 200


@contextmanager
def open_class(dsn: str, names: Sequence[str], limits: Limits | None = None) -> Iterator[dict[str, str]]:
    """Enrol learners for as long as the block runs: name to DSN. At its end their roles go, and all they made.

    PostgresError, in one sentence, where the server cannot hold such a class.
    """
    limits = limits or Limits()
    with _connect(dsn) as conn:
        if conn.execute(ONE_CLASS).fetchone() != (True,):
            raise PostgresError(
                "This PostgreSQL has a class already; end that one, or set SIMLIB_DSN to another server."
            )
        dismiss(conn)
        try:
            with _told():
                enrolled = {name: _enrol(conn, dsn, name, limits) for name in names}
            yield enrolled
        finally:
            with _connect(dsn) as last:  # the server may have been restarted since
                dismiss(last)


def dismiss(conn: psycopg.Connection[Any]) -> int:
    """Drop every learner's role and all it owns, of this class or of one that was cut short; returns how many."""
    conn.execute(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where {IS_LEARNER}".replace("%%", "%"))
    found = conn.execute("select rolname from pg_roles where starts_with(rolname, %s)", [PREFIX]).fetchall()
    for (role,) in found:
        name = sql.Identifier(role)
        for (schema,) in conn.execute(
            "select nspname from pg_namespace where nspowner = %s::regrole", [role]
        ).fetchall():
            schemas.remove(conn, schema)
        conn.execute(sql.SQL("drop owned by {} cascade").format(name))
        conn.execute(sql.SQL("drop role {}").format(name))
    return len(found)


def keep_order(conn: psycopg.Connection[Any], limits: Limits | None = None) -> list[str]:
    """End what goes beyond the limits, whatever its role has set; returns what was done, a sentence each."""
    limits = limits or Limits()
    done = []
    for pid, role, seconds in conn.execute(LATE, [limits.statement]).fetchall():
        if _yes(conn, "select pg_cancel_backend(%s)", pid):
            done.append(f"{_name(role)}: a statement was cancelled after {seconds} s (at most {limits.statement} s).")
    for pid, role, seconds in conn.execute(IDLE, [limits.idle]).fetchall():
        if _yes(conn, "select pg_terminate_backend(%s, 5000)", pid):
            done.append(f"{_name(role)}: a session that kept a transaction open for {seconds} s was ended.")
    for role, size in conn.execute(ROOM, [limits.megabytes * 1_000_000]).fetchall():
        _empty(conn, role)
        room = f"{size / 1e6:,.0f} MB of rows (at most {limits.megabytes} MB)"
        done.append(f"{_name(role)}: {room}; their large tables were emptied.")
    return done


def _connect(dsn: str) -> psycopg.Connection[Any]:
    return psycopg.connect(dsn, autocommit=True, application_name="simlib class")


def _enrol(conn: psycopg.Connection[Any], dsn: str, name: str, limits: Limits) -> str:
    """A role that may make schemas in this database and nothing else."""
    role, password = PREFIX + name, secrets.token_urlsafe(18)
    who = sql.Identifier(role)
    conn.execute(
        sql.SQL(
            "create role {} login nosuperuser nocreatedb nocreaterole noinherit connection limit {} password {}"
        ).format(who, limits.connections, password)
    )
    settings = {
        "statement_timeout": f"{limits.statement}s",
        "idle_in_transaction_session_timeout": f"{limits.idle}s",
        "temp_file_limit": f"{limits.megabytes}MB",
    }
    for setting, value in settings.items():
        conn.execute(sql.SQL("alter role {} set {} = {}").format(who, sql.Identifier(setting), value))
    conn.execute(sql.SQL("grant create on database {} to {}").format(sql.Identifier(conn.info.dbname), who))
    return make_conninfo(dsn, user=role, password=password)


def _empty(conn: psycopg.Connection[Any], role: str) -> None:
    """Cancel what a role runs, then empty its large tables; one that is locked all the same waits for the next look."""
    conn.execute("select pg_cancel_backend(pid) from pg_stat_activity where usename = %s and state = 'active'", [role])
    tables = [name for (name,) in conn.execute(TABLES, [role]).fetchall()]
    if not tables:
        return
    conn.execute("set lock_timeout = '2s'")
    try:
        conn.execute(f"truncate {', '.join(tables)} cascade".encode())
    except psycopg.errors.LockNotAvailable:
        conn.execute("select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = %s", [role])
    finally:
        conn.execute("reset lock_timeout")


def _yes(conn: psycopg.Connection[Any], query: str, pid: int) -> bool:
    return conn.execute(query.encode(), [pid]).fetchone() == (True,)


def _name(role: str) -> str:
    return role.removeprefix(PREFIX)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise PostgresError(
            f"This role may not hold a class ({error.diag.message_primary}); "
            "set SIMLIB_DSN to a superuser's, or unset it for a server of your own."
        ) from error
