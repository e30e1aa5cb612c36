"""A small SDK: the key is made for the caller, once a call, and kept over a restart, so that the lazy way is right."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from simlib.live.client import as_json, post_with_retry, post_with_retry_async
from simlib.live.retrying import HERE, Surroundings
from simlib.live.tape import NO_TAPE, Writer
from simlib.live.unfinished import Intent, Unfinished
from simlib.policy.classify import Outcome, classify_http
from simlib.policy.retry import Policy, RetryPolicy


@dataclass
class _Sdk:
    """What both clients are told: where the API is, who calls, how to retry, where unfinished intents are kept."""

    base_url: str
    token: str | None = None
    policy: Policy = field(default_factory=RetryPolicy)
    unfinished: str | Path | None = None
    running: bool = True
    here: Surroundings = HERE
    tape: Writer = NO_TAPE

    def __post_init__(self) -> None:
        self._file = None if self.unfinished is None else Unfinished(self.unfinished)

    def _begin(self, path: str, body: Any, name: str | None) -> Intent:
        key = str(uuid.uuid4())
        intent = Intent(name or key, key, path, as_json(body))
        return intent if self._file is None else self._file.claim(intent)

    def _left(self) -> list[Intent]:
        return [] if self._file is None else self._file.left()

    def _how(self, intent: Intent) -> dict[str, Any]:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {
            "url": self.base_url.rstrip("/") + intent.path,
            "body": intent.body,
            "key": intent.key,
            "headers": headers,
            "policy": self.policy,
            "running": self.running,
            "here": self.here,
            "tape": self.tape,
        }

    def _settle(self, intent: Intent, response: httpx.Response) -> httpx.Response:
        """A yes or a final no ends the intent; anything else leaves it to be finished later."""
        if self._file is not None:
            outcome = classify_http(response.status_code, running=self.running)
            if outcome in (Outcome.SUCCESS, Outcome.PERMANENT):
                self._file.answered(intent)
        return response


@dataclass
class Client(_Sdk):
    """An SDK for a keyed API: `Client(url, token=...).post("/v1/payments", {...})`.

    The key is made once a call. With `unfinished` (a file) it is kept before the first try is sent: after a restart
    `finish()` sends what had no final answer, with the same keys. A call that names its `intent` ("order 81") gets the
    key of that intent, however often and from whichever process it is made.
    """

    sleep: Callable[[float], object] = time.sleep

    def post(self, path: str, body: Any, *, intent: str | None = None) -> httpx.Response:
        return self._send(self._begin(path, body, intent))

    def finish(self) -> dict[str, httpx.Response]:
        """Send what an earlier run left without a final answer; the answers, by intent."""
        return {intent.name: self._send(intent) for intent in self._left()}

    def _send(self, intent: Intent) -> httpx.Response:
        return self._settle(intent, post_with_retry(**self._how(intent), sleep=self.sleep))


@dataclass
class AsyncClient(_Sdk):
    """`Client` for asyncio."""

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def post(self, path: str, body: Any, *, intent: str | None = None) -> httpx.Response:
        return await self._send(self._begin(path, body, intent))

    async def finish(self) -> dict[str, httpx.Response]:
        return {intent.name: await self._send(intent) for intent in self._left()}

    async def _send(self, intent: Intent) -> httpx.Response:
        return self._settle(intent, await post_with_retry_async(**self._how(intent), sleep=self.sleep))
