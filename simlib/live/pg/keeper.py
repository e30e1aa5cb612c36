"""The keeper: a process that runs one server for all kernels of a user, and stops it when the last one is gone.

Every user holds a connection to it. A connection ends when its process does, however it ended, so nothing has to be
said for the server to stop. `python -m simlib.live.pg.keeper FOLDER` says one line of JSON on its standard output:
`{"ready": true}`, `{"busy": true}` where another keeper has the folder, or `{"error": "..."}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import psycopg
from filelock import FileLock, Timeout

from simlib.live.pg import schemas
from simlib.live.pg.cluster import Cluster, stop_stray
from simlib.live.pg.errors import PostgresError
from simlib.live.pg.ground import Ground, prepared

ADDRESS = "keeper.json"
LOCK = "keeper.lock"
PASSWORD = "password"
FIRST_USER_SECONDS = 20.0
REVIVALS = 10


class Door:
    """Lets users in: greets each with the DSN, counts them, and restarts the server when one asks for it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._users = 0
        self._closed = False
        self.busy = threading.RLock()
        self.token = secrets.token_hex(16)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._let_in, daemon=True).start()

    @property
    def users(self) -> int:
        """How many users are inside now."""
        return self._users

    def close_if_empty(self) -> bool:
        """Close for good if nobody is inside; whoever comes too late is told by the end of the connection."""
        with self.busy:
            self._closed = self._users == 0
            if self._closed:
                self._listener.close()
            return self._closed

    def _let_in(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                user, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(user,), daemon=True).start()

    def _serve(self, user: socket.socket) -> None:
        user.settimeout(5)
        with user, user.makefile("rw", encoding="utf-8") as talk, contextlib.suppress(OSError, ValueError):
            if not secrets.compare_digest(talk.readline().strip(), self.token):
                return
            with self.busy:
                if self._closed:
                    return
                self._users += 1
            try:
                _say(talk, dsn=self._cluster.dsn)
                user.settimeout(None)
                for line in talk:
                    self._restart(talk, line.strip())
            finally:
                with self.busy:
                    self._users -= 1

    def _restart(self, talk: TextIOWrapper, mode: str) -> None:
        with self.busy:
            self._cluster.stop(mode)
            try:
                self._cluster.start()
            except PostgresError as error:
                _say(talk, error=str(error))
            else:
                _say(talk, ready=True)


def keep(folder: Path) -> None:
    """Run a server for `folder` until its last user is gone; `Timeout` where another keeper has it."""
    with FileLock(folder / LOCK, timeout=0):
        clear_after_a_kill(folder)
        with prepared(folder) as ground:
            cluster = Cluster(ground, folder / PASSWORD)
            try:
                cluster.start()
                with psycopg.connect(cluster.dsn, autocommit=True) as conn:
                    schemas.drop_all(conn)
                door = Door(cluster)
                _announce(folder, ground, door)
                _say(sys.stdout, ready=True)
                _watch(cluster, door)
            finally:
                cluster.stop()
                (folder / ADDRESS).unlink(missing_ok=True)


def clear_after_a_kill(folder: Path) -> None:
    """Stop the server and remove the folders that a keeper killed without warning left behind."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        left = json.loads((folder / ADDRESS).read_text(encoding="utf-8"))
        stop_stray(Path(left["data"]))
        for path in map(Path, left["temporary"]):
            if path.name.startswith("simlib-"):
                shutil.rmtree(path, ignore_errors=True)
        (folder / ADDRESS).unlink()


def _announce(folder: Path, ground: Ground, door: Door) -> None:
    """Write where the door is, for this user alone and all at once."""
    beside = folder / f"{ADDRESS}.new"
    told = {
        "port": door.port,
        "token": door.token,
        "data": str(ground.data),
        "temporary": [str(p) for p in ground.temporary],
    }
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        json.dump(told, out)
    beside.replace(folder / ADDRESS)


def _watch(cluster: Cluster, door: Door) -> None:
    """Wait until nobody is left. A server that died is started again; PostgresError when it will not."""
    patience = time.monotonic() + FIRST_USER_SECONDS
    revivals = 0
    while True:
        time.sleep(0.05)
        with door.busy:
            if not cluster.alive():
                revivals += 1
                try:
                    cluster.start()
                except PostgresError:
                    if revivals > REVIVALS:
                        raise
                    time.sleep(0.3)
        if door.users and patience:
            patience = 0.0
        if time.monotonic() > patience and door.close_if_empty():
            return


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


if __name__ == "__main__":
    main()
