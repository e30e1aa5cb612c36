"""A payment through somebody else's API: no transaction spans both, so the way is cut into phases that can be resumed.

The key's row says how far its payment has got (`started`, `charged`, `done`) and who works on it: a lease with an end,
so that a dead worker blocks nobody for ever, and with a random token, so that a late one can change nothing any more.
Between two points there is one outside call at most, and it carries a key of its own.
"""

from __future__ import annotations

import secrets
from typing import Any

import psycopg
from psycopg.errors import DeadlockDetected, SerializationFailure

from simlib.live.faults import OFF, Faults
from simlib.live.one_transaction import (
    ATTEMPTS,
    KeyVanished,
    Response,
    answer_to_known,
    body_of,
    check_idle,
    checked_request,
    to_json,
)
from simlib.live.provider_client import CardDeclined, Charger, Provider, ProviderError, ProviderTimeout

LEASE_SECONDS = 30.0  # well over the provider's own limit of 10 s: whoever still works must not lose it

START = """
insert into payment_keys (account_id, key, request_hash, amount_cents, currency)
values (%(account_id)s, %(key)s, %(fingerprint)s, %(amount_cents)s, %(currency)s)
on conflict (account_id, key) do nothing"""

READ = """
select request_hash, response_code, response_body from payment_keys
where account_id = %(account_id)s and key = %(key)s"""

LEASE = """
update payment_keys
set lease_id = %(lease)s, locked_until = clock_timestamp() + make_interval(secs => %(seconds)s)
where account_id = %(account_id)s and key = %(key)s and recovery_point <> 'done'
  and (locked_until is null or locked_until < clock_timestamp())
returning recovery_point, provider_charge_id"""

MINE = "where account_id = %(account_id)s and key = %(key)s and lease_id = %(lease)s"

CHARGED = f"update payment_keys set recovery_point = 'charged', provider_charge_id = %(charge_id)s {MINE}"

DONE = f"""
update payment_keys
set recovery_point = 'done', response_code = %(code)s, response_body = %(body)s, locked_until = null, lease_id = null
{MINE}"""

FREE = f"update payment_keys set locked_until = null, lease_id = null {MINE}"

CHARGE = """
insert into charges (account_id, key, amount_cents, currency)
values (%(account_id)s, %(key)s, %(amount_cents)s, %(currency)s)"""

RECEIPT = "insert into outbox (topic, payload) values ('receipt', %(body)s)"

AGAIN = (SerializationFailure, DeadlockDetected)


class LostLease(Exception):
    """The lease ran out and another worker has it: whatever this one still wanted to write is not written."""


def pay_external(
    conn: psycopg.Connection[Any],
    provider: Charger,
    account_id: int,
    key: str,
    amount_cents: int,
    *,
    currency: str = "eur",
    fingerprint: str | None = None,
    faults: Faults | None = None,
    lease: float = LEASE_SECONDS,
) -> Response:
    """Charge through the provider once for this key, whoever dies where: a retry goes on where the last one stopped.

    201, or the saved answer marked as replayed; 402 when the card was declined (an answer, saved); 409 while another
    call holds the lease, and for one that lost its own; 422 if the key came with another request (no lease is taken);
    503 or 504 when the provider cannot or does not answer (nothing is saved, the lease is free again).

    `fingerprint` defaults to that of the `POST /v1/payments` these arguments make, `lease` is in seconds. The
    connection must be in autocommit mode and in no transaction. Source: the recovery points of Brandur Leach's
    "Implementing Stripe-like Idempotency Keys in Postgres" and the fencing tokens of M. Kleppmann.
    """
    asked = _asked(account_id, key, amount_cents, currency, fingerprint, lease)
    check_idle(conn)
    faults = faults or OFF
    for _ in range(ATTEMPTS):
        conn.execute(START, asked)
        faults.point("after-claim")
        row = conn.execute(READ, asked).fetchone()
        if row is None:
            continue  # removed between the two: the key is new again
        if known := _known(row, asked):
            return known  # before any lease: neither a wrong request nor a replay may keep others away
        held = conn.execute(LEASE, asked).fetchone()
        if held is None:
            return _running()
        break
    else:
        raise KeyVanished(f"The key {key!r} was deleted between claim and read {ATTEMPTS} times; keep keys for longer.")
    faults.point("after-lease")
    try:
        point, charge_id = held
        if point == "started":
            charge_id = provider.charge(downstream(account_id, key), amount_cents)
            faults.point("after-charge")
            _mine(conn.execute(CHARGED, {**asked, "charge_id": charge_id}))
            faults.point("after-charged")
        return _finish(conn, asked, _created(charge_id, asked), faults)
    except CardDeclined as no:
        return _decline(conn, asked, no)
    except ProviderError as error:
        conn.execute(FREE, asked)
        return _unavailable(error)
    except LostLease:
        return _lost()


