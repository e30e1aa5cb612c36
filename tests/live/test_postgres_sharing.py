"""Kernels share one server, and it goes with the last of them, however that one went."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from simlib.live.pg.keeper import ADDRESS, GROUND, LOCK, PASSWORD
from tests.live.conftest import passable_folder, processes_of, until

KERNEL = """
import json, signal, sys
from simlib import live
for name in ("SIGHUP", "SIGTERM"):  # whoever started the tests may have them ignored, as nohup does
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
db = live.postgres().start()
with db.connect() as conn:
    postmaster = conn.execute("select pg_postmaster_start_time()::text").fetchone()[0]
print(json.dumps({"dsn": db.dsn, "schema": db.schema, "server": postmaster}), flush=True)
sys.stdin.read()
"""
WAYS_TO_GO = ["exit", *(name for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL") if hasattr(signal, name))]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A cache folder that outlives its servers, so that most starts are warm ones."""
    with passable_folder() as folder:
        yield folder
        until(lambda: not processes_of(folder))


@dataclass
class Kernel:
    """A process that uses `postgres()` until it is told to go."""

    process: subprocess.Popen[str]
    dsn: str
    schema: str
    server: str

    @property
    def socket(self) -> Path:
        return Path(str(conninfo_to_dict(self.dsn)["host"]))

    def go(self, how: str) -> None:
        if how == "exit":
            self.process.communicate()
        else:
            self.process.send_signal(getattr(signal, how))
            self.process.wait()


@contextmanager
def kernels(home: Path, count: int = 1) -> Iterator[list[Kernel]]:
    """Kernels that start at the same moment; whatever happens, they are gone afterwards."""
    env = dict(os.environ, XDG_CACHE_HOME=str(home))
    env.pop("SIMLIB_DSN", None)
    command = [sys.executable, "-c", KERNEL]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen(command, env=env, text=True, **pipes) for _ in range(count)]
    try:
        yield [Kernel(process, **json.loads(process.stdout.readline())) for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate()


def nothing_left(home: Path, kernel: Kernel) -> None:
    """No process and no folder but the data, which is kept for a warm start."""
    until(lambda: not processes_of(home))
    assert not kernel.socket.exists()
    kept = [p.name for pattern in ("data-*", "programs-*") for p in state(home).glob(pattern)]
    assert {p.name for p in state(home).iterdir()} <= {LOCK, PASSWORD, *kept}


def state(home: Path) -> Path:
    return home / "simlib" / "postgres"


def postmaster(home: Path) -> psutil.Process:
    data = next(state(home).glob("data-*"))
    return psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))


@pytest.mark.parametrize("how", WAYS_TO_GO)
def test_the_server_goes_with_its_last_user(home: Path, how: str) -> None:
    with kernels(home) as [kernel]:
        kernel.go(how)
        nothing_left(home, kernel)


def test_two_kernels_that_start_at_once_share_one_server(home: Path) -> None:
    with kernels(home, 2) as [one, two]:
        assert one.server == two.server
        assert one.schema != two.schema
        one.go("exit")
        with psycopg.connect(two.dsn) as conn:
            assert conn.execute("select count(*) from charges").fetchone() == (0,)
        two.go("exit")
        nothing_left(home, two)


def test_the_schema_of_a_killed_kernel_goes_while_others_work_on(home: Path) -> None:
    with kernels(home, 2) as [one, two]:
        one.go("SIGKILL")
        with psycopg.connect(two.dsn, autocommit=True) as conn:
            gone = "select not exists (select from pg_namespace where nspname = %s)"
            until(lambda: conn.execute(gone, [one.schema]).fetchone() == (True,))
            assert conn.execute("select count(*) from charges").fetchone() == (0,)


@pytest.mark.parametrize("how", ["exit", "SIGKILL"])
def test_a_kernel_can_be_started_anew_at_once(home: Path, how: str) -> None:
    """The old server may still be ending; whoever comes meanwhile gets one that stays."""
    for _ in range(3):
        with kernels(home) as [kernel]:
            kernel.go(how)
    with kernels(home) as [kernel]:
        with psycopg.connect(kernel.dsn) as conn:
            assert conn.execute("select count(*) from charges").fetchone() == (0,)
        kernel.go("exit")
        nothing_left(home, kernel)


def test_a_jupyter_kernel_leaves_nothing_after_a_restart_and_a_shutdown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a lesson does it: one line in a cell, a restart in the middle, and the notebook closed."""
    from jupyter_client.manager import start_new_kernel

    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.delenv("SIMLIB_DSN", raising=False)
    cell = "import simlib as sl; db = sl.live.postgres().start(); db.connect().execute('select 1 from charges')"
    manager, client = start_new_kernel()
    try:
        for _ in range(2):
            assert client.execute_interactive(cell, timeout=60, output_hook=str)["content"]["status"] == "ok"
            assert len([c for c in processes_of(home) if "pg.keeper" in c]) == 1
            manager.restart_kernel(now=True)
            client.wait_for_ready(timeout=60)
        assert client.execute_interactive(cell, timeout=60, output_hook=str)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)  # as nbval does
    until(lambda: not processes_of(home))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_a_killed_keeper_takes_the_server_along(home: Path) -> None:
    with kernels(home):
        postmaster(home).parent().kill()
        until(lambda: not processes_of(home))


def test_after_a_killed_keeper_the_next_start_clears_up(home: Path) -> None:
    """The socket's folder and the address of a door that leads nowhere are left; both go."""
    with kernels(home) as [kernel]:
        server = postmaster(home)
        keeper = server.parent()
        server.suspend()  # so that it cannot end by itself
        keeper.kill()
        until(lambda: not keeper.is_running() or keeper.status() == psutil.STATUS_ZOMBIE)
        assert kernel.socket.exists()
        assert (state(home) / ADDRESS).exists()
        server.resume()
        with kernels(home) as [other]:
            assert other.server != kernel.server
            assert not kernel.socket.exists()
            other.go("exit")
            nothing_left(home, other)


