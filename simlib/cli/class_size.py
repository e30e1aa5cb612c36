"""Whether a class of so many learners would hold on this machine."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial

import psutil

from simlib.cli.finding import Finding

MOST = 200  # learners
FIRST_PORT = 9000  # the first learner's JupyterLab; the others follow
SPARE = 20  # connections for who keeps the class, and for the server itself
MEGABYTES = 300  # a learner's JupyterLab, a kernel with a lesson, and their sessions
PER_CORE = 15  # learners that a core serves without a wait one would notice
LOOPBACK = "127.0.0.1"


def learners(text: str) -> int:
    """A number of learners, from the command line."""
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of learners; it takes 1 to {MOST}")
    return int(text)


def class_looks(count: int) -> Iterator[Callable[[], Finding]]:
    """What to look at before a class of so many comes in."""
    yield from (partial(look, count) for look in (_memory, _cores, _connections, _ports))


def _memory(count: int) -> Finding:
    free, wanted = psutil.virtual_memory().available / 1e6, count * MEGABYTES
    words = f"memory for {count} learners: {wanted:,} MB wanted, {free:,.0f} MB free"
    if free < wanted:
        return Finding("fail", words, f"It holds {int(free / MEGABYTES)} learners; close something, or add memory.")
    return Finding("ok", words)


def _cores(count: int) -> Finding:
    cores = os.cpu_count() or 1
    words = f"{cores} processor cores for {count} learners"
    if count > cores * PER_CORE:
        return Finding("warn", words, f"Up to {cores * PER_CORE} are served at once without a wait; let pairs share.")
    return Finding("ok", words)


def _connections(count: int) -> Finding:
    from simlib import live
    from simlib.live.classroom import Limits

    wanted = count * Limits().connections
    with live.postgres() as db, db.connect() as conn:
        row = conn.execute(
            "select current_setting('max_connections')::int, rolsuper from pg_roles where rolname = current_user"
        ).fetchone()
    most, superuser = row
    words = f"PostgreSQL takes {most} connections; {count} learners may open {wanted}"
    if not superuser:
        return Finding(
            "fail", "this role may not make roles for learners", "Set SIMLIB_DSN to a superuser's, or unset it."
        )
    if most < wanted + SPARE:
        return Finding("fail", words, f"Set SIMLIB_DSN to a server with max_connections = {wanted + SPARE} or more.")
    return Finding("ok", words)


def _ports(count: int) -> Finding:
    taken = []
    for port in range(FIRST_PORT, FIRST_PORT + count):
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                taken.append(port)
    last = FIRST_PORT + count - 1
    if taken:
        return Finding("warn", f"port {taken[0]} of {FIRST_PORT} to {last} is in use", "Use `simlib classroom --port`.")
    return Finding("ok", f"ports {FIRST_PORT} to {last} are free")
