"""Ending a JupyterLab: its kernels go, and a database that others use stays."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from simlib import live
from simlib.cli import jupyter
from tests.live.conftest import passable_folder, processes_of, until

KERNEL = """
import time
from simlib import live
db = live.postgres().start()
print("up", flush=True)
time.sleep(600)
"""


def test_the_server_that_another_notebook_uses_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that started the server is killed with its JupyterLab; who came second goes on as if nothing was."""
    with passable_folder() as cache:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        monkeypatch.delenv("SIMLIB_DSN", raising=False)
        lab = subprocess.Popen([sys.executable, "-c", KERNEL], stdout=subprocess.PIPE)
        assert lab.stdout is not None
        assert lab.stdout.readline() == b"up\n"
        with live.postgres() as db, db.connect() as conn:
            keeper = psutil.Process(conn.info.backend_pid).parent()
            jupyter._end(lab)
            assert conn.execute("select 1").fetchone() == (1,)
            assert keeper is not None
            assert keeper.is_running()
        lab.stdout.close()
        until(lambda: not processes_of(cache))
