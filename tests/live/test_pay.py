"""`pay`: one charge a key, the saved answer byte for byte, and nothing at all when it fails."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simlib import live
from simlib.live.one_transaction import ATTEMPTS, CLAIM, READ, KeyVanished
from simlib.trace import INVARIANTS

Pay = Callable[..., live.Response]


def pay_by_asyncio(conn: psycopg.Connection[Any], *args: Any, **named: Any) -> live.Response:
    """`pay_async` on a connection of its own to the same schema, so that every test of `pay` is one of it too."""

    async def run() -> live.Response:
        async with await psycopg.AsyncConnection.connect(
            conn.info.dsn, password=conn.info.password, autocommit=True
        ) as other:
            return await live.pay_async(other, *args, **named)

    return asyncio.run(run())


@pytest.fixture(params=[live.pay, pay_by_asyncio], ids=["sync", "asyncio"])
def pay(request: pytest.FixtureRequest) -> Pay:
    return request.param


def charges(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("select count(*) from charges").fetchone()
    return row[0] if row else -1


def keys(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("select count(*) from idempotency_keys").fetchone()
    return row[0] if row else -1


def test_the_lessons_run_gives_eight_answers_and_two_charges(db: Any, conn: Any, pay: Pay) -> None:
    """Facts A, row 1: pay, retry, retry with another amount, then five at once on a new key."""
    first = pay(conn, 1, "key-1", 5000)
    retry = pay(conn, 1, "key-1", 5000)
    other = pay(conn, 1, "key-1", 7000)
    crowd = live.at_once(db, lambda c: pay(c, 1, "key-2", 700))
    answers = [first, retry, other, *crowd.answers]
    assert Counter(a.code for a in answers) == {201: 7, 422: 1}
    assert charges(conn) == 2
    assert retry.body == first.body
    assert {a.body for a in crowd.answers} == {crowd.answers[0].body}
    assert [a.replayed for a in answers].count(False) == 3  # two charges, and the refusal
    assert all(conn.execute(sql).fetchone() == (True,) for sql in INVARIANTS.values())


def test_the_answer_names_the_charge(conn: Any, pay: Pay) -> None:
    answer = pay(conn, 1, "k", 1250, currency="chf")
    row = conn.execute("select id, account_id, key, amount_cents, currency from charges").fetchone()
    assert row == (json.loads(answer.body)["charge_id"], 1, "k", 1250, "chf")
    assert json.loads(answer.body) == {"charge_id": row[0], "amount_cents": 1250, "currency": "chf"}


def test_another_fingerprint_is_refused_and_changes_nothing(conn: Any, pay: Pay) -> None:
    first = pay(conn, 1, "k", 500, fingerprint="one")
    assert pay(conn, 1, "k", 500, fingerprint="two").code == 422
    assert pay(conn, 1, "k", 900, fingerprint="one") == live.Response(201, first.body, replayed=True)
    assert (charges(conn), keys(conn)) == (1, 1)


def test_currency_belongs_to_the_request(conn: Any, pay: Pay) -> None:
    pay(conn, 1, "k", 500, currency="eur")
    assert pay(conn, 1, "k", 500, currency="usd").code == 422


def test_accounts_do_not_see_each_others_keys(conn: Any, pay: Pay) -> None:
    mine, theirs = pay(conn, 1, "k", 500), pay(conn, 2, "k", 900)
    assert (mine.replayed, theirs.replayed) == (False, False)
    assert json.loads(theirs.body)["amount_cents"] == 900
    assert charges(conn) == 2


@pytest.mark.parametrize("body", ['{"b": 1,  "a": [1e2, "\\u00e9"], "a": 2}', "", "not json \n at all", "é" * 5000])
def test_whatever_was_saved_comes_back_byte_for_byte(conn: Any, pay: Pay, body: str) -> None:
    """Why the column is text: jsonb would change blanks, order, numbers, escapes and drop the second `a`."""
    conn.execute("insert into idempotency_keys values (1, 'k', 'f', 201, %s)", [body])
    assert pay(conn, 1, "k", 500, fingerprint="f") == live.Response(201, body.encode(), replayed=True)


def test_a_claim_committed_without_its_answer_is_still_running(conn: Any, pay: Pay) -> None:
    """Code that commits the claim first can share the table; its unfinished keys are not worked on twice."""
    conn.execute("insert into idempotency_keys values (1, 'k', 'f')")
    assert pay(conn, 1, "k", 500, fingerprint="f").code == 409
    assert pay(conn, 1, "k", 500, fingerprint="g").code == 422  # the body is looked at first
    assert charges(conn) == 0


@pytest.mark.parametrize("amount", [0, -1, 2**31, 10**400, 1.0, "5000", None, True], ids=str)
def test_amounts_nobody_can_be_charged_are_refused_before_the_claim(conn: Any, pay: Pay, amount: Any) -> None:
    with pytest.raises(ValueError, match=r"^amount_cents is .*; it takes a whole number of cents from 1 to"):
        pay(conn, 1, "k", amount)
    assert (charges(conn), keys(conn)) == (0, 0)
    assert pay(conn, 1, "k", 5000).code == 201


@pytest.mark.parametrize("currency", ["", "EUR", "euro", "e\n", "€uro", None, 3], ids=str)
def test_currencies_are_three_small_letters(conn: Any, pay: Pay, currency: Any) -> None:
    with pytest.raises(ValueError, match=r"^currency is .*three small letters"):
        pay(conn, 1, "k", 500, currency=currency)
    assert keys(conn) == 0


def test_the_most_that_fits_is_charged(conn: Any, pay: Pay) -> None:
    assert pay(conn, 1, "k", 2**31 - 1).code == 201


def test_a_connection_in_a_transaction_is_refused(conn: Any) -> None:
    """Inside one, `pay` would make a savepoint, and an answer given out could be rolled back afterwards."""
    with conn.transaction(), pytest.raises(ValueError, match="in no transaction"):
        live.pay(conn, 1, "k", 500)
    assert (charges(conn), keys(conn)) == (0, 0)


def test_an_asyncio_connection_in_a_transaction_is_refused(conn: Any) -> None:
    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(conn.info.dsn, password=conn.info.password) as other:
            await other.execute("select 1")
            with pytest.raises(ValueError, match="in no transaction"):
                await live.pay_async(other, 1, "k", 500)

    asyncio.run(run())


def test_a_connection_without_autocommit_is_committed(db: Any, conn: Any) -> None:
    with psycopg.connect(db.dsn) as manual:
        live.pay(manual, 1, "k", 500)
        assert charges(conn) == 1


def test_both_ways_take_the_same_arguments() -> None:
    """The asyncio twin has the sync one's signature but for the kind of connection."""
    one, two = inspect.signature(live.pay).parameters, inspect.signature(live.pay_async).parameters
    assert [(p.name, p.kind, p.default) for p in one.values()] == [(p.name, p.kind, p.default) for p in two.values()]


