"""The client: one key, one deadline, the server's hints, and the same decisions with threads and on asyncio."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from simlib.live.client import NoAnswer, post_with_retry, post_with_retry_async
from simlib.live.provider_server import provider
from simlib.live.retrying import Surroundings
from simlib.live.tape import Tape
from simlib.policy.backoff import Backoff
from simlib.policy.breaker import CircuitBreaker
from simlib.policy.budget import RetryBudget
from simlib.policy.budgets import Envoy
from simlib.policy.keys import BadKey
from simlib.policy.retry import RetryPolicy


@dataclass
class Time:
    """A clock that moves only while the client sleeps; `late` is how much longer each sleep takes than asked."""

    now: float = 100.0
    late: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds + self.late

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)

    @property
    def here(self) -> Surroundings:
        return Surroundings(lambda: self.now, lambda: datetime(2026, 10, 21, tzinfo=UTC), random.Random(7))


Post = Callable[..., httpx.Response]


def with_threads(url: str, body: Any, *, time: Time, transport: httpx.MockTransport | None = None, **how: Any) -> Any:
    return post_with_retry(url, body, here=time.here, sleep=time.sleep, transport=transport, **how)


def on_asyncio(url: str, body: Any, *, time: Time, transport: httpx.MockTransport | None = None, **how: Any) -> Any:
    call = post_with_retry_async(url, body, here=time.here, sleep=time.sleep_async, transport=transport, **how)
    return asyncio.run(call)


@pytest.fixture(params=[with_threads, on_asyncio], ids=["threads", "asyncio"])
def post(request: pytest.FixtureRequest) -> Post:
    return request.param


class Scripted:
    """A server in memory: gives the answers in order (an exception: none), and keeps what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def keys(self) -> set[str]:
        return {request.headers["idempotency-key"] for request in self.asked}


URL = "http://server/payments"
BODY = {"amount_cents": 5000}


def test_four_tries_and_one_charge(post: Post) -> None:
    """503, then 429 with Retry-After 1, then a charge whose answer is lost, then the replay; waits as promised."""
    time = Time()
    with provider("unavailable", "busy:1", "charge-then-drop") as bank:
        answer = post(f"{bank.url}/charges", BODY, time=time)
        assert len(bank.charges()) == 1
    assert answer.status_code == 201
    assert answer.headers["Idempotent-Replayed"] == "true"
    first, hinted, third = time.slept
    assert 0 <= first <= 0.4
    assert hinted == 1
    assert 0 <= third <= 1.6


def test_every_try_carries_the_same_key_and_body_and_its_number(post: Post) -> None:
    server = Scripted(httpx.Response(503), httpx.ReadError("gone"), httpx.Response(201))
    post(URL, BODY, time=Time(), transport=server.transport)
    assert len(server.keys) == 1
    assert {request.content for request in server.asked} == {b'{"amount_cents":5000}'}
    assert [request.headers["x-attempt"] for request in server.asked] == ["1", "2", "3"]
    assert len({request.headers["x-request-id"] for request in server.asked}) == 1


def test_each_call_makes_a_key_of_its_own(post: Post) -> None:
    server = Scripted(httpx.Response(201))
    for _ in range(2):
        post(URL, BODY, time=Time(), transport=server.transport)
    assert len(server.keys) == 2


def test_a_key_that_is_given_is_used(post: Post) -> None:
    server = Scripted(httpx.Response(503), httpx.Response(201))
    post(URL, BODY, time=Time(), transport=server.transport, key="8e03")
    assert server.keys == {"8e03"}


def test_a_bad_key_is_refused_before_anything_is_sent(post: Post) -> None:
    server = Scripted(httpx.Response(201))
    with pytest.raises(BadKey):
        post(URL, BODY, time=Time(), transport=server.transport, key="a, b")
    assert server.asked == []


def test_409_while_running_is_tried_again_after_a_short_wait(post: Post) -> None:
    time, server = Time(), Scripted(httpx.Response(409), httpx.Response(201))
    assert post(URL, BODY, time=time, transport=server.transport).status_code == 201
    assert len(time.slept) == 1
    assert time.slept[0] <= 0.4


