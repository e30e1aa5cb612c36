"""`pay_external`: whoever dies where, a retry goes on: one charge, at most one receipt, and a final answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from simlib.live import recovery_points
from simlib.live.client import DIRECT
from simlib.live.faults import CrashAt, Crashed, HoldAt
from simlib.live.http_app import app
from simlib.live.one_transaction import Response
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import RunningProvider
from simlib.live.recovery_points import pay_external, pay_external_async
from simlib.live.serving import serve
from simlib.live.worker import spawn
from tests.live.conftest import until

Conn = psycopg.Connection[Any]
PHASES = ("after-claim", "after-lease", "after-charge", "after-charged", "before-commit", "after-commit")
AUTH = {"Authorization": "Bearer token-of-account-1", "Idempotency-Key": "k"}
BODY = {"amount_cents": 5000, "currency": "eur"}


def one(conn: Conn, query: str) -> Any:
    row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def run_out(conn: Conn) -> None:
    """Time passes: every lease ends."""
    conn.execute("update payment_keys set locked_until = clock_timestamp() - interval '1 second'")


def in_the_end(conn: Conn, bank: RunningProvider, charges: int = 1) -> None:
    """What must hold whatever happened on the way."""
    assert len(bank.charges()) == charges
    assert one(conn, "select count(*) from charges") == charges
    assert one(conn, "select count(*) from outbox where topic = 'receipt'") == charges
    assert one(conn, "select recovery_point from payment_keys") == "done"


def test_a_payment_and_its_replay(conn: Conn, bank: RunningProvider) -> None:
    first = pay_external(conn, bank, 1, "k", 5000)
    again = pay_external(conn, bank, 1, "k", 5000)
    assert (first.code, first.replayed) == (201, False)
    assert again == Response(201, first.body, replayed=True)
    assert json.loads(first.body) == {"charge_id": "ch_1", "amount_cents": 5000, "currency": "eur"}
    in_the_end(conn, bank)


@pytest.mark.parametrize("point", PHASES)
def test_a_retry_after_a_crash_anywhere(conn: Conn, bank: RunningProvider, point: str) -> None:
    with pytest.raises(Crashed):
        pay_external(conn, bank, 1, "k", 5000, faults=CrashAt(point, how="raise"))
    run_out(conn)
    retry, third = (pay_external(conn, bank, 1, "k", 5000) for _ in range(2))
    assert retry.code == third.code == 201
    assert retry.body == third.body
    in_the_end(conn, bank)


@pytest.mark.parametrize("point", PHASES)
def test_a_retry_after_a_real_sigkill_anywhere(db: Postgres, conn: Conn, bank: RunningProvider, point: str) -> None:
    """The worker process dies by SIGKILL at the point; another one, later, finishes what it began."""
    url = "/v1/payments"
    with spawn("simlib.live.http_app:app", db.dsn, bank.url, crash_at=point) as worker:
        with pytest.raises(httpx.TransportError):
            httpx.post(worker.url + url, json=BODY, headers=AUTH, **DIRECT)
        assert worker.wait() == -9
        run_out(conn)
        with worker.again() as after:
            answers = [httpx.post(after.url + url, json=BODY, headers=AUTH, **DIRECT) for _ in range(2)]
    assert [a.status_code for a in answers] == [201, 201]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["idempotent-replayed"] == "true"
    in_the_end(conn, bank)


def test_until_its_lease_runs_out_a_dead_workers_key_is_409(conn: Conn, bank: RunningProvider) -> None:
    with pytest.raises(Crashed):
        pay_external(conn, bank, 1, "k", 5000, faults=CrashAt("after-lease", how="raise"))
    assert pay_external(conn, bank, 1, "k", 5000).code == 409
    run_out(conn)
    assert pay_external(conn, bank, 1, "k", 5000).code == 201


def test_a_crash_before_the_lease_keeps_nobody_away(conn: Conn, bank: RunningProvider) -> None:
    with pytest.raises(Crashed):
        pay_external(conn, bank, 1, "k", 5000, faults=CrashAt("after-claim", how="raise"))
    assert pay_external(conn, bank, 1, "k", 5000).code == 201


@pytest.mark.parametrize("point", ["after-charge", "after-charged", "before-commit"])
def test_a_slow_worker_whose_lease_ran_out_writes_nothing(
    db: Postgres, conn: Conn, bank: RunningProvider, point: str
) -> None:
    """The one who took over answers 201; the late one is told it lost its lease."""
    hold = HoldAt(point)
    with db.connect() as slow, ThreadPoolExecutor(1) as pool:
        late = pool.submit(pay_external, slow, bank, 1, "k", 5000, faults=hold)
        assert hold.reached.wait(30)
        if point == "before-commit":  # its row is locked by its own transaction: nobody can take over any more
            hold.release()
            assert late.result().code == 201
        else:
            run_out(conn)
            assert pay_external(conn, bank, 1, "k", 5000).code == 201
            hold.release()
            assert (late.result().code, b"lease ran out" in late.result().body) == (409, True)
    in_the_end(conn, bank)


def test_without_the_fence_the_late_worker_would_write_twice(
    db: Postgres, conn: Conn, bank: RunningProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: take the token out of the last write, and there are two receipts."""
    hold = HoldAt("after-charged")
    unfenced = recovery_points.DONE.replace("and lease_id = %(lease)s", "")
    monkeypatch.setattr(recovery_points, "DONE", unfenced)
    with db.connect() as slow, ThreadPoolExecutor(1) as pool:
        late = pool.submit(pay_external, slow, bank, 1, "k", 5000, faults=hold)
        assert hold.reached.wait(30)
        run_out(conn)
        pay_external(conn, bank, 1, "k", 5000)
        hold.release()
        late.result()
    assert one(conn, "select count(*) from outbox") == 2


