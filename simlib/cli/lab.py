"""`simlib lab`: the course in the browser, and nothing left when it is closed."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

from simlib import files
from simlib.cli.jupyter import Server, serving
from simlib.cli.lessons import find, lessons, working_folder
from simlib.cli.refusal import Refusal

USUAL_PORT = 8888


def register(commands: Any) -> None:
    parser = commands.add_parser("lab", help="open the course in the browser", description=__doc__)
    parser.add_argument(
        "lesson", nargs="?", metavar="LESSON", help="a number or a name: 05, claim (default: the first)"
    )
    parser.add_argument("--port", type=tcp_port, help=f"where to listen (default: {USUAL_PORT}, or any free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(do=_lab)


def _lab(args: argparse.Namespace) -> int:
    lesson = find(args.lesson, files.NOTEBOOKS) if args.lesson else next(iter(lessons(files.NOTEBOOKS)), None)
    if args.port is not None:
        refuse_taken(args.port)
    folder, said = working_folder(Path.cwd())
    print(*said, "Starting JupyterLab; stop it with Ctrl-C.", sep="\n", flush=True)

    page = f"/lab/tree/{quote(lesson.name)}" if lesson else "/lab"
    ports = [args.port] if args.port else [free_port(USUAL_PORT), free_port()]
    keep_open(partial(serving, folder), ports, page, browser=not args.no_browser)
    return 0


def keep_open(
    serve: Callable[[int], AbstractContextManager[Server]], ports: Sequence[int], page: str, *, browser: bool
) -> None:
    """Serve at the first of the ports, or the next if somebody took that meanwhile; say where, and wait for the end."""
    stop = threading.Event()
    with stops_on_signals(stop), ExitStack() as stack:
        first, *others = ports
        server = stack.enter_context(serve(first))
        while not server.ready(stop) and not stop.is_set() and others:
            server = stack.enter_context(serve(others.pop(0)))
        if server.alive and not stop.is_set():
            address = f"http://127.0.0.1:{server.port}{page}?token={server.token}"
            print(f"Ready: {address}", flush=True)
            if browser and _has_screen():
                webbrowser.open(address)
        while not stop.wait(0.2):
            if not server.alive:
                raise Refusal(f"{server.name} ended by itself: {server.last_words} `simlib doctor` may know more.")
    print("Stopped.", flush=True)


@contextlib.contextmanager
def stops_on_signals(stop: threading.Event) -> Iterator[None]:
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


def free_port(wanted: int | None = None) -> int:
    """The port one wants if it can be had, or any other."""
    if wanted is not None:
        with contextlib.suppress(Refusal):
            refuse_taken(wanted)
            return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def refuse_taken(port: int) -> None:
    """Raise `Refusal` for a port that one cannot have."""
    with socket.socket() as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: one just left is free
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError as error:
            raise Refusal(f"port {port} is kept for the system; choose one from 1024 to 65535.") from error
        except OSError as error:
            hint = "choose another with --port, or leave --port out to get a free one"
            raise Refusal(f"port {port} is taken; {hint}.") from error


def tcp_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it takes 1 to 65535")
    return int(text)


def _has_screen() -> bool:
    """Whether a browser can be shown here: over a remote shell it would start in the terminal."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
