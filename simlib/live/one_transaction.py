"""A payment in one transaction: the key, the work and the saved answer are committed together, or none of them.

It fits where all of the work is rows in one's own database. The claim is an insert, and the table's primary key is the
lock: PostgreSQL lets a second insert of the same key wait until the first one's transaction has ended, and then it
knows whether the key is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg.pq import TransactionStatus

from simlib.policy.fingerprint import fingerprint as hash_of
from simlib.policy.verdict import Verdict, verdict

CLAIM = """
insert into idempotency_keys (account_id, key, request_hash)
values (%(account_id)s, %(key)s, %(fingerprint)s)
on conflict (account_id, key) do nothing
returning true"""

READ = """
select request_hash, response_code, response_body from idempotency_keys
where account_id = %(account_id)s and key = %(key)s"""

CHARGE = """
insert into charges (account_id, key, amount_cents, currency)
values (%(account_id)s, %(key)s, %(amount_cents)s, %(currency)s)
returning id"""

SAVE = """
update idempotency_keys set response_code = %(code)s, response_body = %(body)s
where account_id = %(account_id)s and key = %(key)s"""

MOST_CENTS = 2**31 - 1  # what the column holds
ATTEMPTS = 10  # transactions that one call may run
LOST = (SerializationFailure, DeadlockDetected)  # rolled back through no fault of its own: to be run again


@dataclass(frozen=True)
class Response:
    """An answer as a client sees it: status code, the body's bytes as saved, and whether it is a replay."""

    code: int
    body: bytes
    replayed: bool = False


class KeyVanished(RuntimeError):
    """The key was taken at every claim and gone at every read: something deletes keys as fast as they are written."""


def pay(
    conn: psycopg.Connection[Any],
    account_id: int,
    key: str,
    amount_cents: int,
    *,
    currency: str = "eur",
    fingerprint: str | None = None,
) -> Response:
    """Charge the account once for this key, however often and however concurrently it is asked.

    201 with the new charge; for a key seen before the saved answer, byte for byte, marked as replayed; 422 if the key
    came with another request. `fingerprint` stands for the request; by default it is that of the
    `POST /v1/charges` these arguments make. Whatever is raised, nothing was charged and nothing saved.

    The connection must not be in a transaction: an answer given before its commit may be taken back. ValueError says
    so, and which amounts and currencies there are.
    """
    request = checked_request("/v1/charges", account_id, key, amount_cents, currency, fingerprint)
    check_idle(conn)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with conn.transaction():
                # Claim the key. A duplicate waits here until the first has ended; if that rolled back, it claims.
                claimed = conn.execute(CLAIM, request).fetchone()
                if not claimed:
                    # Seen before. What the first one committed is visible now: serve it, do nothing.
                    answer = answer_to_known(conn.execute(READ, request).fetchone(), request)
                else:
                    # New: do the work, and save the answer in the same transaction.
                    charge = conn.execute(CHARGE, request).fetchone()
                    answer = created(charge, request)
                    conn.execute(SAVE, {**request, "code": answer.code, "body": answer.body.decode()})
        except LOST:
            if attempt == ATTEMPTS:
                raise
            continue
        if answer is not None:
            return answer
    raise KeyVanished(f"The key {key!r} was deleted between claim and read {ATTEMPTS} times; keep keys for longer.")


async def pay_async(
    conn: psycopg.AsyncConnection[Any],
    account_id: int,
    key: str,
    amount_cents: int,
    *,
    currency: str = "eur",
    fingerprint: str | None = None,
) -> Response:
    """`pay` for a service on asyncio. A task cancelled on the way (its client hung up) rolls back."""
    request = checked_request("/v1/charges", account_id, key, amount_cents, currency, fingerprint)
    check_idle(conn)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with conn.transaction():
                claimed = await (await conn.execute(CLAIM, request)).fetchone()
                if not claimed:
                    answer = answer_to_known(await (await conn.execute(READ, request)).fetchone(), request)
                else:
                    charge = await (await conn.execute(CHARGE, request)).fetchone()
                    answer = created(charge, request)
                    await conn.execute(SAVE, {**request, "code": answer.code, "body": answer.body.decode()})
        except LOST:
            if attempt == ATTEMPTS:
                raise
            continue
        if answer is not None:
            return answer
    raise KeyVanished(f"The key {key!r} was deleted between claim and read {ATTEMPTS} times; keep keys for longer.")


class _Stored(NamedTuple):
    """The row of a key that was claimed before; code and body are null in it while that request still runs."""

    fingerprint: str
    code: int
    body: str

    @property
    def finished(self) -> bool:
        return self.code is not None


def answer_to_known(row: Any, request: Mapping[str, Any]) -> Response | None:
    """What a key seen before is answered with; None if its row has gone since, so that the key is new again."""
    if row is None:
        return None
    stored = _Stored(*row)
    match verdict(stored, request["fingerprint"]):
        case Verdict.MISMATCH:
            return Response(422, to_json({"error": "this key came with another request before"}))
        case Verdict.RUNNING:  # never by this code, which commits a claim and its answer together
            return Response(409, to_json({"error": "a request with this key is still running"}))
        case _:
            return Response(stored.code, stored.body.encode(), replayed=True)


def created(charge: Any, request: Mapping[str, Any]) -> Response:
    """The answer to a new charge, from the row that its insert returned."""
    return Response(201, to_json({"charge_id": charge[0], **body_of(request)}))


def checked_request(
    path: str, account_id: int, key: str, amount_cents: int, currency: str, fingerprint: str | None
) -> dict[str, Any]:
    """The values the statements take, checked before anything is claimed."""
    if type(amount_cents) is not int or not 1 <= amount_cents <= MOST_CENTS:
        raise ValueError(f"amount_cents is {amount_cents!r}; it takes a whole number of cents from 1 to {MOST_CENTS}.")
    if not isinstance(currency, str) or not re.fullmatch("[a-z]{3}", currency):
        raise ValueError(f"currency is {currency!r}; it takes three small letters, such as 'eur'.")
    request = {"account_id": account_id, "key": key, "amount_cents": amount_cents, "currency": currency}
    return {**request, "fingerprint": fingerprint or hash_of("POST", path, to_json(body_of(request)))}


def body_of(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"amount_cents": request["amount_cents"], "currency": request["currency"]}


def check_idle(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise ValueError(
            "pay needs a connection that is in no transaction: inside one its commit would be a savepoint, "
            "which can still be rolled back; commit or roll back first."
        )


def to_json(members: Mapping[str, Any]) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode()
