"""Faults at the level of HTTP: a server that loses its answers, and a client that sends everything twice.

Both are for tests and staging, never for production.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from starlette.requests import Request

from simlib.live.script import Script
from simlib.live.serving import ABORT, App
from simlib.live.tape import NO_TAPE, Writer, about

MUTATING = ("POST", "PUT", "PATCH", "DELETE")


def drop_replies(app: App, share: float = 1.0, *, seed: int = 7, tape: Writer = NO_TAPE) -> App:
    """The app, but a `share` of its answers is lost: the work is done, and the connection closes without a word.

    ASGI middleware for apps that `sl.live.serve` runs; which requests are hit is seeded.
    """
    fates = Script(False, shares={True: share}, seed=seed, purpose="drop replies")

    async def dropping(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not fates.next():
            await app(scope, receive, send)
            return

        async def nowhere(message: Any) -> None:
            pass

        await app(scope, receive, nowhere)
        tape.add("network", "lose", about(Request(scope).headers), "phone", "reply")
        scope["extensions"][ABORT]()
        while (await receive())["type"] != "http.disconnect":
            pass

    return dropping


class Duplicating(httpx.BaseTransport):
    """A client's transport that sends every mutating request twice, one after the other or `at_once`.

    `httpx.Client(transport=Duplicating())`. The caller gets the first answer; `pairs` keeps both, status and body.
    """

    def __init__(self, inner: httpx.BaseTransport | None = None, *, at_once: bool = False) -> None:
        self._inner = inner or httpx.HTTPTransport()
        self._at_once = at_once
        self.pairs: list[tuple[tuple[int, bytes], tuple[int, bytes]]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in MUTATING:
            return self._inner.handle_request(request)
        request.read()
        if self._at_once:
            with ThreadPoolExecutor(2) as pool:
                first, second = pool.map(self._send, (request, request))
        else:
            first, second = self._send(request), self._send(request)
        self.pairs.append(((first.status_code, first.content), (second.status_code, second.content)))
        return first

    def close(self) -> None:
        self._inner.close()

    def _send(self, request: httpx.Request) -> httpx.Response:
        copy = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.content, extensions=request.extensions
        )
        response = self._inner.handle_request(copy)
        response.read()
        response.close()
        return response
