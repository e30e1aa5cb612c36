"""A PostgreSQL for this room's tests: one server for all, a schema for each, and nothing left when they end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from simlib import live
from simlib.live.pg.server import Postgres


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the tests' own, so that they find no server of anybody else and stop none."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.delenv("SIMLIB_DSN", raising=False)
        yield folder


@pytest.fixture(scope="session")
def server(cache: Path) -> Iterator[Postgres]:
    """A user of the server for as long as tests run, so that it is started once. At the end it must be gone."""
    with live.postgres() as held:
        yield held
    deadline = time.monotonic() + 30
    while left := processes_of(cache):
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.05)


@pytest.fixture
def db(server: Postgres) -> Iterator[Postgres]:
    """The lesson's tables, empty, in a schema of the test's own."""
    with live.postgres() as own:
        yield own


def processes_of(cache: Path) -> list[str]:
    """The command lines of processes that name this cache folder, other than ours."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if str(cache) in command and process.pid != psutil.Process().pid:
            found.append(command)
    return found
