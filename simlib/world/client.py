"""A client: it sends, waits, and asks its policy what to do when no good answer comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from simlib.policy.classify import Outcome
from simlib.policy.retry import Policy, Stop, ask
from simlib.trace import NAN
from simlib.world.luck import Dice
from simlib.world.message import GIVEN_UP, NO_KEY, Kinds, Receiver, Reply, Request
from simlib.world.timeouts import Timeouts
from simlib.world.world import World

Key = Callable[[int, int], int]
"""The code of the key that a try carries, from its request and attempt."""


def key_per_intent(request: int, attempt: int) -> int:
    """One key for all tries of one purchase: the right way."""
    return request


def no_key(request: int, attempt: int) -> int:
    """No key at all."""
    return NO_KEY


class Client:
    """Phones, browsers, another service's outgoing calls: each request is one intent, tried until the policy stops.

    An answer that comes after its try timed out is noted as `late` and changes nothing. `ended`, if given, hears of
    every intent once: the good answer, or `GIVEN_UP`.
    """

    def __init__(
        self,
        world: World,
        *,
        policy: Policy,
        send: Receiver,
        key: Key = key_per_intent,
        ended: Receiver | None = None,
        name: str = "phone",
        peer: str = "server",
    ) -> None:
        clock, recorder = world.clock, world.recorder
        self._clock = clock
        self._rows = recorder.rows
        self._policy = policy
        self._guarded = policy.budget is not None or policy.breaker is not None
        self._send = send
        self._key = key
        self._ended = ended
        self._dice = Dice(world.luck, f"{name}: jitter")
        self._timeouts = Timeouts(clock, policy.per_try, self._time_out)
        self._start = self._timeouts.start
        self._last_full = policy.deadline - policy.per_try  # a try that begins later is cut short by the deadline
        self._waiting = self._timeouts.waiting
        self._before: dict[int, tuple[float, bool]] = {}  # of a request tried again: the wait, and was it a time-out
        self._sent = recorder.kind(name, "send", peer)
        self._received = Kinds(recorder, name, "receive", peer)
        self._late = recorder.kind(name, "receive", peer, "late")
        self._timeout = recorder.kind(name, "timeout", peer)
        self._backoff = recorder.kind(name, "backoff")
        self._give_up = partial(recorder.kind, name, "give_up", "")

    @property
    def waiting(self) -> int:
        """How many requests wait for an answer at this moment."""
        return len(self._waiting)

    def begin(self, now: float, number: int) -> None:
        """A new intent: send its first try."""
        key = self._key
        request = (number, 1, key(number, 1), now)
        if self._guarded and not (self._afforded(now, request) and self._allowed(now, request)):
            return
        self._try(now, request)

    def receive(self, now: float, reply: Reply) -> None:
        """An answer comes in."""
        number, attempt, key, began, answer = reply
        if self._waiting.get(number) != attempt:
            self._rows.extend((now, self._late, number, attempt, key, NAN))
            return
        self._rows.extend((now, self._received[answer], number, attempt, key, NAN))
        del self._waiting[number]
        if answer.outcome is not _SUCCESS:
            self._decide(now, (number, attempt, key, began), answer.outcome, answer.retry_after)
            return
        if self._guarded:
            self._report(now, reply, ok=True)
        if attempt > 1:
            self._before.pop(number, None)
        if self._ended is not None:
            self._ended(now, reply)

    def _try(self, now: float, request: Request) -> None:
        number, attempt, key, began = request
        self._rows.extend((now, self._sent, number, attempt, key, NAN))
        if now - began > self._last_full:
            self._timeouts.start_shorter(now, request, began + self._policy.deadline - now)
        else:
            start = self._start
            start(now, request)
        send = self._send
        send(now, request)

    def _afforded(self, now: float, request: Request) -> bool:
        """Whether the budget lets a first try be sent; if not, the intent ends here."""
        budget = self._policy.budget
        if budget is None or budget.on_request(now, self._dice.of(request[0], 0)):
            return True
        self._stop(now, request, "budget")
        return False

    def _allowed(self, now: float, request: Request) -> bool:
        """Whether the breaker lets this try be sent; if not, the intent ends here."""
        policy = self._policy
        if policy.breaker is None or policy.breaker.allow(now):
            return True
        if policy.budget is not None:
            _, timed_out = self._before.get(request[0], _FIRST)
            policy.budget.on_unsent(now, retry=request[1] > 1, timed_out=timed_out)
        self._stop(now, request, "breaker")
        return False

    def _again(self, now: float, request: Request) -> None:
        """The wait is over: the next try."""
        number, attempt, _, began = request
        request = (number, attempt + 1, self._key(number, attempt + 1), began)
        if self._guarded and not self._allowed(now, request):
            return
        self._try(now, request)

    def _time_out(self, now: float, request: Request) -> None:
        self._rows.extend((now, self._timeout, request[0], request[1], request[2], NAN))
        self._decide(now, request, _UNKNOWN, timed_out=True)

    def _decide(
        self, now: float, request: Request, outcome: Outcome, hint: float | None = None, timed_out: bool = False
    ) -> None:
        """A try has failed: ask the policy what now."""
        number, attempt, key, began = request
        waited, _ = self._before.get(number, _FIRST)
        if self._guarded:
            self._report(now, request, ok=outcome.served)
        step = ask(
            self._policy,
            attempt,
            outcome,
            elapsed=now - began,
            now=now,
            rng=self._dice.of(number, attempt),
            previous=waited,
            retry_after=hint,
            timed_out=timed_out,
        )
        if isinstance(step, Stop):
            self._stop(now, request, step.reason)
            return
        self._rows.extend((now, self._backoff, number, attempt, key, step.seconds))
        self._before[number] = (step.seconds, timed_out)
        self._clock.at(now + step.seconds, self._again, request)

    def _stop(self, now: float, request: Request, reason: str) -> None:
        number, attempt, key, _ = request
        self._rows.extend((now, self._give_up(reason), number, attempt, key, NAN))
        self._before.pop(number, None)
        if self._ended is not None:
            self._ended(now, (*request, GIVEN_UP))

    def _report(self, now: float, request: Request | Reply, *, ok: bool) -> None:
        """Tell budget and breaker how a try ended."""
        number, attempt = request[0], request[1]
        _, timed_out = self._before.get(number, _FIRST)
        if self._policy.budget is not None:
            self._policy.budget.on_result(ok, now, retry=attempt > 1, timed_out=timed_out)
        if self._policy.breaker is not None:
            self._policy.breaker.record(ok, now)


class Roaming(Client):
    """A client whose tries go to one of several peers: `home(attempt)` says to which, by its place among them."""

    def __init__(
        self,
        world: World,
        *,
        policy: Policy,
        sends: Sequence[Receiver],
        peers: Sequence[str],
        home: Callable[[int], int],
        name: str = "phone",
    ) -> None:
        super().__init__(world, policy=policy, send=sends[0], name=name, peer=peers[0])
        recorder = world.recorder
        self._home = home
        self._ways = [
            (send, recorder.kind(name, "send", peer), Kinds(recorder, name, "receive", peer))
            for send, peer in zip(sends, peers, strict=True)
        ]

    def receive(self, now: float, reply: Reply) -> None:
        self._received = self._ways[self._home(reply[1])][2]
        super().receive(now, reply)

    def _try(self, now: float, request: Request) -> None:
        self._send, self._sent, _ = self._ways[self._home(request[1])]
        super()._try(now, request)


_SUCCESS, _UNKNOWN = Outcome.SUCCESS, Outcome.UNKNOWN  # Python 3.11 looks an enum's members up slowly
_FIRST: tuple[None, bool] = (None, False)  # what went before a first try
