"""Broken ways to pay through a provider: leases that stay, leases that do not protect, answers not worth keeping."""

from __future__ import annotations

import secrets
from typing import Any

import psycopg

from simlib.live.one_transaction import Response
from simlib.live.provider_client import ProviderError
from simlib.policy.fingerprint import fingerprint

Conn = psycopg.Connection[Any]

START = "insert into payment_keys (account_id, key, request_hash) values (%s, %s, %s) on conflict do nothing"
READ = "select request_hash, response_code from payment_keys where account_id = %s and key = %s"
TAKE = """
update payment_keys set locked_until = clock_timestamp() + interval '30 seconds', lease_id = %s
where account_id = %s and key = %s and (locked_until is null or locked_until < clock_timestamp())
returning recovery_point"""
FREE = "update payment_keys set locked_until = null where account_id = %s and key = %s"
CHARGED = "update payment_keys set recovery_point = 'charged' where account_id = %s and key = %s and lease_id = %s"
DONE = """
update payment_keys set recovery_point = 'done', response_code = %s, locked_until = null
where account_id = %s and key = %s"""
MINE = " and lease_id = %s"
CHARGE = "insert into charges (account_id, key, amount_cents) values (%s, %s, %s)"
RECEIPT = "insert into outbox (topic, payload) values ('receipt', %s)"


def _hash(cents: int) -> str:
    return fingerprint("POST", "/v1/payments", b'{"amount_cents":%d}' % cents)


def _begin(conn: Conn, account: int, key: str, cents: int) -> Response | None:
    """Start the key, answer for one that came with another request or is finished."""
    conn.execute(START, [account, key, _hash(cents)])
    row = conn.execute(READ, [account, key]).fetchone()
    if row is not None and row[0] != _hash(cents):
        return Response(422, b"")
    return Response(row[1], b"", replayed=True) if row is not None and row[1] else None


def _end(conn: Conn, account: int, key: str, cents: int, lease: str | None) -> Response:
    """The last phase; with a lease it is fenced."""
    with conn.transaction():
        wrote = conn.execute(DONE + (MINE if lease else ""), [201, account, key, *([lease] if lease else [])])
        if wrote.rowcount == 0:
            return Response(409, b"")
        conn.execute(CHARGE, [account, key, cents])
        conn.execute(RECEIPT, [key])
    return Response(201, b"")


def fingerprint_after_the_lease(conn: Conn, provider: Any, account: int, key: str, cents: int) -> Response:
    """Takes the lease first and looks at the request then: a wrong one leaves, and the lease stays."""
    conn.execute(START, [account, key, _hash(cents)])
    lease = secrets.token_hex(8)
    taken = conn.execute(TAKE + "", [lease, account, key]).fetchone()
    row = conn.execute(READ, [account, key]).fetchone()
    if row is not None and row[0] != _hash(cents):
        return Response(422, b"")
    if row is not None and row[1]:
        conn.execute(FREE, [account, key])
        return Response(row[1], b"", replayed=True)
    if taken is None:
        return Response(409, b"")
    try:
        provider.charge(f"{account}:{key}", cents)
    except ProviderError:
        conn.execute(FREE, [account, key])
        return Response(504, b"")
    return _end(conn, account, key, cents, lease)


def lease_without_a_token(conn: Conn, provider: Any, account: int, key: str, cents: int) -> Response:
    """Has a lease with an end and nothing that says whose it is: a late worker writes as if nothing had happened."""
    if known := _begin(conn, account, key, cents):
        return known
    if conn.execute(TAKE, [None, account, key]).fetchone() is None:
        return Response(409, b"")
    try:
        provider.charge(f"{account}:{key}", cents)
    except ProviderError:
        conn.execute(FREE, [account, key])
        return Response(504, b"")
    return _end(conn, account, key, cents, None)


def lease_kept_on_error(conn: Conn, provider: Any, account: int, key: str, cents: int) -> Response:
    """Passes the provider's time-out on and leaves the lease behind: every retry is told 409 until it runs out."""
    if known := _begin(conn, account, key, cents):
        return known
    lease = secrets.token_hex(8)
    if conn.execute(TAKE, [lease, account, key]).fetchone() is None:
        return Response(409, b"")
    try:
        provider.charge(f"{account}:{key}", cents)
    except ProviderError:
        return Response(504, b"")
    return _end(conn, account, key, cents, lease)


def last_write_not_fenced(conn: Conn, provider: Any, account: int, key: str, cents: int) -> Response:
    """Has a token and names it in every write but the last."""
    if known := _begin(conn, account, key, cents):
        return known
    lease = secrets.token_hex(8)
    held = conn.execute(TAKE, [lease, account, key]).fetchone()
    if held is None:
        return Response(409, b"")
    if held[0] == "started":
        try:
            provider.charge(f"{account}:{key}", cents)
        except ProviderError:
            conn.execute(FREE, [account, key])
            return Response(504, b"")
        if conn.execute(CHARGED, [account, key, lease]).rowcount == 0:
            return Response(409, b"")
    return _end(conn, account, key, cents, None)


def two_calls_in_one_phase(conn: Conn, provider: Any, courier: Any, account: int, key: str, cents: int) -> Response:
    """Charges and sends the parcel before it writes down either: the parcel goes out again."""
    if known := _begin(conn, account, key, cents):
        return known
    lease = secrets.token_hex(8)
    if conn.execute(TAKE, [lease, account, key]).fetchone() is None:
        return Response(409, b"")
    try:
        provider.charge(f"{account}:{key}", cents)
    except ProviderError:
        conn.execute(FREE, [account, key])
        return Response(504, b"")
    courier.send(key)
    return _end(conn, account, key, cents, lease)


def saved_500(conn: Conn, provider: Any, account: int, key: str, cents: int) -> Response:
    """Keeps the answer to a time-out like any other: the outage lasts a minute, the 500 for ever."""
    if known := _begin(conn, account, key, cents):
        return known
    lease = secrets.token_hex(8)
    if conn.execute(TAKE, [lease, account, key]).fetchone() is None:
        return Response(409, b"")
    try:
        provider.charge(f"{account}:{key}", cents)
    except ProviderError:
        conn.execute(DONE + MINE, [500, account, key, lease])
        return Response(500, b"")
    return _end(conn, account, key, cents, lease)


def replay_takes_the_lease(conn: Conn, provider: Any, account: int, key: str, cents: int) -> Response:
    """Takes the lease before it looks whether there is anything left to do, and replays without giving it back."""
    conn.execute(START, [account, key, _hash(cents)])
    row = conn.execute(READ, [account, key]).fetchone()
    if row is not None and row[0] != _hash(cents):
        return Response(422, b"")
    lease = secrets.token_hex(8)
    held = conn.execute(TAKE, [lease, account, key]).fetchone()
    if held is None:
        return Response(409, b"")
    if held[0] == "done":
        return Response(201, b"", replayed=True)
    try:
        provider.charge(f"{account}:{key}", cents)
    except ProviderError:
        conn.execute(FREE, [account, key])
        return Response(504, b"")
    return _end(conn, account, key, cents, lease)
