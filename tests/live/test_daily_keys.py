"""Keys by day: what the plain advice does not hold, and the layout that does, tried at midnight."""

from __future__ import annotations

from datetime import date
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.errors import FeatureNotSupported

from simlib import live
from simlib.live.daily_keys import CLAIM, DAY, drop_days, make_days, partition, pay_by_day

MONDAY = date(2026, 3, 2)
TUESDAY = MONDAY + DAY
DAYS = "".join(
    f"create table {partition(day)} partition of daily_keys for values from ('{day}') to ('{day + DAY}');"
    for day in (MONDAY, TUESDAY, TUESDAY + DAY)
)


@pytest.fixture
def conn(db: Any) -> Any:
    with db.connect() as conn:
        make_days(conn, MONDAY, 3)
        yield conn


def charges(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("select count(*) from charges").fetchone()
    assert row
    return row[0]


def test_the_plain_advice_is_refused(db: Any) -> None:
    """A table by day of creation cannot keep (account_id, key) unique: 0A000."""
    with db.connect() as conn, pytest.raises(FeatureNotSupported, match="partition"):
        conn.execute(
            "create table keys_by_day (account_id bigint, key text, day date, primary key (account_id, key)) "
            "partition by range (day)"
        )


def test_with_the_day_in_the_key_a_retry_after_midnight_is_charged_again(db: Any) -> None:
    """What people do next: the day joins the primary key, and both sides of midnight claim."""
    with db.connect() as conn:
        make_days(conn, MONDAY)
        for day in (MONDAY, TUESDAY):
            claimed = conn.execute(
                "insert into daily_keys (account_id, key, day, claimed_on, request_hash) values (1, 'k', %s, %s, '') "
                "on conflict do nothing returning true",
                [day, day],
            ).fetchone()
            assert claimed == (True,)


@pytest.mark.parametrize("retried", [MONDAY, TUESDAY])
def test_a_key_is_charged_once_on_its_day_and_the_next(conn: Any, retried: date) -> None:
    first = pay_by_day(conn, 1, "k", 500, today=MONDAY)
    again = pay_by_day(conn, 1, "k", 500, today=retried)
    assert (first.code, again.code, again.body, again.replayed) == (201, 201, first.body, True)
    assert pay_by_day(conn, 1, "k", 900, today=retried).code == 422
    assert pay_by_day(conn, 2, "k", 500, today=retried).code == 201, "another account is apart"
    assert charges(conn) == 2


def test_two_days_later_it_is_a_new_key(conn: Any) -> None:
    """The window: at least a day, at most two."""
    pay_by_day(conn, 1, "k", 500, today=MONDAY)
    make_days(conn, TUESDAY, 3)
    assert pay_by_day(conn, 1, "k", 500, today=TUESDAY + DAY).replayed is False


def test_a_session_that_is_still_in_yesterday_withdraws(conn: Any) -> None:
    """Its transaction began before midnight; the other one's today was first."""
    first = pay_by_day(conn, 1, "k", 500, today=TUESDAY)
    late = pay_by_day(conn, 1, "k", 500, today=MONDAY)
    assert (late.body, late.replayed) == (first.body, True)
    rows = conn.execute("select day, claimed_on from daily_keys order by day").fetchall()
    assert rows == [(TUESDAY, TUESDAY), (TUESDAY + DAY, TUESDAY)]


@pytest.mark.parametrize("level", list(IsolationLevel)[1:], ids=lambda level: level.name)
@pytest.mark.parametrize("days", [(MONDAY, MONDAY), (MONDAY, TUESDAY)], ids=["one day", "midnight"])
def test_every_schedule_of_two_sessions_charges_once(days: tuple[date, date], level: IsolationLevel) -> None:
    """At every isolation level, on one side of midnight and across it."""

    def pay(conn: Any, today: date) -> Any:
        return pay_by_day(conn, 1, "k", 500, today=today)

    report = live.explore(pay, args=[(day,) for day in days], seed=DAYS, isolation=level)
    assert (report.violating, report.complete) == (0, True), report
    assert report.schedules >= 4


def test_without_the_row_of_the_next_day_the_search_finds_the_second_charge() -> None:
    """The second row is what holds: with today's alone, midnight charges twice in every schedule."""

    def pay(conn: Any, today: date) -> None:
        key = {"account_id": 1, "key": "k", "fingerprint": "f", "today": today, "day": today}
        with conn.transaction():
            if conn.execute(CLAIM, key).fetchone():
                conn.execute("insert into charges (account_id, key, amount_cents) values (1, 'k', 500)")

    report = live.explore(pay, args=[(MONDAY,), (TUESDAY,)], seed=DAYS)
    assert report.violating == report.schedules > 0


def test_old_days_go_and_what_can_be_retried_stays(conn: Any) -> None:
    first = pay_by_day(conn, 1, "k", 500, today=MONDAY)
    assert drop_days(conn, TUESDAY) == [], "Monday's keys may still be retried on Tuesday"
    assert pay_by_day(conn, 1, "k", 500, today=TUESDAY).body == first.body
    assert drop_days(conn, TUESDAY + DAY) == [partition(MONDAY)]
    assert charges(conn) == 1


def test_days_are_made_once(conn: Any) -> None:
    assert make_days(conn, MONDAY, 3) == [partition(MONDAY + i * DAY) for i in range(3)]


def test_a_day_that_nobody_made_is_told(conn: Any) -> None:
    with pytest.raises(ValueError, match="call make_days first"):
        pay_by_day(conn, 1, "k", 500, today=date(2030, 1, 1))
    assert charges(conn) == 0


def test_by_default_the_database_says_which_day_it_is(conn: Any) -> None:
    today = conn.execute("select current_date").fetchone()[0]
    make_days(conn, today)
    assert pay_by_day(conn, 1, "k", 500).code == 201