def test_a_key_removed_between_claim_and_read_is_claimed_again(db: Any, conn: Any) -> None:
    """A reaper deletes the row after the insert was skipped: no row from either statement is not "no such key"."""
    first = live.pay(conn, 1, "k", 500)
    reaped = reap_at_read(db, conn, times=1)
    again = live.pay(conn, 1, "k", 500)
    assert reaped == ["k"]
    assert (again.code, again.replayed) == (201, False)
    assert again.body != first.body
    assert (charges(conn), keys(conn)) == (2, 1)  # the key was forgotten, so this is a new purchase to the server


def test_claiming_again_has_an_end(db: Any, conn: Any) -> None:
    live.pay(conn, 1, "k", 500)
    reaped = reap_at_read(db, conn, times=1000, put_back=True)
    with pytest.raises(KeyVanished, match=f"{ATTEMPTS} times; keep keys for longer"):
        live.pay(conn, 1, "k", 500)
    assert len(reaped) == ATTEMPTS
    assert charges(conn) == 1


def reap_at_read(db: Any, conn: psycopg.Connection[Any], times: int, put_back: bool = False) -> list[str]:
    """Delete all keys just before `pay` reads one on `conn`; with `put_back` they return before its next claim."""
    reaped: list[str] = []

    class Reaping(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **named: Any) -> Any:
            with db.connect() as other:
                if query == CLAIM and put_back:
                    other.execute("insert into idempotency_keys values (1, 'k', 'f', 201, '') on conflict do nothing")
                if query == READ and len(reaped) < times:
                    other.execute("delete from idempotency_keys")
                    reaped.append("k")
            return super().execute(query, *args, **named)

    conn.cursor_factory = Reaping
    return reaped


def test_a_cancelled_task_rolls_back_and_the_retry_starts_fresh(db: Any, conn: Any) -> None:
    """A client hangs up while its request stands at the work: nothing is kept, and nothing is in the way."""

    async def hang_up() -> None:
        async with await psycopg.AsyncConnection.connect(db.dsn, autocommit=True) as other:
            task = asyncio.create_task(live.pay_async(other, 1, "k", 500))
            await asyncio.to_thread(until_waiting, db, other.info.backend_pid)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE

    with live.charges_locked(db):
        asyncio.run(hang_up())
    assert keys(conn) == 0
    assert not live.pay(conn, 1, "k", 500).replayed
    assert charges(conn) == 1


def test_a_process_killed_at_its_work_leaves_nothing(db: Any, conn: Any) -> None:
    """SIGKILL between claim and commit: PostgreSQL rolls back, and the retry does the work."""
    code = (
        "import sys, psycopg\nfrom simlib import live\n"
        "conn = psycopg.connect(sys.argv[1], autocommit=True)\n"
        "print(conn.info.backend_pid, flush=True)\nlive.pay(conn, 1, 'k', 500)"
    )
    with live.charges_locked(db):
        worker = subprocess.Popen([sys.executable, "-c", code, db.dsn], stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        with worker.stdout:
            pid = int(worker.stdout.readline())
        until_waiting(db, pid)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    answer = live.pay(conn, 1, "k", 500)
    assert (answer.code, answer.replayed) == (201, False)
    assert charges(conn) == 1


def until_waiting(db: Any, pid: int) -> None:
    """Return once the session with this process number waits for a lock."""
    with db.connect() as look:
        while not any(s.waits for s in live.sessions(look, [pid])):
            assert threading.main_thread().is_alive()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(
        st.tuples(st.integers(1, 2), st.sampled_from(["a", "A", "a ", "b"]), st.sampled_from([500, 900])), max_size=12
    )
)
def test_any_order_of_calls_charges_each_key_once(conn: Any, calls: list[tuple[int, str, int]]) -> None:
    """Whatever is asked in whatever order: the first request of a key decides, its repeats replay, others get 422."""
    conn.execute("truncate idempotency_keys, charges restart identity")
    first: dict[tuple[int, str], tuple[int, bytes]] = {}
    for account, key, amount in calls:
        answer = live.pay(conn, account, key, amount)
        if (account, key) not in first:
            assert (answer.code, answer.replayed) == (201, False)
            first[account, key] = (amount, answer.body)
        elif first[account, key][0] == amount:
            assert answer == live.Response(201, first[account, key][1], replayed=True)
        else:
            assert (answer.code, answer.replayed) == (422, False)
    assert charges(conn) == len(first)
