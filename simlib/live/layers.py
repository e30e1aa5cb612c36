"""Layers that retry by themselves: which HTTP clients send a request again that nobody asked them to send twice.

The trial is the same for each. A connection is kept alive by a first request; on the second, the server does the work
and the connection dies instead of carrying the answer. What counts is how often the server did that work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import aiohttp
import httpx
import urllib3

from simlib.live.client import DIRECT
from simlib.live.serving import serve
from simlib.live.tcp_proxy import Fault, proxy
from simlib.table import Table

Asks = Callable[[str, str], None]
"""Ask (method, url) twice over one kept-alive connection; raises whatever the client raises."""


def with_aiohttp(method: str, url: str) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            for _ in range(2):
                async with session.request(method, url) as answer:
                    await answer.read()

    asyncio.run(ask())


def with_httpx(method: str, url: str) -> None:
    with httpx.Client(**DIRECT) as client:
        for _ in range(2):
            client.request(method, url)


def with_urllib3(method: str, url: str) -> None:
    with urllib3.PoolManager() as pool:
        for _ in range(2):
            pool.request(method, url)


def with_urllib3_told_to_retry(method: str, url: str) -> None:
    with urllib3.PoolManager(retries=urllib3.Retry(3, allowed_methods=None)) as pool:
        for _ in range(2):
            pool.request(method, url)


CLIENTS: dict[str, Asks] = {
    "aiohttp": with_aiohttp,
    "httpx": with_httpx,
    "urllib3": with_urllib3,
    "urllib3, Retry for all methods": with_urllib3_told_to_retry,
}


def resends(ask: Asks, method: str) -> tuple[int, str | None]:
    """How often the work of the second request was done, and the name of the error its caller saw (None: none)."""
    with _counting() as (url, work), proxy(url, None, Fault("cut", "before")) as wire:
        try:
            ask(method, f"{wire.url}/work")
            error = None
        except (OSError, httpx.HTTPError, aiohttp.ClientError, urllib3.exceptions.HTTPError) as raised:
            error = type(raised).__name__
    return len(work) - 1, error


def who_resends(methods: tuple[str, ...] = ("GET", "PUT", "POST")) -> Table:
    """Every client of `CLIENTS` with every method: asked once, done how often, and what the caller was told."""
    rows = []
    with ThreadPoolExecutor(1) as pool:  # a thread of its own: a notebook's runs an event loop already
        for name, ask in CLIENTS.items():
            for method in methods:
                done, error = pool.submit(resends, ask, method).result()
                rows.append((name, method, 1, done, error or "an answer"))
    return Table(("client", "method", "asked", "done", "the caller sees"), tuple(rows))


@contextmanager
def _counting() -> Iterator[tuple[str, list[str]]]:
    """A server that notes each request it has worked on."""
    work: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        work.append(scope["method"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with serve(app) as server:
        yield server.url, work
