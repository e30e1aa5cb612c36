"""A call with retries over HTTP: one key for all its tries, one deadline for all tries and waits.

What to do next is decided in `retrying`; here is only sending and sleeping, once with threads and once on asyncio.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from simlib.live.retrying import HERE, Ended, Pause, Send, Surroundings, tries
from simlib.live.tape import ATTEMPT, INTENT, NO_TAPE, Try, Writer
from simlib.policy.keys import parse_key
from simlib.policy.retry import Policy, RetryPolicy

_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_MISTAKES = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)  # ours: no try would mend them
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")

DEFAULT = RetryPolicy()

Steps = Generator[Send | Pause, Ended | None, str]


class NoAnswer(ConnectionError):
    """All tries are over and none was answered: the outcome is unknown. `key` is the one to try again with, later."""

    def __init__(self, key: str, attempts: int, reason: str) -> None:
        tried = f"{attempts} {'try' if attempts == 1 else 'tries'}"
        super().__init__(f"No answer after {tried} ({reason}); the outcome is unknown. Try again with the key {key}.")
        self.key = key
        self.attempts = attempts
        self.reason = reason


@dataclass(frozen=True)
class _Call:
    """A request as every try sends it."""

    url: str
    body: bytes
    key: str
    headers: Mapping[str, str]
    intent: str

    def request(self, client: httpx.Client | httpx.AsyncClient, send: Send) -> httpx.Request:
        own = {"Content-Type": "application/json", "Idempotency-Key": self.key, INTENT: self.intent}
        headers = {**own, **self.headers, ATTEMPT: str(send.attempt)}
        timeout = httpx.Timeout(send.timeout)
        return client.build_request("POST", self.url, content=self.body, headers=headers, timeout=timeout)


@dataclass(frozen=True)
class _Lane:
    """Where the caller's events are written, and under which names they are drawn."""

    tape: Writer
    actor: str
    peer: str


@dataclass(frozen=True)
class _Heard:
    """How a try ended, and what is left of it for the caller."""

    attempt: int
    ended: Ended
    response: httpx.Response | None = None
    error: Exception | None = None


def post_with_retry(
    url: str,
    body: Any,
    *,
    key: str | None = None,
    policy: Policy = DEFAULT,
    headers: Mapping[str, str] | None = None,
    running: bool = True,
    here: Surroundings = HERE,
    sleep: Callable[[float], object] = time.sleep,
    transport: httpx.BaseTransport | None = None,
    tape: Writer = NO_TAPE,
    actor: str = "phone",
    peer: str = "server",
) -> httpx.Response:
    """POST a JSON body until the policy stops, and return the last answer; `NoAnswer` if no try had one.

    `key` is made once if not given, and every try carries it. Retry-After is honoured; `running` says that this API
    answers 409 only while the same key is being worked on. `here`, `sleep` and `transport` are for tests;
    `tape` takes the events, of `actor` and towards `peer`.
    """
    call, lane = _call(url, body, key, headers), _Lane(tape, actor, peer)
    with _client(transport) as client:
        return _finish(call, *_drive(_steps(call, policy, here, running, lane), client, call, sleep))


async def post_with_retry_async(
    url: str,
    body: Any,
    *,
    key: str | None = None,
    policy: Policy = DEFAULT,
    headers: Mapping[str, str] | None = None,
    running: bool = True,
    here: Surroundings = HERE,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    transport: httpx.AsyncBaseTransport | None = None,
    tape: Writer = NO_TAPE,
    actor: str = "phone",
    peer: str = "server",
) -> httpx.Response:
    """`post_with_retry` for asyncio."""
    call, lane = _call(url, body, key, headers), _Lane(tape, actor, peer)
    async with _async_client(transport) as client:
        return _finish(call, *await _drive_async(_steps(call, policy, here, running, lane), client, call, sleep))


def _call(url: str, body: Any, key: str | None, headers: Mapping[str, str] | None) -> _Call:
    key = key or str(uuid.uuid4())
    intent = parse_key(key)
    return _Call(url, as_json(body), key, headers or {}, intent)


