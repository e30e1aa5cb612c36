"""Thirty learners in the same lesson on one server, while some of them do what a class does not survive elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

import psycopg

from simlib import live
from simlib.live import classroom
from simlib.live.classroom import Limits

LESSON = "05"
QUIET = [f"{i:02}" for i in range(1, 31)]
HOGS = {
    "query": "select count(*) from (select generate_series(1, 1000000000000)) as t",
    "insert": "insert into charges (account_id, amount_cents) select 1, generate_series(1, 1000000000)",
}
LIMITS = Limits(statement=20, megabytes=100)


@dataclass(frozen=True)
class Lesson:
    """How it went: seconds by learner, megabytes a learner, and what had to be ended (a sentence each)."""

    seconds: Mapping[str, float]
    megabytes: float
    ended: list[str]


def hold(*, hogs: bool, times: int = 1) -> Lesson:
    """Let everybody run lesson 05 at once, `times` over; with `hogs` two more learners run something endless."""
    ended: list[str] = []
    with (
        live.postgres() as db,
        classroom.open_class(db.server_dsn, [*QUIET, *HOGS], LIMITS) as enrolled,
        ExitStack() as stack,
    ):
        stack.enter_context(_order(db.server_dsn, ended))
        if hogs:
            for name, statement in HOGS.items():
                stack.enter_context(_endless(enrolled[name], statement))
        learners = {name: stack.enter_context(_learner(enrolled[name], times)) for name in QUIET}
        for process in learners.values():
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", f"a learner did not start: {process.communicate()}"
        for process in learners.values():
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = {}
        for name, process in learners.items():
            out, err = process.communicate(timeout=900)
            assert process.returncode == 0, f"learner {name}: {err}"
            said[name] = json.loads(out)
    seconds = {name: median(one["took"]) for name, one in said.items()}
    return Lesson(seconds, median(one["megabytes"] for one in said.values()), ended)


@contextmanager
def _learner(dsn: str, times: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.classroom.learner", LESSON, str(times)],
        env={**os.environ, "SIMLIB_DSN": dsn},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@contextmanager
def _endless(dsn: str, statement: str) -> Iterator[None]:
    """A learner who runs something endless, again and again, with the limits of the role lifted."""
    stop = threading.Event()

    def run() -> None:
        with live.postgres(dsn) as db:
            while not stop.is_set():
                with suppress(psycopg.Error), db.connect() as conn:
                    conns.append(conn)
                    conn.execute("set statement_timeout = 0")
                    conn.execute(statement.encode())

    conns: list[psycopg.Connection[Any]] = []
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        while thread.is_alive():
            for conn in tuple(conns):
                with suppress(psycopg.Error):
                    conn.cancel_safe()
            thread.join(0.2)


@contextmanager
def _order(dsn: str, ended: list[str]) -> Iterator[None]:
    """The one who keeps the class, looking every second as `simlib classroom` does."""
    stop = threading.Event()

    def look() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not stop.wait(1.0):
                ended.extend(classroom.keep_order(conn, LIMITS))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
