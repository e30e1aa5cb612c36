"""Where the middleware keeps keys and whole answers: lease style, so that work of any kind can stand in between."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from simlib.live.database import Database
from simlib.policy.verdict import Verdict, verdict

_CLAIM = """
insert into http_answers (account_id, key, request_hash, lease_id, locked_until)
values (%(account_id)s, %(key)s, %(fingerprint)s, %(lease)s, clock_timestamp() + %(seconds)s * interval '1 second')
on conflict (account_id, key) do nothing
returning true"""

_READ = """
select request_hash, status, headers, body from http_answers where account_id = %(account_id)s and key = %(key)s"""

_MINE = "where account_id = %(account_id)s and key = %(key)s and lease_id = %(lease)s"
_TAKE_OVER = """
update http_answers
set lease_id = %(lease)s, locked_until = clock_timestamp() + %(seconds)s * interval '1 second'
where account_id = %(account_id)s and key = %(key)s and status is null
  and (locked_until is null or locked_until < clock_timestamp())
returning true"""
_RENEW = f"update http_answers set locked_until = clock_timestamp() + %(seconds)s * interval '1 second' {_MINE}"
_FREE = f"update http_answers set locked_until = null, lease_id = null {_MINE}"
_SAVE = f"""
update http_answers
set status = %(status)s, headers = %(headers)s, body = %(body)s, locked_until = null, lease_id = null {_MINE}"""

ROUNDS = 10  # times to claim again when a row vanished between claim and read


@dataclass(frozen=True)
class Lease:
    """The permission to work on a key, until it runs out; every write names it."""

    account_id: int
    key: str
    fingerprint: str
    lease: UUID
    seconds: float


@dataclass(frozen=True)
class Kept:
    """An answer as it went out. `body` is None where the answer was not kept."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes | None


@dataclass(frozen=True)
class _Row:
    fingerprint: str
    finished: bool


class Answers:
    """The store."""

    def __init__(self, database: Database, lease: float) -> None:
        self._database = database
        self._seconds = lease

    async def claim(self, account_id: int, key: str, fingerprint: str) -> Lease | Kept | Verdict:
        """The lease of a key that is new or abandoned; the answer of a finished one; RUNNING or MISMATCH."""
        lease = Lease(account_id, key, fingerprint, uuid4(), self._seconds)
        asked = vars(lease)
        async with self._database.connection() as conn:
            for _ in range(ROUNDS):
                if await (await conn.execute(_CLAIM, asked)).fetchone():
                    return lease
                row = await (await conn.execute(_READ, asked)).fetchone()
                if row is None:
                    continue
                case = verdict(_Row(row[0], row[1] is not None), fingerprint)
                if case is Verdict.REPLAY:
                    return _kept(*row[1:])
                if case is Verdict.RUNNING and await (await conn.execute(_TAKE_OVER, asked)).fetchone():
                    return lease
                return case
        return Verdict.RUNNING

    async def renew(self, lease: Lease) -> bool:
        """Hold on to the lease for another term; False if it is another's by now."""
        return await self._write(_RENEW, lease)

    async def free(self, lease: Lease) -> bool:
        """Let a retry go at once: nothing final came of this one."""
        return await self._write(_FREE, lease)

    async def save(self, lease: Lease, answer: Kept) -> bool:
        """Keep the answer and end the lease; False if the lease is another's by now, and then nothing is written."""
        headers = json.dumps([[name.decode("latin-1"), value.decode("latin-1")] for name, value in answer.headers])
        return await self._write(_SAVE, lease, status=answer.status, headers=headers, body=answer.body)

    async def _write(self, statement: str, lease: Lease, **values: Any) -> bool:
        async with self._database.connection() as conn:
            return (await conn.execute(statement.encode(), {**vars(lease), **values})).rowcount == 1


def _kept(status: int, headers: str, body: bytes | None) -> Kept:
    pairs = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in json.loads(headers))
    return Kept(status, pairs, None if body is None else bytes(body))