def _finish(conn: psycopg.Connection[Any], asked: dict[str, Any], answer: Response, faults: Faults) -> Response:
    """The last phase: our own rows, the receipt to be sent and the answer, in one transaction."""
    saved = {**asked, "code": answer.code, "body": answer.body.decode()}
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with conn.transaction():
                _mine(conn.execute(DONE, saved))
                conn.execute(CHARGE, asked)
                conn.execute(RECEIPT, saved)
                faults.point("before-commit")
            break
        except AGAIN:
            if attempt == ATTEMPTS:
                raise
    faults.point("after-commit")
    return answer


def _decline(conn: psycopg.Connection[Any], asked: dict[str, Any], no: CardDeclined) -> Response:
    answer = _declined(no)
    saved = {**asked, "code": answer.code, "body": answer.body.decode()}
    return answer if conn.execute(DONE, saved).rowcount else _lost()


async def pay_external_async(
    conn: psycopg.AsyncConnection[Any],
    provider: Provider,
    account_id: int,
    key: str,
    amount_cents: int,
    *,
    currency: str = "eur",
    fingerprint: str | None = None,
    faults: Faults | None = None,
    lease: float = LEASE_SECONDS,
) -> Response:
    """`pay_external` for a service on asyncio.

    A call that is cancelled half way keeps its lease until that runs out. So let a client's hang-up not cancel it: run
    it in a task of its own, behind `asyncio.shield`.
    """
    asked = _asked(account_id, key, amount_cents, currency, fingerprint, lease)
    check_idle(conn)
    faults = faults or OFF
    for _ in range(ATTEMPTS):
        await conn.execute(START, asked)
        faults.point("after-claim")
        row = await (await conn.execute(READ, asked)).fetchone()
        if row is None:
            continue
        if known := _known(row, asked):
            return known
        held = await (await conn.execute(LEASE, asked)).fetchone()
        if held is None:
            return _running()
        break
    else:
        raise KeyVanished(f"The key {key!r} was deleted between claim and read {ATTEMPTS} times; keep keys for longer.")
    faults.point("after-lease")
    try:
        point, charge_id = held
        if point == "started":
            charge_id = await provider.charge_async(downstream(account_id, key), amount_cents)
            faults.point("after-charge")
            _mine(await conn.execute(CHARGED, {**asked, "charge_id": charge_id}))
            faults.point("after-charged")
        return await _finish_async(conn, asked, _created(charge_id, asked), faults)
    except CardDeclined as no:
        answer = _declined(no)
        saved = {**asked, "code": answer.code, "body": answer.body.decode()}
        return answer if (await conn.execute(DONE, saved)).rowcount else _lost()
    except ProviderError as error:
        await conn.execute(FREE, asked)
        return _unavailable(error)
    except LostLease:
        return _lost()


async def _finish_async(
    conn: psycopg.AsyncConnection[Any], asked: dict[str, Any], answer: Response, faults: Faults
) -> Response:
    saved = {**asked, "code": answer.code, "body": answer.body.decode()}
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with conn.transaction():
                _mine(await conn.execute(DONE, saved))
                await conn.execute(CHARGE, asked)
                await conn.execute(RECEIPT, saved)
                faults.point("before-commit")
            break
        except AGAIN:
            if attempt == ATTEMPTS:
                raise
    faults.point("after-commit")
    return answer


def downstream(account_id: int, key: str) -> str:
    """The key that goes to the provider: ours, with the account, as two accounts may use the same one."""
    return f"{account_id}:{key}"


def _asked(
    account_id: int, key: str, amount_cents: int, currency: str, fingerprint: str | None, lease: float
) -> dict[str, Any]:
    if not 0 < lease <= 3600:
        raise ValueError(f"lease is {lease!r}; it takes seconds above 0, at most 3600.")
    request = checked_request("/v1/payments", account_id, key, amount_cents, currency, fingerprint)
    return {**request, "lease": secrets.token_hex(16), "seconds": lease}


def _known(row: Any, asked: dict[str, Any]) -> Response | None:
    """The answer to another request's key and to a finished one; None where there is work to do."""
    answer = answer_to_known(row, asked)
    return None if answer is None or answer.code == 409 else answer


def _mine(cursor: Any) -> None:
    """Raise `LostLease` if a fenced write found no row: the lease is not ours any more."""
    if cursor.rowcount != 1:
        raise LostLease


def _created(charge_id: str, asked: dict[str, Any]) -> Response:
    return Response(201, to_json({"charge_id": charge_id, **body_of(asked)}))


def _declined(no: CardDeclined) -> Response:
    return Response(402, to_json({"error": "the card was declined", "detail": str(no)}))


def _running() -> Response:
    return Response(409, to_json({"error": "a request with this key is still running"}))


def _lost() -> Response:
    return Response(409, to_json({"error": "our lease ran out and another worker took over; nothing was written"}))


def _unavailable(error: ProviderError) -> Response:
    code = 504 if isinstance(error, ProviderTimeout) else 503
    return Response(code, to_json({"error": "the provider gave no charge; try again with the same key"}))
