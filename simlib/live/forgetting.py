"""What it costs to forget old keys: deleting their rows, against dropping their day. Measured, on a real table."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from simlib.live.daily_keys import DAY, drop_days, make_days, partition
from simlib.table import Table

LONG_AGO = date(2000, 1, 1)
ANSWER = 600  # bytes of a saved answer

FILL = """
insert into daily_keys (account_id, key, day, claimed_on, request_hash, response_code, response_body)
select 1, gen_random_uuid()::text, %(day)s, %(day)s, md5(n::text), 201, repeat('x', %(bytes)s)
from generate_series(1, %(rows)s) as n"""


def cost(conn: psycopg.Connection[Any], rows: int = 20_000) -> Table:
    """Fill a day twice with so many keys, and get rid of it in either way.

    A row each: `way`; `seconds`; `log_bytes`, written ahead to disk (and sent to every replica); and `bytes_left`,
    what the day still takes on disk until something cleans up. The connection must be in no transaction.
    """
    ways: dict[str, Callable[[], object]] = {
        "delete rows": lambda: conn.execute("delete from daily_keys where day = %s", [LONG_AGO]),
        "drop the day": lambda: drop_days(conn, LONG_AGO + 2 * DAY),
    }
    found: list[tuple[Any, ...]] = []
    for way, forget in ways.items():
        make_days(conn, LONG_AGO, 1)
        conn.execute(FILL, {"day": LONG_AGO, "bytes": ANSWER, "rows": rows})
        with suppress(InsufficientPrivilege):  # in a class; the figures then say a little less
            conn.execute("checkpoint")  # so that both start with pages the log has not seen
        before, began = _log(conn), time.perf_counter()
        forget()
        took, log = time.perf_counter() - began, _log(conn) - before
        found.append((way, round(took, 4), log, _size(conn)))
        conn.execute(sql.SQL("drop table if exists {}").format(sql.Identifier(partition(LONG_AGO))))
    return Table(("way", "seconds", "log_bytes", "bytes_left"), tuple(found))


def _log(conn: psycopg.Connection[Any]) -> int:
    return _one(conn, "select (pg_current_wal_insert_lsn() - '0/0')::bigint")


def _size(conn: psycopg.Connection[Any]) -> int:
    return _one(conn, f"select coalesce(pg_total_relation_size(to_regclass('{partition(LONG_AGO)}')), 0)")


def _one(conn: psycopg.Connection[Any], query: str) -> int:
    row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]
