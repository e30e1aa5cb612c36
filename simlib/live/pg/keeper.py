"""The keeper: a process that runs one server for all kernels of a user, and stops it when the last one is gone.

Every user holds a connection to it. A connection ends when its process does, however it ended, so nothing has to be
said for the server to stop and for that user's schema to go.

`python -m simlib.live.pg.keeper FOLDER` says one line of JSON on its standard output: `{"ready": true}`,
`{"busy": true}` where another keeper has the folder, or `{"error": "..."}`. A user says `{"token", "schema"}` and is
told `{"dsn"}`; after that it may ask to `{"restart": "fast" or "immediate"}`, and is told when that is done.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psycopg
from filelock import FileLock, Timeout

from simlib.live.pg import schemas
from simlib.live.pg.cluster import Cluster, stop_stray
from simlib.live.pg.errors import PostgresError
from simlib.live.pg.ground import PREFIX, prepared

LOCK = "keeper.lock"  # held while a keeper runs
ADDRESS = "keeper.json"  # where its door is
GROUND = "ground.json"  # what it must not leave behind
PASSWORD = "password"  # of the data in this folder
FIRST_USER_SECONDS = 20.0
LOOK_SECONDS = 0.2  # how often it looks whether the server still runs
REVIVALS = 10
MOST_CHARACTERS = 1000  # of a greeting


@dataclass(frozen=True)
class Call:
    """What a user wants of the keeper's main thread, the only one that touches the server; it puts its answer in."""

    wish: Literal["enter", "restart", "leave"]
    what: str  # a schema; for a restart, how
    answer: queue.SimpleQueue[dict[str, Any]]


class Door:
    """Listens to the users, a thread for each, and passes on what they want. A line that ends says "leave"."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self.calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._let_in, daemon=True).start()

    def _let_in(self) -> None:
        while True:
            user, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(user,), daemon=True).start()

    def _serve(self, user: socket.socket) -> None:
        user.settimeout(5)
        with (
            user,
            user.makefile("rw", encoding="utf-8") as talk,
            contextlib.suppress(OSError, ValueError, KeyError, TypeError),
        ):
            hello = json.loads(talk.readline(MOST_CHARACTERS))
            if not secrets.compare_digest(hello["token"].encode(), self.token.encode()):
                return
            schema: str = hello["schema"]
            welcome = self._pass_on("enter", schema)
            try:
                _say(talk, **welcome)
                user.settimeout(None)
                for line in talk:
                    _say(talk, **self._pass_on("restart", json.loads(line)["restart"]))
            finally:
                self._pass_on("leave", schema)

    def _pass_on(self, wish: Literal["enter", "restart", "leave"], what: str) -> dict[str, Any]:
        """Wait for the answer; there is none when the keeper ends meanwhile, and this thread with it."""
        call = Call(wish, what, queue.SimpleQueue())
        self.calls.put(call)
        return call.answer.get()


def keep(folder: Path) -> None:
    """Run a server for `folder` until its last user is gone; `Timeout` where another keeper has it."""
    with FileLock(folder / LOCK, timeout=0):
        clear_after_a_kill(folder)
        with prepared(folder) as ground:
            cluster = Cluster(ground, folder / PASSWORD)
            try:
                _remember(folder / GROUND, data=str(ground.data), socket=str(ground.socket))
                cluster.open()
                with psycopg.connect(cluster.dsn, autocommit=True) as conn:
                    schemas.drop_all(conn)
                door = Door()
                _remember(folder / ADDRESS, port=door.port, token=door.token)
                _say(sys.stdout, ready=True)
                _attend(cluster, door)
            finally:
                (folder / ADDRESS).unlink(missing_ok=True)
                cluster.stop()
                (folder / GROUND).unlink(missing_ok=True)


def clear_after_a_kill(folder: Path) -> None:
    """Stop the server and remove the socket folder that a keeper killed without warning left behind."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        left = json.loads((folder / GROUND).read_text(encoding="utf-8"))
        stop_stray(Path(left["data"]))
        if Path(left["socket"]).name.startswith(PREFIX):
            shutil.rmtree(left["socket"], ignore_errors=True)
    for name in (ADDRESS, GROUND):
        (folder / name).unlink(missing_ok=True)


def _remember(path: Path, **what: Any) -> None:
    """Write a file for this user alone, and all at once."""
    beside = path.with_suffix(".new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        json.dump(what, out)
    beside.replace(path)


def _attend(cluster: Cluster, door: Door) -> None:
    """Do what the users want until none is left. A server that died is started again; PostgresError if it will not."""
    users, failures = 0, 0
    patience = time.monotonic() + FIRST_USER_SECONDS
    while users or not door.calls.empty() or time.monotonic() < patience:
        if not cluster.alive():
            try:
                cluster.start()
                failures = 0
            except PostgresError:
                failures += 1
                if failures == REVIVALS:
                    raise
        try:
            call = door.calls.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            continue
        answer: dict[str, Any] = {}
        if call.wish == "enter":
            users, patience = users + 1, 0.0
            answer = {"dsn": cluster.dsn}
        elif call.wish == "restart":
            answer = _restart(cluster, call.what)
        else:
            _tidy(cluster, call.what)
            users -= 1
        call.answer.put(answer)


def _restart(cluster: Cluster, mode: str) -> dict[str, Any]:
    cluster.stop(mode)
    try:
        cluster.start()
    except PostgresError as error:
        return {"error": str(error)}
    return {"ready": True}


def _tidy(cluster: Cluster, schema: str) -> None:
    """Remove what a user that is gone has left: nothing if it went properly, its schema if it was killed."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(cluster.dsn, autocommit=True) as conn:
        schemas.remove(conn, schema)


def _say(out: Any, **what: str | bool) -> None:
    out.write(json.dumps(what) + "\n")
    out.flush()


def _end(*_: object) -> None:
    raise SystemExit(0)


def main() -> None:
    """Keep the folder named on the command line."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        keep(Path(sys.argv[1]))
    except Timeout:
        _say(sys.stdout, busy=True)
    except PostgresError as error:
        _say(sys.stdout, error=str(error))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _say(sys.stdout, error=f"PostgreSQL cannot be started: {error.strerror}{where}; mend that, or set SIMLIB_DSN.")


if __name__ == "__main__":
    main()