def test_409_of_an_api_that_means_something_else_by_it_is_final(post: Post) -> None:
    time, server = Time(), Scripted(httpx.Response(409))
    assert post(URL, BODY, time=time, transport=server.transport, running=False).status_code == 409
    assert time.slept == []


@pytest.mark.parametrize("hint", ["60", "Wed, 21 Oct 2026 00:01:00 GMT", "10"])
def test_a_hint_beyond_the_deadline_gives_up_at_once(post: Post, hint: str) -> None:
    time, server = Time(), Scripted(httpx.Response(429, headers={"Retry-After": hint}))
    assert post(URL, BODY, time=time, transport=server.transport).status_code == 429
    assert time.slept == []
    assert len(server.asked) == 1


def test_a_hint_as_a_date_is_honoured(post: Post) -> None:
    busy = httpx.Response(503, headers={"Retry-After": "Wed, 21 Oct 2026 00:00:03 GMT"})
    time = Time()
    post(URL, BODY, time=time, transport=Scripted(busy, httpx.Response(201)).transport)
    assert time.slept == [3.0]


@pytest.mark.parametrize("hint", ["soon", "-5", "1.5", "1m0s"])
def test_a_hint_that_is_none_leaves_the_wait_to_the_backoff(post: Post, hint: str) -> None:
    busy = httpx.Response(503, headers={"Retry-After": hint})
    time = Time()
    post(URL, BODY, time=time, transport=Scripted(busy, httpx.Response(201)).transport)
    assert 0 <= time.slept[0] <= 0.4


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 410, 422])
def test_a_final_no_is_not_tried_again(post: Post, status: int) -> None:
    server = Scripted(httpx.Response(status))
    assert post(URL, BODY, time=Time(), transport=server.transport).status_code == status
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_the_last_answer_is_returned_when_the_tries_are_over(post: Post, status: int) -> None:
    server = Scripted(httpx.Response(status))
    answer = post(URL, BODY, time=Time(), transport=server.transport, policy=RetryPolicy(attempts=3))
    assert answer.status_code == status
    assert len(server.asked) == 3


@pytest.mark.parametrize("error", [httpx.ReadError("gone"), httpx.ConnectError("refused"), httpx.ReadTimeout("late")])
def test_no_answer_at_all_names_the_key_to_try_again_with(post: Post, error: Exception) -> None:
    server = Scripted(error)
    with pytest.raises(NoAnswer, match=r"after 3 tries \(attempts\); the outcome is unknown.*8e03") as caught:
        post(URL, BODY, time=Time(), transport=server.transport, policy=RetryPolicy(attempts=3), key="8e03")
    assert caught.value.__cause__ is error
    assert len(server.asked) == 3


def test_a_mistake_of_the_caller_is_raised_as_it_is(post: Post) -> None:
    server = Scripted(httpx.UnsupportedProtocol("gopher"))
    with pytest.raises(httpx.UnsupportedProtocol):
        post(URL, BODY, time=Time(), transport=server.transport)
    assert len(server.asked) == 1


def test_waits_and_tries_share_one_deadline(post: Post) -> None:
    """Waits 1, 2, then 4 would end beyond 5 s: it stops at 3 s, without starting the wait of 4."""
    time, server = Time(), Scripted(httpx.Response(503))
    policy = RetryPolicy(attempts=9, deadline=5.0, backoff=Backoff(base=0.5, cap=60, jitter="none"))
    post(URL, BODY, time=time, transport=server.transport, policy=policy)
    assert time.slept == [1.0, 2.0]
    assert len(server.asked) == 3


def test_a_sleep_that_took_too_long_sends_nothing_more(post: Post) -> None:
    """The laptop was closed in mid-wait: the deadline has passed when it wakes."""
    time, server = Time(late=3600.0), Scripted(httpx.Response(503))
    tape = Tape()
    answer = post(URL, BODY, time=time, transport=server.transport, tape=tape)
    assert answer.status_code == 503
    assert len(server.asked) == 1
    assert tape.trace().count("give_up", status="deadline") == 1


