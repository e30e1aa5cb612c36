"""The reference model as one would write it in SimPy: processes, a Resource, `reply | timeout`, Python's random."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import simpy

from tests.bench.reference import (
    ATTEMPTS,
    BASE,
    CAP,
    FACTOR,
    LOSS,
    ONE_WAY,
    PATIENCE,
    RATE,
    SERVICE,
    WORKERS,
)

Log = list[tuple[float, str, int, int]]
Steps = Generator[simpy.Event, Any, None]


class Model:
    """One run: the environment, the server's workers, its keys, and the log of (time, event, request, attempt)."""

    def __init__(self, seed: int) -> None:
        self.env = simpy.Environment()
        self.luck = random.Random(seed)
        self.workers = simpy.Resource(self.env, WORKERS)
        self.keys: set[int] = set()
        self.log: Log = []

    def note(self, event: str, request: int, attempt: int) -> None:
        self.log.append((self.env.now, event, request, attempt))

    def source(self, purchases: int) -> Steps:
        for request in range(purchases):
            yield self.env.timeout(self.luck.expovariate(RATE))
            self.env.process(self.phone(request))

    def phone(self, request: int) -> Steps:
        for attempt in range(1, ATTEMPTS + 1):
            self.note("send", request, attempt)
            reply = self.env.event()
            self.env.process(self.call(request, attempt, reply))
            got = yield reply | self.env.timeout(PATIENCE)
            if reply in got:
                return
            self.note("timeout", request, attempt)
            if attempt < ATTEMPTS:
                self.note("backoff", request, attempt)
                yield self.env.timeout(self.luck.uniform(0, min(CAP, BASE * FACTOR**attempt)))
        self.note("give_up", request, ATTEMPTS)

    def call(self, request: int, attempt: int, reply: simpy.Event) -> Steps:
        if self.luck.random() < LOSS:
            self.note("lose", request, attempt)
            return
        yield self.env.timeout(self.luck.expovariate(1 / ONE_WAY))
        self.note("arrive", request, attempt)
        with self.workers.request() as worker:
            yield worker
            yield self.env.timeout(self.luck.expovariate(1 / SERVICE))
        if request in self.keys:
            self.note("replay", request, attempt)
        else:
            self.keys.add(request)
            self.note("claim", request, attempt)
            self.note("effect", request, attempt)
            self.note("save", request, attempt)
        self.note("reply", request, attempt)
        if self.luck.random() < LOSS:
            self.note("lose", request, attempt)
            return
        yield self.env.timeout(self.luck.expovariate(1 / ONE_WAY))
        self.note("receive", request, attempt)
        reply.succeed()


def simulate(purchases: int, seed: int) -> Log:
    """Run the model to its end; returns what it logged."""
    model = Model(seed)
    model.env.process(model.source(purchases))
    model.env.run()
    return model.log
