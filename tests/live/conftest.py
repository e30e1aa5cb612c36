"""A PostgreSQL for this room's tests: one server for all, a schema for each, and nothing left when they end."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from simlib import live
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import RunningProvider, provider


@pytest.fixture(scope="session")
def cache() -> Iterator[Path]:
    """A cache folder of the tests' own, so that they find no server of anybody else and stop none."""
    with passable_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.delenv("SIMLIB_DSN", raising=False)
        yield folder


@pytest.fixture(scope="session")
def server(cache: Path) -> Iterator[Postgres]:
    """A user of the server for as long as tests run, so that it is started once. At the end it must be gone."""
    with live.postgres() as held:
        socket_folder = Path(str(conninfo_to_dict(held.dsn)["host"]))
        yield held
    until(lambda: not processes_of(cache))
    assert not socket_folder.exists()


@pytest.fixture
def db(server: Postgres) -> Iterator[Postgres]:
    """The lesson's tables, empty, in a schema of the test's own."""
    with live.postgres() as own:
        yield own


@pytest.fixture
def conn(db: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """A connection to them."""
    with db.connect() as opened:
        yield opened


@pytest.fixture
def bank() -> Iterator[RunningProvider]:
    """A card provider that keeps keys, with empty books."""
    with provider() as running:
        yield running


@contextmanager
def passable_folder(name: str = "cache") -> Iterator[Path]:
    """A folder that other users of the machine can pass, as a cache folder usually is; pytest's own are private."""
    base = Path(tempfile.mkdtemp(prefix="simlib-tests-"))
    try:
        base.chmod(0o711)
        folder = base / name
        folder.mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(base)


def processes_of(cache: Path) -> list[str]:
    """The command lines of processes that name this cache folder: the keeper's and the server's."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if str(cache) in command and process.pid != psutil.Process().pid:
            found.append(command)
    return found


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return once the condition holds; it fails loudly when that takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)