def test_the_last_try_has_only_what_is_left_of_the_deadline(post: Post) -> None:
    server = Scripted(httpx.Response(503))
    policy = RetryPolicy(attempts=2, deadline=2.5, per_try=2.0, backoff=Backoff(base=1.0, factor=1.0, jitter="none"))
    post(URL, BODY, time=Time(), transport=server.transport, policy=policy)
    assert [request.extensions["timeout"]["read"] for request in server.asked] == [2.0, 1.5]


@contextmanager
def raw_server(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says what it likes to every connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                speak(peer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 201 Created\r\nX: ", b"HTTP/1.1 201 Created\r\nContent-Length: 999\r\n\r\n"]
)
@pytest.mark.parametrize("asyncio_", [False, True], ids=["threads", "asyncio"])
def test_a_server_that_dribbles_an_answer_for_ever_meets_the_limit_of_the_try(said: bytes, asyncio_: bool) -> None:
    """A byte now and then, in the headers or in the body, keeps every read short and the try endless."""
    gone = threading.Event()

    def dribble(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(said)
        try:
            while said and not gone.wait(0.02):
                peer.sendall(b"x")
            peer.recv(1)
        except OSError:
            pass

    policy = RetryPolicy(attempts=1, per_try=0.3)
    with raw_server(dribble) as url:
        try:
            with pytest.raises(NoAnswer):
                asyncio.run(post_with_retry_async(url, BODY, policy=policy)) if asyncio_ else post_with_retry(
                    url, BODY, policy=policy
                )
        finally:
            gone.set()


def test_an_open_breaker_sends_nothing(post: Post) -> None:
    breaker = CircuitBreaker(failures=1, cool_down=60)
    server = Scripted(httpx.Response(503))
    policy = RetryPolicy(breaker=breaker)
    assert post(URL, BODY, time=Time(), transport=server.transport, policy=policy).status_code == 503
    with pytest.raises(NoAnswer, match=r"0 tries \(breaker\)"):
        post(URL, BODY, time=Time(), transport=server.transport, policy=policy)
    assert len(server.asked) == 1


def test_a_budget_bounds_the_retries_of_all_calls_together(post: Post) -> None:
    """100 calls, every try fails, each wants 2 retries: the credit of 10 and a tenth of the calls."""
    server = Scripted(httpx.Response(503))
    policy = RetryPolicy(attempts=3, budget=RetryBudget(ratio=0.1, most=10))
    for _ in range(100):
        post(URL, BODY, time=Time(), transport=server.transport, policy=policy)
    assert len(server.asked) - 100 == 19


def test_a_call_stopped_in_mid_try_leaves_no_try_under_way() -> None:
    """A budget that counts what is under way must hear that a cancelled call is not."""
    budget = Envoy()

    async def hang(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        call = post_with_retry_async(URL, BODY, policy=RetryPolicy(budget=budget), transport=httpx.MockTransport(hang))
        task = asyncio.create_task(call)
        while not budget.active:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert budget.active == 0


def test_the_tape_reads_like_the_simulated_phone(post: Post) -> None:
    tape = Tape()
    server = Scripted(httpx.Response(503), httpx.ReadError("gone"), httpx.ReadTimeout("late"), httpx.Response(201))
    post(URL, BODY, time=Time(), transport=server.transport, tape=tape, key="8e03")
    rows = tape.trace().sql("select actor, event, request, key, attempt, peer, status from events").rows
    assert rows == (
        ("phone", "send", 0, "8e03", 1, "server", None),
        ("phone", "receive", 0, "8e03", 1, "server", "503"),
        ("phone", "backoff", 0, "8e03", 1, None, None),
        ("phone", "send", 0, "8e03", 2, "server", None),
        ("phone", "timeout", 0, "8e03", 2, "server", "dropped"),
        ("phone", "backoff", 0, "8e03", 2, None, None),
        ("phone", "send", 0, "8e03", 3, "server", None),
        ("phone", "timeout", 0, "8e03", 3, "server", None),
        ("phone", "backoff", 0, "8e03", 3, None, None),
        ("phone", "send", 0, "8e03", 4, "server", None),
        ("phone", "receive", 0, "8e03", 4, "server", "201"),
    )
