"""Several sessions at once, with time stopped in the middle: while the first one works, the others can be looked at.

The stop is a lock on the table `charges`, taken by a session of our own, so it needs no change in the code under
study: whoever has come as far as the work cannot write it until the lock goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import psycopg

from simlib.live import heard, queue_picture, watch
from simlib.live.tape import NOBODY, Tape, Try
from simlib.live.watch import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simlib.table import Table
    from simlib.trace import Trace

PATIENCE_SECONDS = 30.0


class Database(Protocol):
    """Where the sessions come from: what `simlib.live.postgres()` gives."""

    def connect(self) -> psycopg.Connection[Any]: ...


@dataclass(frozen=True)
class Crowd:
    """What a crowd was seen to do and what it was told.

    `seen` are the sessions at the moment when none could go on; `answers` what each call returned, or the error it
    raised, in the order in which the calls were made; `trace` is the whole of it as an event log, in which the calls
    are the tries of one request.
    """

    seen: tuple[Session, ...]
    answers: tuple[Any, ...]
    trace: Trace

    @property
    def waiting(self) -> Table:
        """The sessions at that moment: who waits for whom, and with which statement."""
        return watch.table(self.seen)

    def figure(self) -> Figure:
        """The sessions at that moment as a picture, with alt text."""
        from simlib.views.paper import paint

        return paint(queue_picture.scene(self.seen))

    def diagram(self) -> Figure:
        """The sequence diagram of these calls, as a simulated run would draw it."""
        from simlib.views import diagram
        from simlib.views.paper import paint

        return paint(diagram.diagram(self.trace))

    def _repr_html_(self) -> str:
        from simlib.views import svg

        return svg.paint(queue_picture.scene(self.seen))

    def __repr__(self) -> str:
        return queue_picture.scene(self.seen).alt


def at_once(
    db: Database,
    fn: Callable[[psycopg.Connection[Any]], Any],
    sessions: int = 5,
    *,
    isolation: psycopg.IsolationLevel | None = None,
    kill_first: bool = False,
) -> Crowd:
    """Call `fn(conn)` in several sessions at once, each on its own connection, and look at them halfway.

    Time stops as soon as no session can go on by itself, and goes on once they have been looked at. `isolation` is
    that of their transactions (by default PostgreSQL's, READ COMMITTED). With `kill_first` the session that came
    first is ended while it works, as a crash would: its transaction is rolled back.
    """
    with ExitStack() as stack:
        conns = [stack.enter_context(db.connect()) for _ in range(sessions)]
        for conn in conns:
            conn.isolation_level = isolation
        look = stack.enter_context(db.connect())
        pool = stack.enter_context(ThreadPoolExecutor(sessions))
        tape = Tape()
        tries = {conn.info.backend_pid: Try("request", i) for i, conn in enumerate(conns, 1)}
        with charges_locked(db) as stop:
            calls = [pool.submit(heard.call, fn, conn, tape, tries[conn.info.backend_pid]) for conn in conns]
            seen = _stuck(look, calls, stop.info.backend_pid)
            for session in seen:
                if session.waits and stop.info.backend_pid not in session.blockers and session.pid in tries:
                    tape.add("database", "wait", tries[session.pid])
            if kill_first and seen:
                tape.add("database", "crash", tries.get(seen[0].pid, NOBODY))
                look.execute("select pg_terminate_backend(%s, 5000)", [seen[0].pid])
        answers = tuple(_outcome(call) for call in calls)
        return Crowd(seen, answers, tape.trace())


@contextmanager
def charges_locked(db: Database) -> Iterator[psycopg.Connection[Any]]:
    """Nobody can write a charge until the block ends; whoever tries waits."""
    with db.connect() as conn, conn.transaction():
        conn.execute("lock table charges in share mode")
        yield conn


def _stuck(look: psycopg.Connection[Any], calls: list[Future[Any]], stop: int) -> tuple[Session, ...]:
    """Wait until every call has ended or waits for a lock; the sessions as they stand then, but for the stop's own.

    Who waits, and for what, the server tells at two moments; so they are looked at until they look the same twice.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    before: tuple[Session, ...] | None = None
    while time.monotonic() < deadline:
        running = sum(not call.done() for call in calls)
        seen = watch.queue(s for s in watch.sessions(look) if s.pid != stop)
        if sum(s.waits for s in seen) >= running and seen == before:
            return seen
        before = seen
        time.sleep(0.005)
    raise TimeoutError(f"After {PATIENCE_SECONDS:.0f} s a session neither ended nor waited for a lock.")


def _outcome(call: Future[Any]) -> Any:
    error = call.exception()
    return call.result() if error is None else error
