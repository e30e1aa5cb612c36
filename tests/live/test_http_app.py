"""The keyed API over real HTTP on a real PostgreSQL: the five cases and their order, and what surrounds them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from simlib.live import database
from simlib.live.client import DIRECT, post_with_retry
from simlib.live.http_app import app
from simlib.live.pg.server import Postgres
from simlib.live.serving import serve
from simlib.live.tape import Tape
from simlib.live.tcp_proxy import Fault, proxy

BODY = {"amount_cents": 5000, "currency": "eur"}
AUTH = {"Authorization": "Bearer token-of-account-1"}


@pytest.fixture
def api(db: Postgres) -> Iterator[httpx.Client]:
    """A client of account 1, without a key."""
    with serve(app(db.dsn)) as server, httpx.Client(base_url=server.url, headers=AUTH, **DIRECT) as client:
        yield client


def pay(api: httpx.Client, key: str | None = "k", body: object = BODY, **headers: str) -> httpx.Response:
    own = {} if key is None else {"Idempotency-Key": key}
    return api.post("/v1/charges", json=body, headers={**own, **headers})


def count(db: Postgres, table: str) -> int:
    with db.connect() as conn:
        row = conn.execute(f"select count(*) from {table}").fetchone()
        assert row is not None
        return row[0]


def test_case_1_no_key_or_a_bad_one_is_400_and_nothing_is_stored(api: httpx.Client, db: Postgres) -> None:
    for key in (None, "", '"unclosed', "a, b", "k" * 256):
        answer = pay(api, key)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert "Idempotency-Key" in answer.json()["detail"]
    assert count(db, "idempotency_keys") == count(db, "charges") == 0


def test_two_key_headers_are_two_keys(api: httpx.Client) -> None:
    answer = api.post("/v1/charges", json=BODY, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])
    assert answer.status_code == 400
    assert "more than one key" in answer.json()["detail"]


def test_case_2_a_known_key_with_another_request_is_422_whatever_its_state(api: httpx.Client, db: Postgres) -> None:
    assert pay(api).status_code == 201
    other = pay(api, body={"amount_cents": 7000})
    assert (other.status_code, other.json()["type"]) == (422, "urn:simlib:key-reused")
    assert count(db, "charges") == 1


def test_case_3_a_finished_key_is_replayed_byte_for_byte(api: httpx.Client, db: Postgres) -> None:
    first, second, quoted = pay(api), pay(api), pay(api, '"k"')
    assert first.status_code == second.status_code == quoted.status_code == 201
    assert first.content == second.content == quoted.content
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert count(db, "charges") == 1


def test_case_3_the_same_request_written_otherwise_is_the_same(api: httpx.Client, db: Postgres) -> None:
    first = pay(api)
    again = api.post(
        "/v1/charges", content=b'{ "currency":"eur", "amount_cents": 5000.0 }', headers={"Idempotency-Key": "k"}
    )
    assert again.content == first.content
    assert count(db, "charges") == 1


def test_case_4_a_running_key_is_waited_for(api: httpx.Client, db: Postgres) -> None:
    """Five at once, held in the middle of the work: all get the first one's answer, none 409."""
    with ThreadPoolExecutor(5) as pool, db.connect() as holder:
        with holder.transaction():
            holder.execute("lock table charges in exclusive mode")
            calls = [pool.submit(pay, api) for _ in range(5)]
            _until_waiting(db, 5)
        answers = [call.result() for call in calls]
    assert [answer.status_code for answer in answers] == [201] * 5
    assert len({answer.content for answer in answers}) == 1
    assert sorted("Idempotent-Replayed" in answer.headers for answer in answers) == [False, True, True, True, True]
    assert count(db, "charges") == 1


def test_case_4_a_wait_too_long_is_409_with_a_hint(db: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with (
        serve(app(db.dsn)) as server,
        httpx.Client(base_url=server.url, headers=AUTH, **DIRECT) as api,
        db.connect() as holder,
        holder.transaction(),
    ):
        holder.execute("insert into idempotency_keys (account_id, key, request_hash) values (1, 'k', 'x')")
        answer = pay(api)
        assert (answer.status_code, answer.headers["Retry-After"]) == (409, "1")
        assert answer.json()["type"] == "urn:simlib:key-in-use"


def test_case_5_a_new_key_is_worked_on(api: httpx.Client, db: Postgres) -> None:
    answer = pay(api)
    assert answer.status_code == 201
    assert answer.json()["amount_cents"] == 5000
    assert pay(api, "other").content != answer.content
    assert count(db, "charges") == 2


def test_a_request_that_fails_validation_leaves_its_key_free(api: httpx.Client) -> None:
    assert pay(api, body={"amount_cents": -1}).status_code == 400
    assert pay(api).status_code == 201


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer nobody", "Basic token-of-account-1", "token-of-account-1"]
)
def test_who_asks_comes_first_also_before_a_replay(api: httpx.Client, authorization: str) -> None:
    """A replay must be authorised today."""
    pay(api)
    answer = pay(api, Authorization=authorization)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert b"charge_id" not in answer.content


