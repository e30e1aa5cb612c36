"""A user of a keeper: finds it or starts it, and holds a connection to it that says "I am still here"."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from simlib.live.pg.errors import PostgresError
from simlib.live.pg.keeper import ADDRESS

PATIENCE_SECONDS = 120.0


class Caller:
    """A connection to a keeper, and the DSN it gave."""

    def __init__(self, line: socket.socket, dsn: str, talk: Any) -> None:
        self._line = line
        self._talk = talk
        self.dsn = dsn

    def restart(self, mode: str) -> None:
        """Have the server restarted, `fast` or `immediate`; PostgresError when it does not come back."""
        try:
            answer = _ask(self._talk, restart=mode)
        except (OSError, ValueError):
            answer = {"error": "Its keeper is gone; call postgres() again."}
        if "error" in answer:
            raise PostgresError(f"PostgreSQL did not restart: {answer['error']}")

    def leave(self) -> None:
        """Say goodbye; the last one to leave stops the server."""
        with contextlib.suppress(OSError):
            self._talk.close()
            self._line.close()


def call(folder: Path, schema: str) -> Caller:
    """A line to the keeper of this folder, started if there is none; PostgresError where none can be.

    When the line ends the keeper removes `schema`, if it is still there.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = _ring(folder, schema)
        if found is not None:
            return found
        said = _start(folder)
        if "error" in said:
            raise PostgresError(said["error"])
        if "busy" in said:
            time.sleep(0.05)  # another keeper is starting or ending
    raise PostgresError(f"The server's keeper in {folder} does not answer; end it, or remove that folder.")


def _ring(folder: Path, schema: str) -> Caller | None:
    """A line to a keeper that runs and lets us in, else None."""
    try:
        told = json.loads((folder / ADDRESS).read_text(encoding="utf-8"))
        line = socket.create_connection(("127.0.0.1", told["port"]), timeout=10)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    talk = line.makefile("rw", encoding="utf-8")
    try:
        dsn = _ask(talk, token=told["token"], schema=schema)["dsn"]
        line.settimeout(None)
        return Caller(line, dsn, talk)
    except (OSError, ValueError, KeyError, TypeError):
        line.close()
        return None


def _ask(talk: Any, **what: str) -> dict[str, Any]:
    """Say one thing to the keeper and hear what it says to it; ValueError if it has gone."""
    talk.write(json.dumps(what) + "\n")
    talk.flush()
    return json.loads(talk.readline())


def _start(folder: Path) -> dict[str, Any]:
    """Start a keeper that outlives this process for as long as it has users, and return what it says."""
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    command = [sys.executable, "-P", "-m", "simlib.live.pg.keeper", str(folder)]  # -P: not what lies in the work folder
    keeper = subprocess.Popen(
        command,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("PG")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        **detached,
    )
    assert keeper.stdout is not None
    with keeper.stdout as words:
        said = words.readline()
    threading.Thread(target=keeper.wait, daemon=True).start()  # so that it is no zombie when it ends before us
    if said:
        return json.loads(said)
    return {"error": f"The server's keeper ended without a word; see what `{shlex.join(command)}` says."}
