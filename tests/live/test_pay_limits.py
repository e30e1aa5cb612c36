"""What PostgreSQL itself does with keys, waits and transactions: each point the course makes, run."""

from __future__ import annotations

import json
import secrets
import string
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.errors import UniqueViolation
from psycopg.pq import TransactionStatus

from simlib import live
from simlib.live.one_transaction import CLAIM, READ

KEY = {"account_id": 1, "key": "k", "fingerprint": "f"}
PLAIN_INSERT = CLAIM.replace("on conflict (account_id, key) do nothing", "")


def count(conn: psycopg.Connection[Any], table: str) -> int:
    row = conn.execute(f"select count(*) from {table}").fetchone()
    assert row
    return row[0]


def random_key(length: int) -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(length))


def test_a_wait_can_have_a_limit(db: Any, conn: psycopg.Connection[Any]) -> None:
    """`lock_timeout` gives 55P03, which a server answers with 409 and Retry-After; nothing is kept, a retry works."""
    conn.execute("set lock_timeout = '20ms'")
    with db.connect() as holder, holder.transaction():
        holder.execute(CLAIM, KEY)
        with pytest.raises(errors.LockNotAvailable) as caught:
            live.pay(conn, 1, "k", 500)
        assert caught.value.sqlstate == "55P03"
        raise psycopg.Rollback
    assert conn.info.transaction_status == TransactionStatus.IDLE
    assert live.pay(conn, 1, "k", 500).code == 201


def test_a_plain_insert_spoils_the_transaction(conn: psycopg.Connection[Any]) -> None:
    """Without `on conflict` the duplicate raises 23505, and in that transaction nothing can be read any more: 25P02."""
    live.pay(conn, 1, "k", 500)
    with conn.transaction(force_rollback=True):
        with pytest.raises(UniqueViolation, match="idempotency_keys_pkey"):
            conn.execute(PLAIN_INSERT, KEY)
        with pytest.raises(errors.InFailedSqlTransaction) as caught:
            conn.execute(READ, KEY)
    assert caught.value.sqlstate == "25P02"


def test_a_skipped_insert_burns_a_number_of_its_sequence(conn: psycopg.Connection[Any]) -> None:
    """So a gap in numbers is no sign of a lost row."""
    conn.execute("create table numbered (id bigserial, key text primary key)")
    ids = [
        conn.execute(
            "insert into numbered (key) values (%s) on conflict (key) do nothing returning id", [key]
        ).fetchone()
        for key in ("a", "a", "a", "b")
    ]
    assert ids == [(1,), None, None, (4,)]


def test_a_random_key_too_long_for_the_index_is_refused(conn: psycopg.Connection[Any]) -> None:
    """About a third of a page, 2,704 bytes with its overhead, is the most a B-tree holds: 54000."""
    assert live.pay(conn, 1, random_key(2600), 500).code == 201
    with pytest.raises(errors.ProgramLimitExceeded) as caught:
        live.pay(conn, 1, random_key(10_000), 500)
    assert caught.value.sqlstate == "54000"
    assert count(conn, "charges") == count(conn, "idempotency_keys") == 1


def test_a_longer_key_that_compresses_passes(conn: psycopg.Connection[Any]) -> None:
    """So the index is no check of length: that must be done before, in characters and in bytes."""
    assert live.pay(conn, 1, "a" * 100_000, 500).code == 201
    assert live.pay(conn, 1, "a" * 100_000, 500).replayed


def test_characters_are_not_bytes(conn: psycopg.Connection[Any]) -> None:
    live.pay(conn, 1, "🔑" * 255, 500)
    assert conn.execute("select length(key), octet_length(key) from idempotency_keys").fetchone() == (255, 1020)


@pytest.mark.parametrize(
    ("key", "error"), [("a\0b", psycopg.DataError), ("a\ud800b", UnicodeEncodeError)], ids=["NUL", "lone surrogate"]
)
def test_text_that_postgresql_cannot_hold_fails_in_the_client(
    conn: psycopg.Connection[Any], key: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        live.pay(conn, 1, key, 500)
    assert conn.info.transaction_status == TransactionStatus.IDLE
    assert count(conn, "charges") == count(conn, "idempotency_keys") == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [("caf\u00e9", "cafe\u0301"), ("key", "KEY"), ("key", "key "), ("key", " key"), ("1", "01"), ("", " ")],
    ids=["NFC and NFD", "case", "trailing blank", "leading blank", "digits", "empty"],
)
def test_keys_that_look_alike_are_different_keys(conn: psycopg.Connection[Any], one: str, other: str) -> None:
    assert not live.pay(conn, 1, one, 500).replayed
    assert not live.pay(conn, 1, other, 500).replayed
    assert live.pay(conn, 1, one, 500).replayed


