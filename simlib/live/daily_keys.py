"""Keys that go by whole days, and are still claimed once across midnight.

Deleting millions of old rows leaves as many dead ones to be cleaned up; dropping a day's partition takes a moment. But
PostgreSQL's unique indexes on a partitioned table must hold the column it is divided by, so the index of a table by
days cannot see that a key is there already, in yesterday's partition. A key therefore has two rows, one for the day
it is claimed on and one for the day after: two claims no more than a day apart meet in one of them, and the index lets
the second wait, as it does in one table.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import psycopg
from psycopg import sql

from simlib.live.one_transaction import (
    ATTEMPTS,
    CHARGE,
    LOST,
    KeyVanished,
    Response,
    answer_to_known,
    check_idle,
    checked_request,
    created,
)

CLAIM = """
insert into daily_keys (account_id, key, day, claimed_on, request_hash)
values (%(account_id)s, %(key)s, %(day)s, %(today)s, %(fingerprint)s)
on conflict (account_id, key, day) do nothing
returning true"""

WITHDRAW = """
delete from daily_keys where account_id = %(account_id)s and key = %(key)s and day = %(today)s"""

READ = """
select answer.request_hash, answer.response_code, answer.response_body
from daily_keys as met
join daily_keys as answer
  on (answer.account_id, answer.key, answer.day) = (met.account_id, met.key, met.claimed_on)
where met.account_id = %(account_id)s and met.key = %(key)s and met.day = %(day)s"""

SAVE = """
update daily_keys set response_code = %(code)s, response_body = %(body)s
where account_id = %(account_id)s and key = %(key)s and day = %(today)s"""

DAY = timedelta(days=1)


def pay_by_day(
    conn: psycopg.Connection[Any],
    account_id: int,
    key: str,
    amount_cents: int,
    *,
    currency: str = "eur",
    fingerprint: str | None = None,
    today: date | None = None,
) -> Response:
    """`pay`, with its keys in `daily_keys`: one charge for a key on the day it is first used and on the day after.

    `today` is by default the database's day. The partitions of this day and of the next must be there, see
    `make_days`; ValueError says so where they are not.
    """
    request = checked_request("/v1/charges", account_id, key, amount_cents, currency, fingerprint)
    check_idle(conn)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with conn.transaction():
                day = today or conn.execute("select current_date").fetchone()[0]  # type: ignore[index]
                answer = _paid(conn, {**request, "today": day}, day)
        except psycopg.errors.CheckViolation as error:
            raise ValueError(
                f"There is no partition of daily_keys for {today or 'today'} or the day after; call make_days first."
            ) from error
        except LOST:
            if attempt == ATTEMPTS:
                raise
            continue
        if answer is not None:
            return answer
    raise KeyVanished(f"The key {key!r} was deleted between claim and read {ATTEMPTS} times; keep keys for longer.")


def _paid(conn: psycopg.Connection[Any], request: dict[str, Any], today: date) -> Response | None:
    # Earlier day first, always: two claims then wait for each other in one order only.
    for day in (today, today + DAY):
        if not conn.execute(CLAIM, {**request, "day": day}).fetchone():
            if day != today:  # another session's today is our tomorrow, and it was first
                conn.execute(WITHDRAW, request)
            return answer_to_known(conn.execute(READ, {**request, "day": day}).fetchone(), request)
    answer = created(conn.execute(CHARGE, request).fetchone(), request)
    conn.execute(SAVE, {**request, "code": answer.code, "body": answer.body.decode()})
    return answer


def make_days(conn: psycopg.Connection[Any], first: date, days: int = 2) -> list[str]:
    """Make the partitions of so many days, from `first` on, where they are not there yet; returns their names."""
    names: list[str] = []
    for day in (first + i * DAY for i in range(days)):
        names.append(partition(day))
        conn.execute(
            sql.SQL("create table if not exists {} partition of daily_keys for values from ({}) to ({})").format(
                sql.Identifier(names[-1]), sql.Literal(day), sql.Literal(day + DAY)
            )
        )
    return names


def drop_days(conn: psycopg.Connection[Any], today: date) -> list[str]:
    """Drop the days whose keys nobody can come back with: all before yesterday. Returns the names of what went.

    Each is detached first, without a lock that would stop payments (`detach partition concurrently`); the connection
    must be in no transaction.
    """
    check_idle(conn)
    names = [name for (name,) in conn.execute(_PARTITIONS).fetchall() if name < partition(today - DAY)]
    for name in names:
        conn.execute(sql.SQL("alter table daily_keys detach partition {} concurrently").format(sql.Identifier(name)))
        conn.execute(sql.SQL("drop table {}").format(sql.Identifier(name)))
    return names


def partition(day: date) -> str:
    """The name of a day's partition; names sort as their days do."""
    return f"daily_keys_{day:%Y%m%d}"


_PARTITIONS = """
select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
where inhparent = 'daily_keys'::regclass order by relname"""
