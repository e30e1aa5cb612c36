"""Broken ways to claim a key and to do the work, each of which somebody has shipped. None fails when tried alone."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
from psycopg import IsolationLevel

from simlib.live.one_transaction import Response, pay
from simlib.policy.fingerprint import fingerprint

Conn = psycopg.Connection[Any]

INSERT = "insert into idempotency_keys (account_id, key, request_hash) values (%s, %s, %s) on conflict do nothing"
KNOWN = "select response_code, response_body from idempotency_keys where account_id = %s and key = %s"
CHARGE = "insert into charges (account_id, key, amount_cents) values (%s, %s, %s)"
SAVE = "update idempotency_keys set response_code = 201, response_body = %s where account_id = %s and key = %s"
BODY = "paid"


def _said(row: Any) -> Response:
    return Response(row[0] or 409, (row[1] or "").encode(), replayed=True)


def _hash(cents: int) -> str:
    return fingerprint("POST", "/v1/charges", b'{"amount_cents":%d}' % cents)


def check_then_insert(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Looks whether the key is there, then works, then writes it down."""
    with conn.transaction():
        if row := conn.execute(KNOWN, [account, key]).fetchone():
            return _said(row)
        conn.execute(CHARGE, [account, key, cents])
        conn.execute(INSERT, [account, key, _hash(cents)])
        conn.execute(SAVE, [BODY, account, key])
    return Response(201, BODY.encode())


def claim_then_work(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Commits the claim in a transaction of its own, and works in the next."""
    if conn.execute(INSERT, [account, key, _hash(cents)]).rowcount == 0:
        return _said(conn.execute(KNOWN, [account, key]).fetchone())
    with conn.transaction():
        conn.execute(CHARGE, [account, key, cents])
        conn.execute(SAVE, [BODY, account, key])
    return Response(201, BODY.encode())


def key_not_scoped(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Looks the key up without the account, so whoever guesses a key gets another's answer."""
    with conn.transaction():
        found = conn.execute("select response_code, response_body from idempotency_keys where key = %s", [key])
        if row := found.fetchone():
            return _said(row)
        if conn.execute(INSERT, [account, key, _hash(cents)]).rowcount:
            conn.execute(CHARGE, [account, key, cents])
            conn.execute(SAVE, [BODY, account, key])
    return Response(201, BODY.encode())


def fingerprint_not_checked(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Answers whatever comes with a known key with the saved answer, another amount too."""
    with conn.transaction():
        if conn.execute(INSERT, [account, key, _hash(cents)]).rowcount == 0:
            return _said(conn.execute(KNOWN, [account, key]).fetchone())
        conn.execute(CHARGE, [account, key, cents])
        conn.execute(SAVE, [BODY, account, key])
    return Response(201, BODY.encode())


def key_per_attempt(conn: Conn, account: int, cents: int) -> Response:
    """Makes a new key for every try: as good as none."""
    return pay(conn, account, str(uuid.uuid4()), cents)


def key_from_the_content(conn: Conn, account: int, cents: int, purchase: str) -> Response:
    """Makes the key of what is bought, so a second purchase of the same thing is taken for a retry."""
    return pay(conn, account, f"{account}-{cents}", cents)


def lock_released_before_commit(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Guards check and work with an advisory lock, and lets it go just before the commit."""
    with conn.transaction():
        conn.execute("select pg_advisory_lock(%s)", [account])
        row = conn.execute(KNOWN, [account, key]).fetchone()
        if row is None:
            conn.execute(CHARGE, [account, key, cents])
            conn.execute(INSERT, [account, key, _hash(cents)])
            conn.execute(SAVE, [BODY, account, key])
        conn.execute("select pg_advisory_unlock(%s)", [account])
    return _said(row) if row else Response(201, BODY.encode())


def upsert_that_works_again(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Claims by `on conflict do update ... returning`, which returns a row to everybody."""
    claim = (
        "insert into idempotency_keys (account_id, key, request_hash) values (%s, %s, %s) "
        "on conflict (account_id, key) do update set request_hash = excluded.request_hash returning key"
    )
    with conn.transaction():
        if conn.execute(claim, [account, key, _hash(cents)]).fetchone():
            conn.execute(CHARGE, [account, key, cents])
            conn.execute(SAVE, [BODY, account, key])
    return Response(201, BODY.encode())


def serializable_without_a_retry(conn: Conn, account: int, key: str, cents: int) -> Response:
    """Leaves it all to SERIALIZABLE, and passes its 40001 on to the customer."""
    conn.isolation_level = IsolationLevel.SERIALIZABLE
    return check_then_insert(conn, account, key, cents)