def test_a_duplicate_on_a_held_lease_is_409(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    hold = HoldAt("after-lease")
    with db.connect() as busy, ThreadPoolExecutor(1) as pool:
        first = pool.submit(pay_external, busy, bank, 1, "k", 5000, faults=hold)
        assert hold.reached.wait(30)
        assert pay_external(conn, bank, 1, "k", 5000).code == 409
        hold.release()
        assert first.result().code == 201
    in_the_end(conn, bank)


def test_a_timeout_frees_the_lease_and_a_wrong_body_takes_none(conn: Conn, bank: RunningProvider) -> None:
    """Error, 422, then 201 at once: nobody has to wait for a lease to run out."""
    bank.behave("unavailable")
    assert pay_external(conn, bank, 1, "k", 5000).code == 503
    assert pay_external(conn, bank, 1, "k", 7000).code == 422
    assert one(conn, "select lease_id is null and locked_until is null from payment_keys")
    assert pay_external(conn, bank, 1, "k", 5000).code == 201
    in_the_end(conn, bank)


def test_an_answer_that_was_lost_on_the_way_from_the_provider(conn: Conn, bank: RunningProvider) -> None:
    """Charged, then the connection breaks: 504, and the retry's own key downstream finds the same charge."""
    bank.behave("charge-then-drop")
    assert pay_external(conn, bank, 1, "k", 5000).code == 504
    assert pay_external(conn, bank, 1, "k", 5000).code == 201
    in_the_end(conn, bank)


def test_a_decline_is_an_answer(conn: Conn, bank: RunningProvider) -> None:
    bank.behave("decline")
    first, again = (pay_external(conn, bank, 1, "k", 5000) for _ in range(2))
    assert (first.code, again.code, again.replayed, first.body == again.body) == (402, 402, True, True)
    in_the_end(conn, bank, charges=0)


def test_another_body_is_422_whatever_the_state_of_the_key(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    hold = HoldAt("after-lease")
    with db.connect() as busy, ThreadPoolExecutor(1) as pool:
        first = pool.submit(pay_external, busy, bank, 1, "k", 5000, faults=hold)
        assert hold.reached.wait(30)
        assert pay_external(conn, bank, 1, "k", 1).code == 422
        hold.release()
        assert first.result().code == 201
    assert pay_external(conn, bank, 1, "k", 1).code == 422
    in_the_end(conn, bank)


def test_another_account_with_the_same_key_is_another_payment(conn: Conn, bank: RunningProvider) -> None:
    """Downstream too: the key that travels on carries the account."""
    assert [pay_external(conn, bank, account, "k", 5000).code for account in (1, 2)] == [201, 201]
    assert len(bank.charges()) == 2
    assert {c.reference for c in bank.charges()} == {"1:k", "2:k"}


def test_twenty_at_once_charge_once(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    def call(_: int) -> int:
        with db.connect() as own:
            return pay_external(own, bank, 1, "k", 5000).code

    with ThreadPoolExecutor(20) as pool:
        codes = sorted(pool.map(call, range(20)))
    assert set(codes) <= {201, 409}
    assert 201 in codes
    in_the_end(conn, bank)


@pytest.mark.parametrize("level", list(psycopg.IsolationLevel)[1:], ids=lambda level: level.name)
def test_every_isolation_level_will_do(conn: Conn, bank: RunningProvider, level: psycopg.IsolationLevel) -> None:
    conn.isolation_level = level
    assert [pay_external(conn, bank, 1, "k", 5000).code for _ in range(2)] == [201, 201]
    in_the_end(conn, bank)


def test_a_key_that_was_removed_in_between_is_claimed_again(conn: Conn, bank: RunningProvider) -> None:
    """A reaper took the row after the claim: the claim is made again, and the work is done once."""

    class Reaper:
        done = False

        def point(self, name: str) -> None:
            if name == "after-claim" and not self.done:
                self.done = True
                conn.execute("delete from payment_keys")

    assert pay_external(conn, bank, 1, "k", 5000, faults=Reaper()).code == 201
    in_the_end(conn, bank)


def test_the_clock_of_a_lease_does_not_stand_still_in_a_transaction() -> None:
    """now() is the start of the transaction; a lease must be judged by the time it is."""
    assert "clock_timestamp()" in recovery_points.LEASE
    assert "now()" not in recovery_points.LEASE


def test_a_hang_up_during_a_provider_timeout_leaves_the_key_free(
    db: Postgres, conn: Conn, bank: RunningProvider
) -> None:
    """The client goes away while the provider is silent; the work goes on to its safe point and frees the lease."""
    bank.behave("slow:0.5", "ok")
    with serve(app(db.dsn, bank.url)) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/v1/payments", json=BODY, headers=AUTH, timeout=0.2, **DIRECT)
        until(lambda: one(conn, "select recovery_point from payment_keys") == "done")
        retry = httpx.post(f"{server.url}/v1/payments", json=BODY, headers=AUTH, **DIRECT)
    assert (retry.status_code, retry.headers.get("idempotent-replayed")) == (201, "true")
    in_the_end(conn, bank)


@pytest.mark.parametrize(
    ("fate", "code", "after"), [("decline", 402, None), ("unavailable", 503, "1"), ("charge-then-drop", 504, "1")]
)
def test_what_a_client_is_told_over_http(
    db: Postgres, bank: RunningProvider, fate: str, code: int, after: str | None
) -> None:
    bank.behave(fate)
    with serve(app(db.dsn, bank.url)) as server:
        answer = httpx.post(f"{server.url}/v1/payments", json=BODY, headers=AUTH, **DIRECT)
    assert answer.status_code == code
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers.get("retry-after") == after


def test_a_duplicate_over_http_is_409_with_a_hint(db: Postgres, bank: RunningProvider) -> None:
    bank.behave("slow:1")
    with serve(app(db.dsn, bank.url)) as server, ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(httpx.post, f"{server.url}/v1/payments", json=BODY, headers=AUTH, **DIRECT) for _ in range(2)
        ]
        answers = sorted((call.result() for call in calls), key=lambda a: a.status_code)
    assert [a.status_code for a in answers] == [201, 409]
    assert answers[1].headers["retry-after"] == "1"


def test_the_async_twin(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    async def twice() -> list[Response]:
        async with await psycopg.AsyncConnection.connect(db.dsn, autocommit=True) as own:
            return [await pay_external_async(own, bank, 1, "k", 5000) for _ in range(2)]

    first, again = asyncio.run(twice())
    assert (first.code, again.code, again.replayed, first.body == again.body) == (201, 201, True, True)
    in_the_end(conn, bank)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda conn, bank: pay_external(conn, bank, 1, "k", 0), "amount_cents is 0"),
        (lambda conn, bank: pay_external(conn, bank, 1, "k", 1, lease=0), "lease is 0"),
        (lambda conn, bank: pay_external(conn, bank, 1, "k", 1, currency="EUR"), "currency is 'EUR'"),
    ],
)
def test_what_it_refuses(
    conn: Conn, bank: RunningProvider, call: Callable[[Conn, RunningProvider], object], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        call(conn, bank)
    assert one(conn, "select count(*) from payment_keys") == 0


def test_a_connection_in_a_transaction_is_refused(conn: Conn, bank: RunningProvider) -> None:
    with pytest.raises(ValueError, match="in no transaction"), conn.transaction():
        pay_external(conn, bank, 1, "k", 5000)
