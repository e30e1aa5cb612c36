"""A card provider: a real HTTP server with its own books, which keeps keys like Stripe and misbehaves when told to.

It keeps the first result of a key once it has begun to work on it, be it a 500; it keeps nothing of a request that
fails validation or that comes while the same key is still running; and it compares a key's request with the first one
(Stripe API reference, "Idempotent requests"). `support` chooses what it offers against duplicates:

- `keys`: idempotency keys;
- `reference`: no keys, but it refuses a second charge that carries the same reference of ours;
- `none`: nothing at all. One can look a reference up, and compare books.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from simlib.live.books import Answer, Books, Claim
from simlib.live.client import DIRECT
from simlib.live.problem import problem
from simlib.live.provider_client import PATIENCE, Provider
from simlib.live.script import Script
from simlib.live.serving import ABORT, Server, serve
from simlib.live.tape import NO_TAPE, Writer
from simlib.live.worker import Worker, spawn
from simlib.policy.keys import BadKey, parse_key

Support = Literal["keys", "reference", "none"]

BEHAVIOURS: dict[str, str] = {
    "ok": "charges and answers 201",
    "slow": "charges after so many seconds (slow:0.5), whether or not anybody still waits",
    "decline": "the card is declined: 402, kept with the key",
    "error": "breaks at work before it charges: 500, kept with the key",
    "unavailable": "503 before anything is begun; nothing is kept",
    "busy": "429 with Retry-After (busy:1) before anything is begun; nothing is kept",
    "time-out": "takes the request and never answers; nothing is done",
    "drop": "closes the connection before anything is done",
    "charge-then-time-out": "charges, keeps the answer, and never gives it",
    "charge-then-drop": "charges, keeps the answer, and closes the connection instead",
    "charge-then-error": "charges, then breaks: 500, kept with the key",
}
"""What the provider can be told to do with a request; one that takes a number is written `name:number`."""

_NUMBERED = {"slow": 0.5, "busy": 1.0}


@dataclass(frozen=True)
class Behaviour:
    """One entry of the provider's script."""

    name: str
    number: float = 0.0

    @classmethod
    def parse(cls, words: str) -> Behaviour:
        """`decline`, `slow:0.5`; ValueError names those there are."""
        name, colon, number = words.partition(":")
        if name not in BEHAVIOURS or (colon and name not in _NUMBERED):
            raise ValueError(f"{words!r} is no behaviour of the provider; it can {', '.join(BEHAVIOURS)}.")
        try:
            value = float(number) if colon else _NUMBERED.get(name, 0.0)
        except ValueError:
            value = -1.0
        if not 0.0 <= value < float("inf"):
            raise ValueError(f"{words!r} needs seconds from 0 up after its colon.")
        return cls(name, value)


class _Desk:
    """The provider at work on one set of books."""

    def __init__(self, books: Books, support: Support, script: Script[Behaviour]) -> None:
        self.books = books
        self.support = support
        self.script = script

    async def charge(self, request: Request) -> Response:
        how = self.script.next()
        match how.name:
            case "unavailable":
                return problem(503, "The provider is down for the moment.")
            case "busy":
                return problem(429, "Too many requests.", headers={"Retry-After": f"{how.number:.0f}"})
            case "time-out":
                return await _until_gone(request)
            case "drop":
                return await _hang_up(request)
        try:
            key = parse_key(request.headers.get("idempotency-key")) if self.support == "keys" else None
            cents, reference = _order(await request.body())
        except (BadKey, ValueError) as error:
            return problem(400, str(error))
        if self.support == "reference" and reference is not None and self.books.charges(reference):
            return problem(409, f"There is a charge with the reference {reference!r} already.", kind="duplicate")
        if key is not None:
            known = self.books.claim(key, json.dumps([cents, reference]))
            if isinstance(known, Answer):
                return _response(known, replayed=True)
            if known is Claim.MISMATCH:
                return problem(400, "This key came with another request before.", kind="idempotency_error")
            if known is Claim.RUNNING:
                return problem(409, "A request with this key is still running.", headers={"Retry-After": "1"})
        return await self._work(request, how, key, cents, reference)

    async def _work(
        self, request: Request, how: Behaviour, key: str | None, cents: int, reference: str | None
    ) -> Response:
        if how.name == "slow":
            await asyncio.sleep(how.number)
        if how.name == "decline":
            return _response(self.books.save(key, _said(402, "The card was declined.")))
        if how.name == "error":
            return _response(self.books.save(key, _said(500, "The provider broke at work.")))

        def answer(charge: str) -> Answer:
            if how.name == "charge-then-error":
                return _said(500, "The provider broke at work.")
            return Answer(201, json.dumps({"id": charge, "amount_cents": cents, "reference": reference}))

        first = self.books.charge(key, cents, reference, answer)
        if how.name == "charge-then-time-out":
            return await _until_gone(request)
        if how.name == "charge-then-drop":
            return await _hang_up(request)
        return _response(first)

    async def listing(self, request: Request) -> Response:
        rows = self.books.charges(request.query_params.get("reference"))
        return JSONResponse({"charges": [{"id": i, "amount_cents": c, "reference": r} for i, c, r in rows]})

    async def behave(self, request: Request) -> Response:
        try:
            self.script.extend([Behaviour.parse(words) for words in await request.json()])
        except ValueError as error:
            return problem(400, str(error))
        return Response(status_code=204)


