"""`simlib classroom`: a JupyterLab for each learner on this machine, all on one PostgreSQL, with limits."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from simlib import files
from simlib.cli.class_size import FIRST_PORT, MOST, learners
from simlib.cli.jupyter import serving
from simlib.cli.lab import refuse_taken, stops_on_signals
from simlib.cli.lessons import hand_out, lessons
from simlib.cli.refusal import Refusal
from simlib.live.classroom import Limits, keep_order, open_class

FOLDER = "simlib-class"
ADDRESSES = "addresses.csv"
LOOK_EVERY = 1.0  # s
SHARED = "127.0.0.1"


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "classroom", help="a JupyterLab for each learner, on one server", description=__doc__, epilog=EPILOG
    )
    parser.add_argument("--learners", type=learners, default=30, help=f"how many, 1 to {MOST} (default: 30)")
    parser.add_argument("--names", type=Path, help="a file with a name a line, in place of --learners")
    parser.add_argument("--folder", type=Path, default=Path(FOLDER), help=f"their work (default: {FOLDER})")
    parser.add_argument(
        "--port", type=int, default=FIRST_PORT, help=f"the first learner's; the others follow ({FIRST_PORT})"
    )
    parser.add_argument("--host", default=SHARED, help="where to listen; 0.0.0.0 lets the room in (default: loopback)")
    parser.set_defaults(do=_classroom)


EPILOG = (
    "Each learner's address holds a token; the addresses are also written to a file that only you can read. All run "
    "as your own user of this machine, so this is for people who trust each other."
)


def _classroom(args: argparse.Namespace) -> int:
    names = _names(args.names) if args.names else [f"{i:02}" for i in range(1, args.learners + 1)]
    _check_ports(args.port, len(names))
    stop = threading.Event()
    limits = Limits()
    print(f"Starting PostgreSQL and {len(names)} JupyterLabs; stop them with Ctrl-C.", flush=True)
    with (
        stops_on_signals(stop),
        _server() as dsn,
        open_class(dsn, names, limits) as enrolled,
        _labs(enrolled, args, stop) as addresses,
        _written(args.folder / ADDRESSES, addresses),
    ):
        _watch(dsn, args.folder, addresses, limits, stop)
    print("Stopped.", flush=True)
    return 0


def _watch(dsn: str, folder: Path, addresses: dict[str, str], limits: Limits, stop: threading.Event) -> None:
    """Say who is where, and keep order until the class ends."""
    if not stop.is_set():
        for name, address in addresses.items():
            print(f"{name}: {address}", flush=True)
        print(f"Ready: {len(addresses)} learners; their addresses are in {folder / ADDRESSES}.", flush=True)
    while not stop.wait(LOOK_EVERY):
        with (
            contextlib.suppress(psycopg.OperationalError),  # it is being restarted: look again later
            psycopg.connect(dsn, autocommit=True, application_name="simlib class") as conn,
        ):
            for done in keep_order(conn, limits):
                print(done, flush=True)


@contextmanager
def _server() -> Iterator[str]:
    """A superuser's DSN: `$SIMLIB_DSN`, or a server that stays as long as the class does."""
    from simlib import live

    with live.postgres() as db:
        yield db.server_dsn


@contextmanager
def _labs(enrolled: dict[str, str], args: argparse.Namespace, stop: threading.Event) -> Iterator[dict[str, str]]:
    """Everybody's JupyterLab, name to address; they start as many at once as there are processors, and end together."""
    turn = threading.Semaphore(os.cpu_count() or 2)
    with ThreadPoolExecutor(len(enrolled)) as pool:
        try:
            ready: dict[str, Future[str]] = {name: Future() for name in enrolled}
            for place, (name, dsn) in enumerate(enrolled.items()):
                pool.submit(_seat, args.folder / name, dsn, args.host, args.port + place, turn, ready[name], stop)
            yield {name: address.result() for name, address in ready.items()}
        finally:
            stop.set()


def _seat(
    folder: Path,
    dsn: str,
    host: str,
    port: int,
    turn: threading.Semaphore,
    ready: Future[str],
    stop: threading.Event,
) -> None:
    """One learner's JupyterLab for as long as the class runs; `ready` gets its address, or why there is none."""
    try:
        with ExitStack() as own:
            with turn:
                hand_out(files.NOTEBOOKS, folder)
                server = own.enter_context(serving(folder, port, host=host, more={"SIMLIB_DSN": dsn}))
                if not server.ready(stop) and not stop.is_set():
                    raise Refusal(f"the JupyterLab of {folder.name} ended by itself: {server.last_words}")
            page = lessons(files.NOTEBOOKS)[0].name
            ready.set_result(f"http://{_shown(host)}:{port}/lab/tree/{page}?token={server.token}")
            stop.wait()
    except Exception as error:
        ready.set_exception(error)


@contextmanager
def _written(path: Path, addresses: dict[str, str]) -> Iterator[None]:
    """The addresses as a table for as long as they are good; the tokens in it are nobody else's business."""
    private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(private, "w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([("learner", "address"), *addresses.items()])
        yield
    finally:
        path.unlink(missing_ok=True)


def _names(path: Path) -> list[str]:
    names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for name in names:
        if not re.fullmatch(r"[a-z0-9_-]{1,40}", name):
            raise Refusal(f"{name!r} in {path} is no name for a folder; use up to 40 of a to z, 0 to 9, _ and -.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice or not 1 <= len(names) <= MOST:
        what = f"names {twice!r} twice" if twice else f"has {len(names)} names"
        raise Refusal(f"{path} {what}; it takes 1 to {MOST} different names, one a line.")
    return names


def _check_ports(first: int, count: int) -> None:
    if not 1 <= first <= 65536 - count:
        raise Refusal(f"--port {first} is out of range for {count} learners; it takes 1 to {65536 - count}.")
    for port in range(first, first + count):
        refuse_taken(port)


def _shown(host: str) -> str:
    """An address under which the room reaches this machine."""
    if host != "0.0.0.0":
        return host
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only asks which way it would go
        return probe.getsockname()[0]
    return socket.gethostname()
