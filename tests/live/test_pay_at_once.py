"""Several sessions with one key at the same moment: what PostgreSQL does at each isolation level, and `pay`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.errors import DeadlockDetected, SerializationFailure

from simlib import live
from simlib.live.one_transaction import ATTEMPTS, CHARGE, CLAIM, LOST, READ, SAVE

LEVELS = [IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE]
STRICT = LEVELS[1:]
KEY = {"account_id": 1, "key": "k", "fingerprint": "f", "amount_cents": 500, "currency": "eur"}


def claim_once(conn: psycopg.Connection[Any]) -> str:
    """One transaction of `pay`, bare: what a session sees when nobody runs it again."""
    with conn.transaction():
        if conn.execute(CLAIM, KEY).fetchone():
            conn.execute(CHARGE, KEY)
            conn.execute(SAVE, {**KEY, "code": 201, "body": "{}"})
            return "worked"
        return "replayed" if conn.execute(READ, KEY).fetchone() else "nothing to read"


def check_then_insert(conn: psycopg.Connection[Any]) -> str:
    """The pitfall: look for the key, and if it is not there do the work."""
    with conn.transaction():
        if conn.execute("select 1 from charges where account_id = 1 and key = 'k'").fetchone():
            return "replayed"
        conn.execute(CHARGE, KEY)
        return "worked"


def charges(db: Any) -> int:
    with db.connect() as conn:
        row = conn.execute("select count(*) from charges").fetchone()
        assert row
        return row[0]


def test_one_inserts_and_four_wait_for_it_in_sight(db: Any) -> None:
    crowd = live.at_once(db, claim_once)
    first, *others = crowd.seen
    assert [s.waits for s in others] == [True] * 4
    assert all(s.blockers == (first.pid,) and s.event == "Lock: transactionid" for s in others)
    assert all(s.statement.startswith("insert into idempotency_keys") for s in others)
    assert crowd.waiting.column("waits for") == ["", "1", "1", "1", "1"]
    assert sorted(crowd.answers) == ["replayed"] * 4 + ["worked"]
    assert charges(db) == 1


@pytest.mark.parametrize("level", STRICT, ids=lambda level: level.name)
def test_stricter_levels_answer_the_losers_with_40001(db: Any, level: IsolationLevel) -> None:
    """Their snapshot is older than the winner's commit: they may neither insert the key nor see it."""
    crowd = live.at_once(db, claim_once, isolation=level)
    assert crowd.answers.count("worked") == 1
    lost = [a for a in crowd.answers if a != "worked"]
    assert [(type(e), e.sqlstate) for e in lost] == [(SerializationFailure, "40001")] * 4
    assert charges(db) == 1


@pytest.mark.parametrize("level", STRICT, ids=lambda level: level.name)
def test_a_stricter_level_loses_without_any_wait_too(db: Any, level: IsolationLevel) -> None:
    """The winner has committed before the loser claims, but after the loser's snapshot was taken."""
    with db.connect() as conn, db.connect() as other:
        conn.isolation_level = level
        with conn.transaction(force_rollback=True):
            conn.execute("select 1 from charges")
            assert claim_once(other) == "worked"
            with pytest.raises(SerializationFailure):
                conn.execute(CLAIM, KEY)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_pay_gives_one_charge_and_one_body_at_every_level(db: Any, level: IsolationLevel) -> None:
    crowd = live.at_once(db, lambda conn: live.pay(conn, 1, "k", 500), isolation=level)
    assert [a.code for a in crowd.answers] == [201] * 5
    assert sorted(a.replayed for a in crowd.answers) == [False, True, True, True, True]
    assert len({a.body for a in crowd.answers}) == 1
    assert charges(db) == 1


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_when_the_winner_rolls_back_exactly_one_waiter_does_the_work(db: Any, level: IsolationLevel) -> None:
    """At every level somebody gets the key, and nobody is left behind a dead request."""
    crowd = live.at_once(db, lambda conn: live.pay(conn, 1, "k", 500), isolation=level, kill_first=True)
    died = [a for a in crowd.answers if isinstance(a, psycopg.Error)]
    answers = [a for a in crowd.answers if isinstance(a, live.Response)]
    assert len(died) == 1
    assert sorted(a.replayed for a in answers) == [False, True, True, True]
    assert charges(db) == 1


def test_check_then_insert_charges_five_times(db: Any) -> None:
    """All five have looked before one has written; nobody waits for anybody."""
    crowd = live.at_once(db, check_then_insert)
    assert crowd.answers == ("worked",) * 5
    assert not any(crowd.waiting.column("waits for"))
    assert charges(db) == 5


def test_check_then_insert_looks_right_one_after_the_other(db: Any) -> None:
    """Why a test with one user does not find it."""
    with db.connect() as conn:
        assert [check_then_insert(conn) for _ in range(3)] == ["worked", "replayed", "replayed"]