def provider_app(
    books: str | Path,
    support: Support = "keys",
    script: Iterable[str] = (),
    shares: Mapping[str, float] | None = None,
    seed: int = 7,
) -> Starlette:
    """The provider as an ASGI app: POST /charges, GET /charges (by reference, or all), POST /script.

    `script` lists what to do with the first requests; `shares` gives behaviours a chance after that.
    """
    if support not in get_args(Support):
        raise ValueError(f"support is {support!r}; it takes {', '.join(get_args(Support))}.")
    fates = Script(
        Behaviour("ok"),
        listed=[Behaviour.parse(words) for words in script],
        shares={Behaviour.parse(words): share for words, share in (shares or {}).items()},
        seed=seed,
        purpose="provider",
    )
    desk = _Desk(Books(books), support, fates)
    routes = [
        Route("/charges", desk.charge, methods=["POST"]),
        Route("/charges", desk.listing, methods=["GET"]),
        Route("/script", desk.behave, methods=["POST"]),
    ]
    return Starlette(routes=routes)


class RunningProvider(Provider):
    """A provider that runs here, and the way to tell it what to do next; stops at the end of a `with` block."""

    def __init__(self, server: Server | Worker, scratch: str | None, tape: Writer) -> None:
        super().__init__(server.url, tape=tape)
        self.server = server
        self._tidy = weakref.finalize(self, _tidy, server, scratch)

    def behave(self, *script: str) -> None:
        """Meet the next requests like this, in this order: `provider.behave("decline", "slow:0.5")`."""
        answer = httpx.post(f"{self.url}/script", json=list(script), timeout=PATIENCE, **DIRECT)
        if answer.status_code != 204:
            raise ValueError(answer.json()["detail"])

    def stop(self) -> None:
        self._tidy()

    def __enter__(self) -> RunningProvider:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def provider(
    *script: str,
    support: Support = "keys",
    shares: Mapping[str, float] | None = None,
    seed: int = 7,
    books: str | Path | None = None,
    process: bool = False,
    tape: Writer = NO_TAPE,
) -> RunningProvider:
    """Start a card provider on loopback: `with sl.live.provider("charge-then-drop") as provider: provider.charge(...)`.

    `script` says how to meet the first requests (`BEHAVIOURS`), `shares` gives behaviours a chance after that. Without
    `books` (a file) they are new and go with it. `process=True` gives it a process of its own.
    """
    scratch = tempfile.mkdtemp(prefix="simlib-provider-") if books is None else None
    path = str(books) if scratch is None else str(Path(scratch, "books.sqlite"))
    order: tuple[Any, ...] = (path, support, list(script), dict(shares or {}), seed)
    try:
        server = spawn("simlib.live.provider_server:provider_app", *order) if process else serve(provider_app(*order))
    except BaseException:
        _tidy(None, scratch)
        raise
    return RunningProvider(server, scratch, tape)


def _tidy(server: Server | Worker | None, scratch: str | None) -> None:
    if server is not None:
        server.stop()
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)


def _order(body: bytes) -> tuple[int, str | None]:
    """The amount and reference a body asks for; ValueError in one sentence."""
    try:
        order = json.loads(body)
    except (ValueError, RecursionError):
        order = None
    cents = order.get("amount_cents") if isinstance(order, dict) else None
    reference = order.get("reference") if isinstance(order, dict) else None
    if type(cents) is not int or not 0 < cents < 2**31:
        raise ValueError("The body must be JSON with amount_cents, a whole number from 1 up.")
    if reference is not None and not isinstance(reference, str):
        raise ValueError("reference must be text.")
    return cents, reference


def _said(status: int, detail: str) -> Answer:
    return Answer(status, bytes(problem(status, detail).body).decode())


def _response(answer: Answer, *, replayed: bool = False) -> Response:
    headers = {"Idempotent-Replayed": "true"} if replayed else {}
    media = "application/json" if answer.status < 400 else "application/problem+json"
    return Response(answer.body, answer.status, headers, media)


async def _until_gone(request: Request) -> Response:
    """Let the caller wait until it gives up; the answer is for nobody."""
    await request.body()
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response(status_code=504)


async def _hang_up(request: Request) -> Response:
    """Close the connection instead of answering."""
    await request.body()
    request.scope["extensions"][ABORT]()
    return await _until_gone(request)
