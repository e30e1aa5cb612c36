"""`explore`: every schedule is tried, what breaks is found and told, what is right survives."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

from simlib import live
from simlib.live.exploring import explore, replay
from simlib.live.pg.server import Postgres
from simlib.live.search.ground import PREFIX
from simlib.live.search.tree import Budget
from tests.live.conftest import until

PAY = [(1, "k", 5000)] * 2
Conn = psycopg.Connection[Any]

pytestmark = pytest.mark.usefixtures("server")


def check_then_insert(conn: Conn) -> None:
    with conn.transaction():
        if conn.execute("select 1 from idempotency_keys where account_id = 1 and key = 'k'").fetchone():
            return
        conn.execute("insert into charges (account_id, amount_cents) values (1, 5000)")
        conn.execute(
            "insert into idempotency_keys (account_id, key, request_hash) values (1, 'k', 'h') on conflict do nothing"
        )


def serializable_without_a_retry(conn: Conn) -> None:
    conn.isolation_level = IsolationLevel.SERIALIZABLE
    check_then_insert(conn)


def looks(times: int) -> Callable[[Conn, int], None]:
    """A function of so many statements on a table of its own: nothing of it ever waits or depends."""

    def fn(conn: Conn, table: int) -> None:
        for _ in range(times):
            conn.execute(f"insert into t{table} values (1)".encode())

    return fn


def test_a_check_before_an_insert_charges_twice_in_nearly_every_schedule() -> None:
    """170 of 182 schedules; the shortest is told, and its code brings it back."""
    report = explore(check_then_insert, reduce=False)
    assert (report.schedules, report.violating, report.complete) == (182, 170, True)
    assert report.story is not None
    assert report.replay(report.story.code).text == report.story.text
    assert report.story.text.count("insert into charges") == 2


def test_the_claim_first_charges_once_in_every_schedule() -> None:
    report = explore(live.pay, args=PAY, reduce=False)
    assert (report.schedules, report.violating, report.complete) == (36, 0, True)


@pytest.mark.parametrize("level", list(IsolationLevel)[1:], ids=lambda level: level.name)
def test_pay_survives_every_isolation_level(level: IsolationLevel) -> None:
    report = explore(live.pay, args=PAY, isolation=level)
    assert (report.violating, report.complete) == (0, True), report


@pytest.mark.parametrize("trouble", ["crashes", "losses"])
def test_pay_survives_a_death_and_a_lost_answer_anywhere(trouble: str) -> None:
    report = explore(live.pay, args=PAY, **{trouble: 1})
    assert (report.violating, report.complete) == (0, True), report
    assert report.schedules > 5


def test_the_async_twin_survives_too() -> None:
    report = explore(live.pay_async, args=PAY, reduce=False)
    assert (report.schedules, report.violating, report.complete) == (36, 0, True)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (3, 2), (4, 3)])
def test_where_nothing_blocks_the_number_of_schedules_is_that_of_combinatorics(n: int, m: int) -> None:
    """Two sessions of n and m points have binomial(n + m, n) schedules."""

    def fn(conn: Conn, table: int, times: int) -> None:
        looks(times)(conn, table)

    report = explore(
        fn,
        args=[(1, n), (2, m)],
        schema="create table t1 (i int); create table t2 (i int);",
        invariant="select true",
        reduce=False,
    )
    assert report.schedules == math.comb(n + m, n)


def test_independent_steps_are_not_tried_in_every_order() -> None:
    def fn(conn: Conn, table: int) -> None:
        looks(4)(conn, table)

    report = explore(
        fn, args=[(1,), (2,)], schema="create table t1 (i int); create table t2 (i int);", invariant="select true"
    )
    assert report.schedules == 1


@pytest.mark.parametrize("fn", [check_then_insert, serializable_without_a_retry])
def test_leaving_schedules_out_loses_no_violation(fn: Callable[..., Any]) -> None:
    full, reduced = explore(fn, reduce=False), explore(fn)
    assert set(full.violations) == set(reduced.violations)
    assert reduced.schedules < full.schedules
    assert full.story is not None
    assert reduced.story is not None
    assert len(full.story.steps) == len(reduced.story.steps), "the shortest is as short"


def test_a_serialization_failure_that_reaches_the_caller_is_found() -> None:
    report = explore(serializable_without_a_retry)
    assert "no database error reaches a caller" in report.violations
    assert report.story is not None
    assert "SerializationFailure" in report.story.text


def test_a_deadlock_is_an_outcome_of_a_schedule_and_not_the_end_of_the_search() -> None:
    def crossed(conn: Conn, first: int, second: int) -> None:
        with conn.transaction():
            conn.execute("update wallets set balance_cents = 1 where id = %s", [first])
            conn.execute("update wallets set balance_cents = 2 where id = %s", [second])

    report = explore(
        crossed, args=[(1, 2), (2, 1)], seed="insert into wallets (id) values (1), (2)", invariant="select true"
    )
    assert report.complete
    assert report.story is not None
    assert "DeadlockDetected" in report.story.text


def test_who_waited_for_whom_is_told() -> None:
    report = explore(live.pay, args=PAY, reduce=False)
    told = report.replay("A3B2A2B2")
    assert "-> waits for A" in told.text
    assert not told.broke


def test_a_key_that_is_stuck_is_found_by_the_last_retry() -> None:
    """Claimed in a transaction of its own: a death between that and the work leaves every retry waiting."""

    def claim_then_work(conn: Conn) -> live.Response:
        claim = (
            "insert into idempotency_keys (account_id, key, request_hash) values (1, 'k', 'h') on conflict do nothing"
        )
        if conn.execute(claim).rowcount == 0:
            row = conn.execute("select response_code from idempotency_keys").fetchone()
            return live.Response(201 if row and row[0] else 409, b"")
        with conn.transaction():
            conn.execute("insert into charges (account_id, amount_cents) values (1, 5000)")
            conn.execute("update idempotency_keys set response_code = 201")
        return live.Response(201, b"")

    assert explore(claim_then_work).violating == 0
    report = explore(claim_then_work, crashes=1)
    assert "a last retry gets an answer" in report.violations
    assert report.story is not None
    assert "dies" in report.story.text


def test_a_budget_that_is_spent_is_said() -> None:
    report = explore(check_then_insert, reduce=False, budget=Budget(schedules=10))
    assert (report.schedules, report.complete) == (10, False)
    assert "the budget was spent" in repr(report)


def test_several_invariants_are_counted_by_name() -> None:
    report = explore(
        check_then_insert,
        invariant={
            "one charge": "select count(*) = 1 from charges",
            "one key": "select count(*) = 1 from idempotency_keys",
        },
    )
    assert set(report.violations) == {"one charge"}


def test_an_invariant_may_be_a_function() -> None:
    def no_debts(conn: Conn) -> bool:
        return conn.execute("select count(*) from charges").fetchone() == (1,)

    assert set(explore(check_then_insert, invariant=no_debts).violations) == {"no_debts"}


def test_the_test_to_paste_fails_as_long_as_the_function_is_wrong() -> None:
    report = explore(check_then_insert)
    assert report.story is not None
    space: dict[str, Any] = {"sl": __import__("simlib"), "check_then_insert": check_then_insert}
    exec(report.story.test, space)
    name = next(n for n in space if n.startswith("test_"))
    with pytest.raises(AssertionError, match="it does not hold"):
        space[name]()


def test_three_sessions_share_the_names_among_twins() -> None:
    report = explore(live.pay, sessions=3, args=[(1, "k", 5000)] * 3)
    assert (report.violating, report.complete) == (0, True)


@pytest.mark.soak
def test_every_schedule_of_three_sessions_without_leaving_any_out() -> None:
    """As many as there are: 14,256 at READ COMMITTED, of which a handful stand for all."""
    report = explore(
        live.pay, sessions=3, args=[(1, "k", 5000)] * 3, reduce=False, budget=Budget(schedules=20_000, seconds=600)
    )
    assert (report.schedules, report.violating, report.complete) == (14_256, 0, True)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"sessions": 0}, "sessions is 0"),
        ({"args": [(1,)]}, "args has 1 entries"),
        ({"crashes": -1}, "crashes is -1"),
        ({"schema": "create table t (i int)", "expiries": 1}, "expiries need `lapse`"),
        ({"invariant": "select 1, 2"}, "one row of one true or false"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_sentence(how: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explore(check_then_insert, **how)


def test_a_mistake_of_the_learners_is_shown_as_it_is() -> None:
    def typo(conn: Conn) -> None:
        conn.execut("select 1")  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="execut"):
        explore(typo)


@pytest.mark.parametrize(
    "statement",
    [
        "create table mine (i int)",
        "create index on charges (key)",
        "create sequence mine",
        "drop table topups",
        "drop index outbox_unsent",
    ],
)
def test_a_function_that_changes_the_schema_is_told_so(statement: str) -> None:
    def changes(conn: Conn) -> None:
        conn.execute(statement.encode())

    with pytest.raises(ValueError, match="made or dropped a table, index or sequence"):
        explore(changes, sessions=2, reduce=False)


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="names session C"):
        replay(check_then_insert, "C2")
    with pytest.raises(ValueError, match="is no schedule"):
        replay(check_then_insert, "A-2")


KILLED = """
import os, signal
from simlib import live
def fn(conn):
    with conn.transaction():
        conn.execute("lock table charges")
        print("now", flush=True)
        signal.pause()
live.explore(fn)
"""


def test_a_search_that_was_killed_leaves_nothing_when_the_next_one_starts(server: Postgres) -> None:
    killed = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE)
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.kill()
    killed.communicate()
    assert explore(live.pay, args=PAY).violating == 0

    def left() -> int:
        with server.connect() as conn:
            found = conn.execute(
                "select count(*) from pg_namespace where starts_with(nspname, %s)", [PREFIX]
            ).fetchone()
        assert found is not None
        return found[0]

    until(lambda: explore(live.pay, args=PAY).violating == 0 and left() == 0)
