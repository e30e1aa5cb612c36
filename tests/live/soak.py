"""The long run against everything at once: clients with retries, a lossy wire, dying workers, a database that crashes.

`soak` gives what the clients were told; what is true in the end is read from the tables and the provider's books.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from simlib import live
from simlib.live.client import NoAnswer, post_with_retry
from simlib.live.pg.server import Postgres
from simlib.live.tcp_proxy import Fault, Proxy
from simlib.live.worker import Worker, spawn
from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy

SECONDS = float(os.environ.get("SIMLIB_SOAK_SECONDS", "120"))
CLIENTS = 8
WORKERS = 4
RESTARTS = 3

WIRE: dict[Fault | None, float] = {
    Fault("cut", "before"): 0.08,
    Fault("cut", "during"): 0.02,
    Fault("cut", "request"): 0.04,
    Fault("refuse"): 0.02,
    Fault("stall", "before"): 0.03,
    Fault("delay", "before", 0.2): 0.05,
}

RETRIES = RetryPolicy(attempts=12, deadline=20.0, per_try=1.0, backoff=Backoff(base=0.05, cap=1.0))
ONCE = RetryPolicy(attempts=1, deadline=1.0, per_try=1.0)
AUTH = {"Authorization": "Bearer token-of-account-1"}


@dataclass
class Told:
    """What the clients heard. The amount of a payment is the number of its intent, so that the tables know it too."""

    succeeded: list[int] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    kills: int = 0
    restarts: int = 0

    def __str__(self) -> str:
        return (
            f"{len(self.succeeded)} intents succeeded, {len(self.unknown)} unknown, "
            f"{self.kills} workers killed, {self.restarts} restarts of PostgreSQL"
        )


def soak(db: Postgres, bank_url: str, seconds: float, *, keys: bool, restarts: int = RESTARTS) -> Told:
    """Pay for `seconds` while a worker is killed every second; returns when every client has heard its last answer."""
    told, over = Told(), threading.Event()
    with ExitStack() as stack:
        workers = [_Desk(db.dsn, bank_url, seed) for seed in range(WORKERS)]
        for worker in workers:
            stack.callback(worker.stop)
        doors = [worker.wire.url for worker in workers]
        stack.enter_context(_thread(lambda: _kill_in_turn(workers, over, told)))
        stack.enter_context(_thread(lambda: _restart(db, seconds, restarts, over, told)))
        for number in range(CLIENTS):
            stack.enter_context(_thread(lambda number=number: _pay_on(number, doors, over, told, keys=keys)))
        over.wait(seconds)
        over.set()
    return told


class _Desk:
    """A worker process and the lossy wire in front of it; the wire stays when the worker dies."""

    def __init__(self, dsn: str, bank_url: str, seed: int) -> None:
        self.worker: Worker = spawn("simlib.live.http_app:app", dsn, bank_url)
        self.wire: Proxy = live.proxy(self.worker.url, shares=WIRE, seed=seed)

    def stop(self) -> None:
        self.wire.stop()
        self.worker.stop()


def _kill_in_turn(workers: list[_Desk], over: threading.Event, told: Told) -> None:
    began = time.monotonic()
    for number, desk in enumerate(itertools.cycle(workers), 1):
        if over.wait(max(0.0, began + number - time.monotonic())):
            return
        desk.worker.kill()
        told.kills += 1
        desk.worker = desk.worker.again()


def _restart(db: Postgres, seconds: float, times: int, over: threading.Event, told: Told) -> None:
    for _ in range(times):
        if over.wait(seconds / (times + 1)):
            return
        db.restart("immediate")
        told.restarts += 1


def _pay_on(number: int, doors: list[str], over: threading.Event, told: Told, *, keys: bool) -> None:
    """One client: a payment after the other, each through another worker, at one API and then at the other."""
    for turn in itertools.count():
        if over.is_set():
            return
        intent = 1 + number * 1_000_000 + turn
        url = doors[turn % len(doors)] + ("/v1/charges", "/v1/payments")[turn % 2]
        answered = _succeeded(url, intent, RETRIES) if keys else _without_a_key(url, intent)
        (told.succeeded if answered else told.unknown).append(intent)


def _without_a_key(url: str, intent: int) -> bool:
    """Every try is a request of its own, as it is where no key is sent."""
    deadline = time.monotonic() + RETRIES.deadline
    return any(_succeeded(url, intent, ONCE) for _ in range(RETRIES.attempts) if time.monotonic() < deadline)


def _succeeded(url: str, intent: int, policy: RetryPolicy) -> bool:
    body = {"amount_cents": intent, "currency": "eur"}
    try:
        answer: httpx.Response = post_with_retry(url, body, key=str(uuid.uuid4()), policy=policy, headers=AUTH)
    except NoAnswer:
        return False
    assert answer.status_code in (201, 409, 500, 503, 504), answer.text
    return answer.status_code == 201


@contextmanager
def _thread(work: Callable[[], Any]) -> Iterator[None]:
    """`work` in a thread of its own, waited for at the end; what it raises is raised there."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failed:
        raise failed[0]