def test_insert_or_select_in_one_statement_is_empty_for_a_loser(db: Any) -> None:
    """READ COMMITTED: the statement's snapshot is older than the winner's commit, so its own select finds nothing."""
    both = """
        with claimed as (insert into idempotency_keys (account_id, key, request_hash) values (1, 'k', 'f')
                         on conflict (account_id, key) do nothing returning request_hash)
        select request_hash from claimed union all
        select request_hash from idempotency_keys where account_id = 1 and key = 'k'"""

    def once(conn: psycopg.Connection[Any]) -> int:
        with conn.transaction():
            rows = conn.execute(both).fetchall()
            if rows:
                conn.execute(CHARGE, KEY)  # stands here until the others wait
            return len(rows)

    assert sorted(live.at_once(db, once).answers) == [0, 0, 0, 0, 1]


def test_fifty_calls_on_ten_keys_from_eight_threads(db: Any) -> None:
    barrier = threading.Barrier(8)

    def caller(number: int) -> list[live.Response]:
        with db.connect() as conn:
            barrier.wait()
            return [live.pay(conn, 1, f"key-{(number + i) % 10}", 500) for i in range(50)]

    with ThreadPoolExecutor(8) as pool:
        answers = [a for some in pool.map(caller, range(8)) for a in some]
    assert {a.code for a in answers} == {201}
    assert sum(not a.replayed for a in answers) == 10
    assert len({a.body for a in answers}) == 10
    assert charges(db) == 10


@pytest.mark.parametrize("error", LOST, ids=lambda e: e.__name__)
def test_a_transaction_that_lost_is_run_again_and_not_for_ever(db: Any, error: type[psycopg.Error]) -> None:
    """40001 and 40P01 say "run it again": once is enough here; one that always loses is told so."""
    with db.connect() as conn:
        assert failing(conn, error, times=ATTEMPTS - 1) is not None
        assert live.pay(conn, 1, "k", 500).code == 201
        failing(conn, error, times=ATTEMPTS)
        with pytest.raises(error):
            live.pay(conn, 1, "other", 500)
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert charges(db) == 1


def failing(conn: psycopg.Connection[Any], error: type[psycopg.Error], times: int) -> list[str]:
    """Let the server itself raise this error at the next `times` charges on this connection."""
    left = ["again"] * times

    class Failing(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **named: Any) -> Any:
            if query == CHARGE and left:
                left.pop()
                query, args = f"do $$ begin raise sqlstate '{error.sqlstate}'; end $$", ()
            return super().execute(query, *args, **named)

    conn.cursor_factory = Failing
    return left


def test_a_real_deadlock_around_the_work_is_run_again(db: Any) -> None:
    """A trigger makes each charge touch two wallets in opposite orders: PostgreSQL ends one, and `pay` repeats it."""
    with db.connect() as conn:
        conn.execute("insert into wallets values (1), (2)")
        conn.execute(
            """create function move() returns trigger language plpgsql as $$ begin
                   update wallets set balance_cents = balance_cents + 1 where id = new.account_id;
                   perform pg_advisory_lock_shared(7);  -- both stand here, each with one wallet
                   perform pg_advisory_unlock_shared(7);
                   update wallets set balance_cents = balance_cents + 1 where id = 3 - new.account_id;
                   return new; end $$"""
        )
        conn.execute("create trigger move after insert on charges for each row execute function move()")
    with db.connect() as gate, db.connect() as look, ThreadPoolExecutor(2) as pool:
        gate.execute("select pg_advisory_lock(7)")
        calls = [pool.submit(paying, db, account) for account in (1, 2)]
        while sum(s.waits for s in live.sessions(look)) < 2:
            assert not any(call.done() for call in calls)
        gate.execute("select pg_advisory_unlock(7)")
        assert [call.result().code for call in calls] == [201, 201]
        assert look.execute("select array_agg(balance_cents) from wallets").fetchone() == ([2, 2],)
    assert charges(db) == 2


def paying(db: Any, account: int) -> live.Response:
    with db.connect() as conn:
        conn.execute("set deadlock_timeout = '10ms'")
        return live.pay(conn, account, "k", 500)


def test_crossed_keys_in_one_transaction_end_one_of_them(db: Any) -> None:
    """A then B against B then A: 40P01 to one, the other goes on. One key a transaction cannot do this."""
    met = threading.Barrier(2)

    def cross(keys: tuple[str, str]) -> str:
        with db.connect() as conn:
            conn.execute("set deadlock_timeout = '10ms'")
            try:
                with conn.transaction():
                    conn.execute(CLAIM, {**KEY, "key": keys[0]})
                    met.wait()
                    conn.execute(CLAIM, {**KEY, "key": keys[1]})
            except DeadlockDetected as error:
                return str(error.sqlstate)
            return "committed"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(cross, [("a", "b"), ("b", "a")])) == ["40P01", "committed"]
