"""One schedule, two worlds: requests that stop, die and come too late, on the simulated key store and on PostgreSQL.

Both sides take the same moves and say after each of them how every request so far stands: `held` at a point, `waits`
for another, `dead`, or answered with a status, perhaps as a replay.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg

from simlib.live import one_transaction
from simlib.live.faults import Crashed
from simlib.live.one_transaction import Response, pay
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import RunningProvider
from simlib.live.recovery_points import pay_external
from simlib.live.search.arena import LAPSE
from simlib.world.keys import Keys
from tests.live.twins import WAITS, Ask, Books, Told, Twin, pay_external_twin, pay_twin

State = str | Told
HELD, DEAD = "held", "dead"

_runs = itertools.count(1)  # the provider keeps its keys from schedule to schedule

STATEMENTS = {one_transaction.CLAIM: "claimed", one_transaction.CHARGE: "charged", one_transaction.SAVE: "saved"}


class Simulated:
    """The simulated side: a generator for each request."""

    def __init__(self, style: str) -> None:
        self.keys, self.books = Keys(), Books()
        self._twin = {"pay": pay_twin, "pay_external": pay_external_twin}[style]
        self._going: list[Twin] = []
        self._stops: list[str | None] = []
        self.states: list[State] = []

    def ask(self, ask: Ask, stop: str | None) -> None:
        self._going.append(self._twin(self.keys, self.books, 0.0, ask))
        self._stops.append(stop)
        self.states.append(WAITS)
        self._run(len(self._going) - 1)

    def go(self, number: int) -> None:
        self._stops[number] = None
        self._run(number)
        self._wake()

    def die(self, number: int) -> None:
        self._going[number].close()
        self.states[number] = DEAD
        self._wake()

    def expire(self) -> None:
        for row in self.keys.rows.values():
            row.until = -1.0

    def effects(self) -> list[Counter[str]]:
        """Our charges by key, the receipts, the provider's charges by key."""
        books = self.books
        return [Counter(books.charges), Counter({"": len(books.receipts)}), Counter(books.provider)]

    def _run(self, number: int) -> None:
        twin = self._going[number]
        try:
            while (point := next(twin)) not in (WAITS, self._stops[number]):
                pass
            self.states[number] = WAITS if point == WAITS else HELD
        except StopIteration as end:
            self.states[number] = end.value

    def _wake(self) -> None:
        for number, state in enumerate(self.states):
            if state == WAITS:
                self._run(number)


class Real:
    """The real side: a thread with a connection for each request, and whose turn it is decided from outside."""

    def __init__(self, style: str, db: Postgres, bank: RunningProvider) -> None:
        self._style, self._db, self._bank = style, db, bank
        self._watch = db.connect()
        self._watch.execute("truncate charges, outbox, payment_keys, idempotency_keys, daily_keys cascade")
        self._before, self._run = len(bank.charges()), f"run {next(_runs)}"
        self._calls: list[_Call] = []

    def ask(self, ask: Ask, stop: str | None) -> None:
        self._calls.append(_Call(self._style, self._db.dsn, _Fated(self._bank, ask.fate, self._run), ask, stop))
        self._calls[-1].wait(self._is_blocked)

    def go(self, number: int) -> None:
        self._tell(number, "go")

    def die(self, number: int) -> None:
        self._tell(number, "die")

    def expire(self) -> None:
        self._watch.execute(LAPSE)

    @property
    def states(self) -> list[State]:
        return [call.state for call in self._calls]

    def effects(self) -> list[Counter[str]]:
        charges = self._names("select account_id || ':' || key from charges")
        answers = self._names("select payload from outbox where topic = 'receipt'")
        made = [charge.reference or "" for charge in self._bank.charges()[self._before :]]
        return [charges, Counter({"": answers.total()}), Counter(name.partition("/")[2] for name in made)]

    def close(self) -> None:
        for call in self._calls:
            call.end()
        self._watch.close()

    def _names(self, text: str) -> Counter[str]:
        return Counter(name for (name,) in self._watch.execute(text).fetchall())  # type: ignore[call-overload]

    def _tell(self, number: int, order: str) -> None:
        self._calls[number].orders.put(order)
        self._calls[number].state = WAITS
        for call in self._calls:
            if call.state == WAITS:
                call.wait(self._is_blocked)

    def _is_blocked(self, pid: int) -> bool:
        row = self._watch.execute("select cardinality(pg_blocking_pids(%s)) > 0", [pid]).fetchone()
        return row == (True,)


class _Stopping(psycopg.Connection[Any]):
    """A connection that says which of `pay`'s statements has been carried out."""

    point: Callable[[str], None]

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        done = super().execute(query, *args, **kwargs)
        if query in STATEMENTS and done.rowcount == 1:
            self.point(STATEMENTS[query])
        return done


class _Fated:
    """The provider, told what to do with this request just before it gets it."""

    def __init__(self, bank: RunningProvider, fate: str, run: str) -> None:
        self._bank, self._fate, self._run = bank, fate, run

    def charge(self, key: str, cents: int) -> str:
        self._bank.behave(self._fate)
        return self._bank.charge(f"{self._run}/{key}", cents)


class _Call:
    """A request in a thread of its own; it also is the `Faults` that the code under test tells its points to."""

    def __init__(self, style: str, dsn: str, provider: _Fated, ask: Ask, stop: str | None) -> None:
        self.state: State = WAITS
        self.orders: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._said: queue.SimpleQueue[State | BaseException] = queue.SimpleQueue()
        self._stop = stop
        self._conn = _Stopping.connect(dsn, autocommit=True)
        self._conn.point = self.point
        self._work = self._pay if style == "pay" else self._pay_external
        self._thread = threading.Thread(target=self._run, args=(provider, ask), daemon=True)
        self._thread.start()

    def point(self, name: str) -> None:
        if name == self._stop:
            self._said.put(HELD)
            if self.orders.get(timeout=60) == "die":
                raise Crashed(name)

    def wait(self, is_blocked: Callable[[int], bool]) -> None:
        """Until it stands, has ended, or waits for another's transaction."""
        patience = time.monotonic() + 30
        while True:
            assert time.monotonic() < patience, "it neither stands nor ends nor waits for anybody"
            try:
                said = self._said.get(timeout=0.002)
            except queue.Empty:
                if is_blocked(self._conn.info.backend_pid):
                    return
                continue
            if isinstance(said, BaseException):
                raise said
            self.state = said
            return

    def end(self) -> None:
        self.orders.put("die")
        self._thread.join(10)
        self._conn.close()

    def _run(self, provider: _Fated, ask: Ask) -> None:
        try:
            answer = self._work(provider, ask)
            self._said.put((answer.code, answer.replayed))
        except Crashed:
            self._said.put(DEAD)
        except BaseException as error:
            self._said.put(error)

    def _pay(self, provider: _Fated, ask: Ask) -> Response:
        return pay(self._conn, ask.account, ask.key, ask.cents)

    def _pay_external(self, provider: _Fated, ask: Ask) -> Response:
        return pay_external(self._conn, provider, ask.account, ask.key, ask.cents, faults=self)  # type: ignore[arg-type]
