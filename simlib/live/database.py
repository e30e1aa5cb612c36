"""The HTTP app's connections: a pool, a limit on waiting for a lock, and what a lost database means to a caller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.errors import LockNotAvailable
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from simlib.live.http_body import Refused

Connection = psycopg.AsyncConnection[Any]

CONNECTIONS = 10
PATIENCE = 5.0  # seconds to wait for a connection, and for whoever holds a key or a row


class Database:
    """A pool of connections in autocommit mode, opened and closed with the app."""

    def __init__(self, dsn: str, connections: int = CONNECTIONS) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            kwargs={"autocommit": True},
            configure=_patient,
            min_size=1,
            max_size=connections,
            timeout=PATIENCE,
            open=False,
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open for as long as the block runs; a database that is not there yet is waited for by each request."""
        await self._pool.open()
        try:
            yield
        finally:
            await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for one request. What the database cannot do now is `Refused` with 409 or 503."""
        try:
            async with self._pool.connection() as conn:
                yield conn
        except LockNotAvailable:
            raise Refused(
                409, "Another request holds this key for too long; try again.", **{"Retry-After": "1"}
            ) from None
        except (PoolTimeout, psycopg.OperationalError) as error:
            raise Refused(503, "The database cannot be reached; try again.", **{"Retry-After": "1"}) from error


async def _patient(conn: Connection) -> None:
    await conn.execute("select set_config('lock_timeout', %s, false)", (f"{PATIENCE:g}s",))