@pytest.mark.parametrize("key", ["'; drop table charges; --", "%s", "%(key)s", "\\", "🔑", "\u202e", "a\nb"], ids=ascii)
def test_a_key_is_data_whatever_it_says(conn: psycopg.Connection[Any], key: str) -> None:
    first = live.pay(conn, 1, key, 500)
    assert live.pay(conn, 1, key, 500) == live.Response(201, first.body, replayed=True)
    assert conn.execute("select key from charges").fetchall() == [(key,)]


@pytest.mark.parametrize(
    "body",
    ['{"a":1}', '{"b": 1, "a": 2}', '{"a": 1e2}', '{"a": "\\u00e9"}', '{"a": 1, "a": 2}'],
    ids=["blanks", "order", "numbers", "escapes", "duplicate members"],
)
def test_jsonb_does_not_give_back_the_bytes(conn: psycopg.Connection[Any], body: str) -> None:
    """It stores the value, not the text; a client that checks a signature over the body would refuse the replay."""
    row = conn.execute("select %s::text::jsonb::text, %s::text", [body, body]).fetchone()
    assert row
    assert row[1] == body
    assert row[0] != body
    assert json.loads(row[0]) == json.loads(body)


def test_a_prepared_transaction_of_a_dead_client_blocks_its_key_for_everybody(
    db: Any, conn: psycopg.Connection[Any]
) -> None:
    """Two-phase commit outlives its session: it must be found and ended by hand."""
    dying = db.connect(autocommit=False)
    dying.tpc_begin(dying.xid(1, "claim", db.schema))
    dying.execute(CLAIM, KEY)
    dying.tpc_prepare()
    dying.close()
    conn.execute("set lock_timeout = '20ms'")
    with pytest.raises(errors.LockNotAvailable):
        live.pay(conn, 1, "k", 500)
    conn.autocommit = False
    (left,) = [xid for xid in conn.tpc_recover() if xid.bqual == db.schema]
    conn.tpc_rollback(left)
    assert live.pay(conn, 1, "k", 500).code == 201


def test_on_conflict_without_a_target_swallows_other_violations(conn: psycopg.Connection[Any]) -> None:
    """A second unique index, say on the fingerprint: its violation looks like "key seen", and the charge is lost."""
    conn.execute("create unique index on idempotency_keys (request_hash)")
    live.pay(conn, 1, "k", 500, fingerprint="f")
    untargeted = CLAIM.replace("on conflict (account_id, key) do nothing", "on conflict do nothing")
    assert conn.execute(untargeted, {**KEY, "key": "new"}).fetchone() is None  # taken for a repeat
    assert conn.execute(READ, {**KEY, "key": "new"}).fetchone() is None  # and there is nothing to replay
    with pytest.raises(UniqueViolation, match="request_hash"):
        live.pay(conn, 1, "new", 500, fingerprint="f")  # pay names its target, so it is told


def test_the_row_count_tells_first_from_repeat(conn: psycopg.Connection[Any]) -> None:
    assert [conn.execute(CLAIM, KEY).statusmessage for _ in range(2)] == ["INSERT 0 1", "INSERT 0 0"]


def test_now_stands_still_in_a_transaction(conn: psycopg.Connection[Any]) -> None:
    """So `locked_until < now()` does not see a lease run out inside one; `clock_timestamp()` does."""
    conn.execute("insert into payment_keys (account_id, key, request_hash) values (1, 'k', 'f')")
    with conn.transaction():
        conn.execute("update payment_keys set locked_until = clock_timestamp() + interval '1 ms'")
        conn.execute("select pg_sleep(0.005)")
        row = conn.execute("select locked_until < now(), locked_until < clock_timestamp() from payment_keys").fetchone()
    assert row == (False, True)


def test_the_key_table_cannot_be_partitioned_by_day_under_its_primary_key(conn: psycopg.Connection[Any]) -> None:
    """0A000: a unique index of a partitioned table must hold the partition's column."""
    with pytest.raises(errors.FeatureNotSupported) as caught:
        conn.execute(
            "create table by_day (account_id bigint, key text, created_at timestamptz, primary key (account_id, key)) "
            "partition by range (created_at)"
        )
    assert caught.value.sqlstate == "0A000"


def test_with_the_day_in_the_key_one_key_is_claimed_on_both_sides_of_midnight(conn: psycopg.Connection[Any]) -> None:
    conn.execute(
        "create table by_day (account_id bigint, key text, day date, primary key (account_id, key, day)) "
        "partition by list (day)"
    )
    for day in ("2026-12-01", "2026-12-02"):
        name = f"day_{day.replace('-', '_')}"
        conn.execute(f"create table {name} partition of by_day for values in ('{day}')")
    insert = "insert into by_day values (1, 'k', %s) on conflict do nothing returning true"
    claims = [conn.execute(insert, [day]).fetchone() for day in ("2026-12-01", "2026-12-01", "2026-12-02")]
    assert claims == [(True,), None, (True,)]