def test_a_pid_file_that_names_somebody_elses_process_is_no_obstacle(home: Path) -> None:
    """After a power cut, or in a new container, the number in the file is another program's."""
    with kernels(home) as [kernel]:
        pid_file = next(state(home).glob("data-*")) / "postmaster.pid"
        text = pid_file.read_text()
        kernel.go("exit")
        nothing_left(home, kernel)
    pid_file.write_text(text.replace(text.split()[0], str(os.getpid()), 1))
    (state(home) / GROUND).write_text(json.dumps({"data": str(pid_file.parent), "socket": "/nowhere"}))
    (state(home) / ADDRESS).write_text(json.dumps({"port": 1, "token": "old"}))
    with kernels(home) as [kernel]:
        assert kernel.server
        kernel.go("exit")
        nothing_left(home, kernel)


@pytest.mark.parametrize("left", ["", "{", '{"port": "x"}', '{"port": 1, "token": 3}', "[]"])
def test_a_spoilt_address_is_no_obstacle(home: Path, left: str) -> None:
    until(lambda: not processes_of(home))
    state(home).mkdir(parents=True, exist_ok=True)
    (state(home) / ADDRESS).write_text(left)
    (state(home) / GROUND).write_text(left)
    with kernels(home) as [kernel]:
        assert kernel.server


@pytest.mark.parametrize("harm", ["other version", "damaged", "other password", "no password"])
def test_data_that_is_of_no_use_is_made_again(home: Path, harm: str) -> None:
    """It is a cache: an old major version, a file cut short or a lost password are no reason to ask anybody."""
    with kernels(home) as [kernel]:
        kernel.go("exit")
        nothing_left(home, kernel)
    data = next(state(home).glob("data-*"))
    if harm == "other version":
        (data / "PG_VERSION").write_text("9\n")
    elif harm == "damaged":
        (data / "global" / "pg_control").write_bytes(b"")
    elif harm == "other password":
        (state(home) / PASSWORD).write_text("another")
    else:
        (state(home) / PASSWORD).unlink()
    with kernels(home) as [kernel]:
        with psycopg.connect(kernel.dsn) as conn:
            assert conn.execute("select count(*) from charges").fetchone() == (0,)
        kernel.go("exit")
        nothing_left(home, kernel)


def test_a_machine_that_slept_goes_on_where_it_was(home: Path) -> None:
    """Every process stands still, as when a lid is closed; afterwards old connections and new ones work."""
    with kernels(home) as [kernel], psycopg.connect(kernel.dsn, autocommit=True) as conn:
        server = postmaster(home)
        asleep = [server.parent(), server, *server.children(recursive=True)]
        for process in asleep:
            process.suspend()
        for process in reversed(asleep):
            process.resume()
        assert conn.execute("select count(*) from charges").fetchone() == (0,)
        with psycopg.connect(kernel.dsn) as new:
            assert new.execute("select count(*) from charges").fetchone() == (0,)
        with kernels(home) as [other]:
            assert other.server == kernel.server


def test_a_cache_folder_that_is_deleted_while_it_runs_is_no_obstacle_to_the_next_start() -> None:
    """Who starts anew has a working lesson, whatever becomes of the server whose files are gone."""
    with passable_folder() as home:
        with kernels(home):
            shutil.rmtree(state(home))
            with kernels(home) as [other], psycopg.connect(other.dsn) as conn:
                assert conn.execute("select count(*) from charges").fetchone() == (0,)
        until(lambda: not processes_of(home))


@pytest.mark.parametrize("name", ["a b'c", "n" * 120, "ключ-😀"], ids=["blank", "long", "unicode"])
def test_any_folder_will_do(name: str) -> None:
    """A blank, or a path too long for a socket: the socket lies elsewhere."""
    with passable_folder(name) as home, kernels(home) as [kernel]:
        with psycopg.connect(kernel.dsn) as conn:
            assert conn.execute("select count(*) from charges").fetchone() == (0,)
        kernel.go("exit")
        nothing_left(home, kernel)


@pytest.mark.parametrize("name", ["t,x", "t" * 100], ids=["comma", "long"])
def test_any_folder_for_temporary_files_will_do(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with passable_folder(name) as temporary:
        monkeypatch.setenv("TMPDIR", str(temporary))
        with kernels(home) as [kernel]:
            assert kernel.server
            kernel.go("exit")
            nothing_left(home, kernel)