def as_json(body: Any) -> bytes:
    """The bytes every try sends; bytes are sent as they are."""
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def _steps(call: _Call, policy: Policy, here: Surroundings, running: bool, lane: _Lane) -> Steps:
    about = Try(call.intent, 0, call.intent)
    return tries(policy, here, running=running, about=about, tape=lane.tape, actor=lane.actor, peer=lane.peer)


def _drive(
    steps: Steps, client: httpx.Client, call: _Call, sleep: Callable[[float], object]
) -> tuple[str, _Heard | None]:
    heard: _Heard | None = None
    try:
        step = next(steps)
        while True:
            if isinstance(step, Pause):
                sleep(step.seconds)
                step = steps.send(None)
            else:
                heard = _try(client, call, step)
                step = steps.send(heard.ended)
    except StopIteration as stop:
        return stop.value, heard


async def _drive_async(
    steps: Steps, client: httpx.AsyncClient, call: _Call, sleep: Callable[[float], Awaitable[object]]
) -> tuple[str, _Heard | None]:
    heard: _Heard | None = None
    try:
        step = next(steps)
        while True:
            if isinstance(step, Pause):
                await sleep(step.seconds)
                step = steps.send(None)
            else:
                heard = await _try_async(client, call, step)
                step = steps.send(heard.ended)
    except StopIteration as stop:
        return stop.value, heard


def _try(client: httpx.Client, call: _Call, send: Send) -> _Heard:
    request = call.request(client, send)
    with _Limit(send.timeout) as limit:
        request.extensions["trace"] = limit.trace
        try:
            return _answered(send, client.send(request))
        except httpx.TransportError as error:
            return _unanswered(send, error, timed_out=limit.over)


async def _try_async(client: httpx.AsyncClient, call: _Call, send: Send) -> _Heard:
    try:
        async with asyncio.timeout(send.timeout):
            return _answered(send, await client.send(call.request(client, send)))
    except (httpx.TransportError, TimeoutError) as error:
        return _unanswered(send, error, timed_out=isinstance(error, TimeoutError))


def _answered(send: Send, response: httpx.Response) -> _Heard:
    return _Heard(send.attempt, Ended(response.status_code, response.headers), response)


def _unanswered(send: Send, error: Exception, *, timed_out: bool) -> _Heard:
    if isinstance(error, _MISTAKES):
        raise error
    late = timed_out or isinstance(error, httpx.TimeoutException)
    return _Heard(send.attempt, Ended(timed_out=late, sent=not isinstance(error, _UNSENT)), error=error)


def _finish(call: _Call, reason: str, heard: _Heard | None) -> httpx.Response:
    if heard is not None and heard.response is not None:
        return heard.response
    attempts, cause = (0, None) if heard is None else (heard.attempt, heard.error)
    raise NoAnswer(call.key, attempts, reason) from cause


class _Limit:
    """The limit of one try as a whole: when it is over, the try's connection is shut.

    A socket's own timeout bounds each read; an answer that comes a byte at a time never meets it. Every try has a
    connection of its own, so that shutting it can hurt nobody else.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Limit:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Told by the HTTP library what it does."""
        if event in _CONNECTED:
            self._socket = info["return_value"].get_extra_info("socket")
            if self.over:
                self._end()

    def _end(self) -> None:
        self.over = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


DIRECT: dict[str, Any] = {
    "trust_env": False,  # a proxy named in the environment has no business between us and loopback
    "verify": httpx.create_ssl_context(trust_env=False),  # read once: it costs more than a local call
}
"""How every HTTP client of this room is made."""

_EACH_TRY_ITS_CONNECTION = httpx.Limits(max_keepalive_connections=0)


def _client(transport: httpx.BaseTransport | None) -> httpx.Client:
    return httpx.Client(transport=transport, limits=_EACH_TRY_ITS_CONNECTION, **DIRECT)


def _async_client(transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=transport, limits=_EACH_TRY_ITS_CONNECTION, **DIRECT)