def test_an_account_never_sees_another_ones_answer(api: httpx.Client, db: Postgres) -> None:
    """The same key, the same body, another account: a charge of its own."""
    mine = pay(api)
    theirs = pay(api, Authorization="Bearer token-of-account-2")
    assert theirs.status_code == 201
    assert theirs.content != mine.content
    assert "Idempotent-Replayed" not in theirs.headers
    assert count(db, "charges") == 2


def test_a_client_that_hangs_up_rolls_it_back_and_the_retry_starts_afresh(api: httpx.Client, db: Postgres) -> None:
    with db.connect() as holder:
        with holder.transaction():
            holder.execute("lock table charges in exclusive mode")
            with pytest.raises(httpx.ReadTimeout):
                api.post("/v1/charges", json=BODY, headers={"Idempotency-Key": "k"}, timeout=0.3)
            _until_waiting(db, 0)
        assert count(db, "idempotency_keys") == 0
    answer = pay(api)
    assert answer.status_code == 201
    assert "Idempotent-Replayed" not in answer.headers
    assert count(db, "charges") == 1


def _until_waiting(db: Postgres, sessions: int) -> None:
    """Return once so many sessions of this schema wait for a lock (0: no session holds a transaction but ours)."""
    query = "select count(*) from pg_stat_activity where application_name = current_setting('application_name') and "
    query += "cardinality(pg_blocking_pids(pid)) > 0"
    with db.connect() as watcher:
        while watcher.execute(query).fetchone() != (sessions,):
            pass


def test_a_database_that_is_gone_is_503_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with (
        serve(app("postgresql://nobody@127.0.0.1:1/none")) as server,
        httpx.Client(base_url=server.url, headers=AUTH, **DIRECT) as api,
    ):
        answer = pay(api)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert api.get("/metrics").status_code == 503


def test_every_log_line_of_a_request_names_its_key(api: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "simlib.live.http"):
        pay(api, "8e%d03", **{"X-Attempt": "2"})
        pay(api, "8e%d03", body={"amount_cents": 0})
        pay(api, "k" * 300)
    lines = [record.getMessage() for record in caplog.records if record.name == "simlib.live.http"]
    assert len(lines) == 3
    assert lines[0].startswith("account=1 key='8e%d03' attempt=2 POST /v1/charges -> 201, ")
    assert "key='8e%d03'" in lines[1]
    assert "k" * 80 in lines[2]
    assert len(lines[2]) < 300


def test_what_to_watch_is_told_to_prometheus(api: httpx.Client, db: Postgres) -> None:
    pay(api)
    pay(api, **{"X-Attempt": "2"})
    pay(api, body={"amount_cents": 1})
    pay(api, None)
    with db.connect() as conn:
        conn.execute(
            "insert into payment_keys (account_id, key, request_hash, created_at) "
            "values (1, 'stuck', 'x', now() - interval '1 hour')"
        )
    answer = api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    figures = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    for name, value in (
        ("requests", 4),
        ("claims", 1),
        ("replays", 1),
        ("mismatches", 1),
        ("conflicts", 0),
        ("retries", 1),
        ("refusals", 1),
    ):
        assert float(figures[f"simlib_{name}_total"]) == value, name
    assert 3590 < float(figures["simlib_oldest_unfinished_key_seconds"]) < 4000
    assert float(figures["simlib_keys_charged_more_than_once"]) == 0


def test_a_real_run_writes_the_trace_of_the_simulated_one(db: Postgres) -> None:
    """A reply lost, then the replay: the rows of the diagram, from the phone, the wire, the server and the database."""
    tape = Tape()
    with (
        serve(app(db.dsn, tape=tape)) as server,
        proxy(server.url, Fault("cut", "before"), tape=tape) as wire,
    ):
        url = f"{wire.url}/v1/charges"
        answer = post_with_retry(url, BODY, key="8e03", headers=AUTH, tape=tape, sleep=lambda _: None)
    assert answer.headers["Idempotent-Replayed"] == "true"
    trace = tape.trace()
    assert trace.sql("select actor, event, attempt, status from events").rows == (
        ("phone", "send", 1, None),
        ("server", "arrive", 1, None),
        ("database", "claim", 1, None),
        ("database", "effect", 1, None),
        ("database", "save", 1, None),
        ("server", "reply", 1, "201"),
        ("network", "lose", 1, "reply"),
        ("phone", "timeout", 1, "dropped"),
        ("phone", "backoff", 1, None),
        ("phone", "send", 2, None),
        ("server", "arrive", 2, None),
        ("database", "replay", 2, "201"),
        ("server", "reply", 2, "201"),
        ("phone", "receive", 2, "201"),
    )
    assert set(trace.sql("select distinct request, key from events").rows) == {(0, "8e03")}
    assert trace.holds("at most one charge per key")
    assert trace.sql("select amount_cents from charges").scalar() == 5000
