"""A server: requests wait in one line for one of its workers, are worked on, and are answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappush, heapreplace

from simlib.trace import NAN
from simlib.world.latency import Latency, durations
from simlib.world.message import Answer, Kinds, Receiver, Reply, Request
from simlib.world.world import World

BUSY = Answer("503")
Work = Callable[[float, Request], Answer]
"""What a server does at the moment of the effect: called with the time and the request, it gives the answer."""


class Server:
    """First come, first served, by `workers` at a time; None means that there is always one free.

    A request holds its worker for `service`, then its work is done (the effect), then for `after`, then the reply
    leaves: the gap in which "done, but not told" can happen. Nobody leaves the line, so the time at which a request
    will be done is known, and computed, when it arrives. With a `limit`, a request that finds so many waiting is
    refused with `refusal` at once; with `patience` (seconds), so is one whose turn would come later than that after
    its first try, for nobody would wait for its answer. `pace` says how many times longer than usual work takes that
    is begun at some time: a slow period.
    """

    def __init__(
        self,
        world: World,
        *,
        work: Work,
        answer: Receiver,
        service: Latency,
        after: Latency | None = None,
        workers: int | None = 1,
        limit: int | None = None,
        patience: float | None = None,
        pace: Callable[[float], float] | None = None,
        refusal: Answer = BUSY,
        name: str = "server",
        peer: str = "phone",
    ) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers is {workers!r}; a server has 1 or more, or None for always enough.")
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit!r}; a queue takes 0 or more, or None for any number.")
        clock, recorder, luck = world.clock, world.recorder, world.luck
        self._heap = clock.heap
        self._numbers = clock.numbers
        self._rows = recorder.rows
        self._work = work
        self._answer = answer
        self._seconds = durations(luck, f"{name}: service", service)
        self._tries = self._seconds.tries
        self._after = None if after is None else durations(luck, f"{name}: after", after)
        self._done: Receiver = self._finish if after is None else self._effect
        self._leave: Receiver = self._reply
        self._free = [0.0] * (workers or 1)  # a heap: when each worker is free again
        self._hold = _nobody if workers is None else heapreplace
        self._choosy = limit is not None or patience is not None
        self._limit = limit
        self._patience = patience
        self._pace = pace
        self._starts: deque[float] = deque()  # when those in the line will be taken up
        self._refusal = refusal
        self._arrived = recorder.kind(name, "arrive", peer)
        self._refused = recorder.kind(name, "refuse", peer, refusal.status)
        self._replied = Kinds(recorder, name, "reply", peer)

    def arrive(self, now: float, request: Request) -> None:
        """A request comes in."""
        number, attempt, key, _ = request
        self._rows.extend((now, self._arrived, number, attempt, key, NAN))
        start = self._free[0]
        if start < now:
            start = now
        if self._choosy and not self._admits(now, request, start):
            self._refuse(now, request)
            return
        try:
            seconds = self._tries[attempt][number]
        except IndexError:
            seconds = self._seconds.more(number, attempt)
        done = start + (seconds if self._pace is None else seconds * self._pace(start))
        hold = self._hold
        hold(self._free, done if self._after is None else done + self._after.at(number, attempt))
        heappush(self._heap, (done, 1, next(self._numbers), self._done, request))

    def _admits(self, now: float, request: Request, start: float) -> bool:
        """Whether a request that would be taken up at `start` may join the line."""
        if self._patience is not None and start - request[3] > self._patience:
            return False
        if start > now and self._limit is not None:
            starts = self._starts
            while starts and starts[0] <= now:
                starts.popleft()
            if len(starts) == self._limit:
                return False
            starts.append(start)
        return True

    def _refuse(self, now: float, request: Request) -> None:
        self._rows.extend((now, self._refused, request[0], request[1], request[2], NAN))
        self._reply(now, (*request, self._refusal))

    def _finish(self, now: float, request: Request) -> None:
        number, attempt, key, _ = request
        work, send = self._work, self._answer
        answer = work(now, request)
        self._rows.extend((now, self._replied[answer], number, attempt, key, NAN))
        send(now, request + (answer,))  # noqa: RUF005 - half the time of (*request, answer)

    def _effect(self, now: float, request: Request) -> None:
        assert self._after is not None
        reply = (*request, self._work(now, request))
        leaves = now + self._after.at(request[0], request[1])
        heappush(self._heap, (leaves, 1, next(self._numbers), self._leave, reply))

    def _reply(self, now: float, reply: Reply) -> None:
        number, attempt, key, _, answer = reply
        self._rows.extend((now, self._replied[answer], number, attempt, key, NAN))
        send = self._answer
        send(now, reply)


def _nobody(free: list[float], until: float) -> None:
    """Hold no worker: there are always enough."""
