"""`simlib lab`: the course in the browser, and nothing left when it is closed.

JupyterLab runs as a child in a process session of its own, on loopback, with a token. It keeps the windows
and settings of this course in a folder that goes when it stops; a learner's own JupyterLab stays as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

from simlib import files
from simlib.cli.lessons import find, lessons, working_folder
from simlib.cli.refusal import Refusal

USUAL_PORT = 8888
READY_WITHIN = 120.0  # s, for a cold disk
STOP_WITHIN = 10.0  # s, for kernels that are busy

_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


def register(commands: Any) -> None:
    parser = commands.add_parser("lab", help="open the course in the browser", description=__doc__)
    parser.add_argument(
        "lesson", nargs="?", metavar="LESSON", help="a number or a name: 05, claim (default: the first)"
    )
    parser.add_argument("--port", type=_port, help=f"where to listen (default: {USUAL_PORT}, or any free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(do=_lab)


def _lab(args: argparse.Namespace) -> int:
    lesson = find(args.lesson, files.NOTEBOOKS) if args.lesson else next(iter(lessons(files.NOTEBOOKS)), None)
    port = _free_port(args.port)
    folder, said = working_folder(Path.cwd())
    print(*said, "Starting JupyterLab; stop it with Ctrl-C.", sep="\n", flush=True)

    stop = threading.Event()
    with _stops_on_signals(stop), _server(folder, port) as (server, token, log):
        page = f"/lab/tree/{quote(lesson.name)}" if lesson else "/lab"
        address = f"http://127.0.0.1:{port}{page}?token={token}"
        if not _ready(server, port, token, stop):
            if stop.is_set():
                return 0
            raise Refusal(f"JupyterLab did not start: {_last_words(log)} `simlib doctor` may know more.")
        print(f"Ready: {address}", flush=True)
        if not args.no_browser and _has_screen():
            webbrowser.open(address)
        while not stop.wait(0.2):
            if server.poll() is not None:
                raise Refusal(f"JupyterLab ended by itself: {_last_words(log)}")
    print("Stopped.", flush=True)
    return 0


@contextlib.contextmanager
def _server(folder: Path, port: int) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """JupyterLab as a child: the process, its token and its log; stopped and cleaned up on the way out."""
    token = secrets.token_hex(24)
    with tempfile.TemporaryDirectory(prefix="simlib-lab-", ignore_cleanup_errors=True) as scratch:
        own = Path(scratch)
        (own / "settings").mkdir()
        (own / "settings" / "overrides.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
        log = own / "log"
        command = [sys.executable, "-m", "jupyterlab", *_options(folder, port, own)]
        # the token goes by the environment: an argument could be read by other users of the machine
        environment = {**os.environ, "JUPYTER_TOKEN": token, "JUPYTER_PREFER_ENV_PATH": "1"}
        with log.open("wb") as out:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )
        try:
            yield server, token, log
        finally:
            _end(server)


def _options(folder: Path, port: int, own: Path) -> list[str]:
    options = {
        "ServerApp.ip": "127.0.0.1",
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


def _ready(server: subprocess.Popen[bytes], port: int, token: str, stop: threading.Event) -> bool:
    """Wait until the server answers; False when it died, was stopped or took too long."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/status", headers={"Authorization": f"token {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback goes through no proxy
    for _ in range(int(READY_WITHIN / 0.1)):
        if server.poll() is not None or stop.wait(0.1):
            return False
        with contextlib.suppress(urllib.error.URLError, OSError), opener.open(request, timeout=2):
            return True
    return False


def _end(server: subprocess.Popen[bytes]) -> None:
    """SIGTERM lets JupyterLab end its kernels (SIGINT would leave one); SIGKILL if it does not listen."""
    server.terminate()
    try:
        server.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextlib.contextmanager
def _stops_on_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C, a closed terminal and SIGTERM all ask for the same orderly end."""

    def ask(signum: int, frame: FrameType | None) -> None:
        stop.set()

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), ask) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _free_port(asked: int | None) -> int:
    """The port that was asked for, else the usual one, else any; `Refusal` for one that is taken."""
    for port in (asked,) if asked is not None else (USUAL_PORT, 0):
        with socket.socket() as probe:
            if os.name == "posix":
                probe.setsockopt(
                    socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
                )  # as the server does: a port just left is free
            try:
                probe.bind(("127.0.0.1", port))
            except PermissionError as error:
                raise Refusal(f"port {port} is kept for the system; choose one from 1024 to 65535.") from error
            except OSError:
                continue
            return probe.getsockname()[1]
    raise Refusal(f"port {asked} is taken; choose another with --port, or leave --port out to get a free one.")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it takes 1 to 65535")
    return int(text)


def _has_screen() -> bool:
    """Whether a browser can be shown here: over a remote shell it would start in the terminal."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _last_words(log: Path) -> str:
    """The last thing a server said before it ended."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing."
