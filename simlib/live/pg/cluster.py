"""A cluster's data on disk and the postmaster that serves it: make, start, stop, restart."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from simlib.live.pg.errors import PostgresError
from simlib.live.pg.ground import Ground

USER = "simlib"
SETTINGS = {
    "max_connections": "500",
    "max_prepared_transactions": "10",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "fatal",
}
START_SECONDS = 60.0
STOP_SECONDS = 20.0
PR_SET_PDEATHSIG = 1
SIGNALS = {"fast": signal.SIGINT, "immediate": getattr(signal, "SIGQUIT", signal.SIGINT)}


class Cluster:
    """One PostgreSQL server on its ground. `password` belongs to the superuser `simlib`; every user needs it."""

    def __init__(self, ground: Ground, password_file: Path) -> None:
        self._ground = ground
        self._password_file = password_file
        self._process: subprocess.Popen[Any] | None = None
        self._port = 5432

    @property
    def dsn(self) -> str:
        """How to connect; holds the password, so it is for programs, not for logs."""
        password = self._password_file.read_text(encoding="utf-8")
        host = "127.0.0.1" if sys.platform == "win32" else str(self._ground.socket)
        no_other = ""  # else $PGHOSTADDR would send us to another server
        return make_conninfo(
            host=host, hostaddr=no_other, port=self._port, user=USER, password=password, dbname="postgres"
        )

    def open(self) -> None:
        """Start on the data of last time, or on new data where there is none or it is of no use.

        What lies in a cache can be made again, so data that is damaged, has another password or belongs to another
        version of PostgreSQL is not worth a question. PostgresError if the server does not start on new data either.
        """
        stop_stray(self._ground.data)
        if self._has_data():
            try:
                self.start()
                return
            except PostgresError:
                self.stop("immediate")
        self._make()
        try:
            self.start()
        except PostgresError:
            shutil.rmtree(self._ground.data, ignore_errors=True)
            self._password_file.unlink(missing_ok=True)
            raise

    def start(self) -> None:
        """Start the server and wait for its answer; PostgresError if none comes."""
        self._process = self._launch()
        self._wait_until_ready()

    def stop(self, mode: str = "fast") -> None:
        """End the server: `fast` rolls back what is open and closes the books, `immediate` drops everything."""
        if self._process is None:
            return
        if self._process.poll() is None:
            if sys.platform == "win32":
                program = self._ground.binaries.program("pg_ctl")
                self._run([program, "stop", "--no-wait", "-D", self._ground.data, "-m", mode])
            else:
                self._process.send_signal(SIGNALS[mode])
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def alive(self) -> bool:
        """Whether the server still runs."""
        return self._process is not None and self._process.poll() is None

    def _has_data(self) -> bool:
        """Whether there is data of this major version, and the password to it."""
        try:
            version = (self._ground.data / "PG_VERSION").read_text(encoding="ascii").strip()
            return version == str(self._ground.binaries.major) and bool(self._password_file.read_text())
        except (OSError, ValueError):
            return False

    def _make(self) -> None:
        """initdb into a folder beside, which gets its name only when it is whole."""
        ground = self._ground
        half = ground.data.with_name("data-in-the-making")
        shutil.rmtree(half, ignore_errors=True)
        shutil.rmtree(ground.data, ignore_errors=True)
        secret = ground.socket / "password"
        try:
            half.mkdir(parents=True)
            ground.own(half, 0o700)
            password = secrets.token_urlsafe(24)
            secret.write_text(password, encoding="utf-8")
            ground.own(secret, 0o600)
            command = [ground.binaries.program("initdb"), "-D", half, "-U", USER, "--pwfile", secret, "--no-sync"]
            done = self._run([*command, "-A", "scram-sha-256", "-E", "UTF8", "--locale", "C", "--no-instructions"])
            if done.returncode != 0:
                raise PostgresError(f"initdb failed ({_last_line(done.stdout)}); mend that, or set SIMLIB_DSN.")
            _write_private(self._password_file, password)
            half.rename(ground.data)
        except OSError as error:
            raise PostgresError(
                f"The data folder {ground.data} cannot be made ({error.strerror or error}); free some space, "
                "or set XDG_CACHE_HOME to a folder you can write to."
            ) from error
        finally:
            secret.unlink(missing_ok=True)
            shutil.rmtree(half, ignore_errors=True)

    def _launch(self) -> subprocess.Popen[Any]:
        ground = self._ground
        settings = dict(SETTINGS, unix_socket_directories=str(ground.socket), listen_addresses="")
        if sys.platform == "win32":
            self._port = _free_port()
            settings |= {"unix_socket_directories": "", "listen_addresses": "127.0.0.1", "port": str(self._port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = ground.socket / "log"
        with log.open("wb") as out:
            return subprocess.Popen(
                [ground.binaries.program("postgres"), "-D", ground.data, *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
                **self._identity(),
            )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            assert self._process is not None
            if self._process.poll() is not None:
                said = (self._ground.socket / "log").read_text(encoding="utf-8", errors="replace")
                raise PostgresError(f"PostgreSQL did not start ({_last_line(said)}); mend that, or set SIMLIB_DSN.")
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
                return
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or "password authentication failed" in str(error):
                    self.stop("immediate")
                    said = " ".join(str(error).split())
                    raise PostgresError(
                        f"PostgreSQL started but does not let us in ({said}); set SIMLIB_DSN."
                    ) from error
            time.sleep(0.01)

    def _run(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self._ground.socket,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            **self._identity(),
        )

    def _identity(self) -> dict[str, Any]:
        """How Popen runs a program as the account: with its numbers, none of our groups, and no access for others."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        account = self._ground.account
        if account is None:
            return {"env": clean, "umask": 0o077} if sys.platform != "win32" else {"env": clean}
        return {"env": clean, "user": account.uid, "group": account.gid, "extra_groups": [], "umask": 0o077}


def stop_stray(data: Path) -> None:
    """End a server that a keeper, killed without warning, left on this data folder.

    A pid file left by a machine that went down names a process that is by now somebody else's; PostgreSQL would take
    it for a running server, so such a file is removed.
    """
    pid_file = data / "postmaster.pid"
    with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess):
        stray = psutil.Process(int(pid_file.read_text().split("\n", 1)[0]))
        if str(data) not in stray.cmdline():
            pid_file.unlink()
            return
        if sys.platform != "win32":
            stray.send_signal(SIGNALS["fast"])
        try:
            stray.wait(STOP_SECONDS if sys.platform != "win32" else 0)
        except psutil.TimeoutExpired:
            stray.kill()
            stray.wait(STOP_SECONDS)


def _end_with_parent() -> None:
    """Have Linux send the server SIGINT should the thread that started it, the keeper's main thread, be killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "FATAL" in line or "error" in line.lower()]
    return (errors or lines or ["it said nothing"])[-1]


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(text)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
