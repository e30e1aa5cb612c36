"""A Jupyter server as a child process, for as long as a course is open.

It runs in a process session of its own, with a token, on loopback unless told otherwise. It keeps the windows and
settings of this course in a folder that goes when it stops; a learner's own JupyterLab stays as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from simlib.cli.refusal import Refusal

READY_WITHIN = 120.0  # s, for a cold disk
STOP_WITHIN = 10.0  # s, for kernels that are busy
KEEPER = "simlib.live.pg.keeper"  # the module that runs a database for as long as anybody uses it

_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


@dataclass(frozen=True)
class Server:
    """A server that was started; its token opens it, its folder goes with it.

    `proof` is a path that it answers, with its token, once it is up.
    """

    process: subprocess.Popen[bytes]
    port: int
    token: str
    own: Path
    name: str = "JupyterLab"
    proof: str = "/api/status"

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def last_words(self) -> str:
        """The last thing it said."""
        lines = (self.own / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing.")

    def ready(self, stop: threading.Event) -> bool:
        """Wait until it answers; False when it ended or `stop` was set before."""
        for _ in range(int(READY_WITHIN / 0.1)):
            if not self.alive or stop.wait(0.1):
                return False
            if self._answers():
                return True
        raise Refusal(f"{self.name} did not answer within {READY_WITHIN:g} s: {self.last_words}")

    def _answers(self) -> bool:
        address = f"http://127.0.0.1:{self.port}{self.proof}"
        request = urllib.request.Request(address, headers={"Authorization": f"token {self.token}"})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback goes through no proxy
        try:
            with direct.open(request, timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False


@contextlib.contextmanager
def serving(
    folder: Path, port: int, *, host: str = "127.0.0.1", more: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """JupyterLab on the notebooks in `folder`, at `port`; ended on the way out.

    `host` is the address it listens on; `more` is added to the environment of its kernels.
    """
    with tempfile.TemporaryDirectory(prefix="simlib-lab-", ignore_cleanup_errors=True) as scratch:
        own, token = Path(scratch), secrets.token_hex(24)
        (own / "settings").mkdir()
        (own / "settings" / "overrides.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
        environment = {
            **os.environ,
            **(more or {}),
            "JUPYTER_TOKEN": token,  # an argument could be read by other users of the machine
            "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
            "JUPYTER_PREFER_ENV_PATH": "1",
        }
        with _running(["-m", "jupyterlab", *_options(folder, host, port, own)], own, environment) as process:
            yield Server(process, port, token, own)


@contextlib.contextmanager
def presenting(folder: Path, template: Path, port: int) -> Iterator[Server]:
    """Voila on the notebooks in `folder`, at `port`, by the `template` folder of that name; ended on the way out."""
    with tempfile.TemporaryDirectory(prefix="simlib-present-", ignore_cleanup_errors=True) as scratch:
        own, token = Path(scratch), secrets.token_hex(24)
        told = {
            "Voila": {"token": token, "port": port, "port_retries": 0, "ip": "127.0.0.1", "open_browser": False},
            "VoilaConfiguration": {"template": template.name, "theme": "light", "show_tracebacks": True},
        }
        with open(own / "voila.json", "w", opener=_for_me_alone, encoding="utf-8") as settings:
            json.dump(told, settings)
        environment = {**os.environ, "JUPYTER_PATH": str(template.parents[2]), "JUPYTER_PREFER_ENV_PATH": "1"}
        with _running(["-m", "voila", str(folder)], own, environment) as process:
            yield Server(process, port, token, own, "Voila", "/voila/static/voila.js")


@contextlib.contextmanager
def _running(words: list[str], own: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """This Python with these words, at home in `own`, where it also writes its log."""
    with (own / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,  # at a terminal it would ask whether to stop
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
            cwd=own,
        )
    try:
        yield process
    finally:
        _end(process)


def _for_me_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _options(folder: Path, host: str, port: int, own: Path) -> list[str]:
    options = {
        "ServerApp.ip": host,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.open_browser": False,
        "ServerApp.password": "",
        "PasswordIdentityProvider.hashed_password": "",
        "LabApp.app_settings_dir": own / "settings",
        "LabApp.workspaces_dir": own / "workspaces",
        "LabApp.extension_manager": "readonly",
        "LabApp.news_url": "None",
    }
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [f"--{name}={value}" for name, value in options.items()] + root


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM lets a server end its kernels (SIGINT would leave one); SIGKILL for whoever does not listen."""
    kernels = list(_family(psutil.Process(process.pid))) if process.poll() is None else []
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_WITHIN)
    for left in kernels:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.kill()
    process.kill()
    process.wait()


def _family(process: psutil.Process) -> Iterator[psutil.Process]:
    """A process's children and theirs, but for a database's keeper: other notebooks may use that server too."""
    children: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        children = process.children()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile; its siblings may not have
            if KEEPER not in child.cmdline():
                yield child
                yield from _family(child)
