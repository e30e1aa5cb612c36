"""Middleware that makes any Starlette route idempotent: bodies of any kind in, answers of any kind kept.

It is lease style, because what the route does may reach beyond the database: the key is committed first, the route
runs, the answer is saved. A duplicate in between is answered 409 with Retry-After. What no middleware can give is one
commit for the work and the answer: if the process dies between the two, the lease runs out and a retry runs the route
again. So the route gets the key (`request.state.idempotency_key`), to be passed downstream or put on the row it writes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request

from simlib.live.accounts import LESSON_TOKENS, Accounts
from simlib.live.answers import Answers, Kept, Lease
from simlib.live.database import Database
from simlib.live.http_body import Refused, read_body, read_key
from simlib.live.problem import problem
from simlib.live.serving import App
from simlib.policy.fingerprint import fingerprint
from simlib.policy.verdict import Verdict

MOST_BODY = 10 * 1024 * 1024
MOST_ANSWER = 1024 * 1024
LEASE = 30.0  # seconds; renewed while the route runs, so it ends only with the process or its database

_NOT_FINAL = {400, 408, 409, 422, 425, 429}
_ENDLESS = b"text/event-stream"
_BOUNDARY = re.compile(r'^multipart/.*;\s*boundary="?([^";]+)', re.IGNORECASE)


def is_final(status: int) -> bool:
    """Whether an answer is kept: what was done, and a no that stays a no.

    Not kept, so that a retry runs the route again: 5xx, what asks for a retry, and failed validation.
    """
    return status < 500 and status not in _NOT_FINAL


class Idempotent:
    """`Starlette(middleware=[Middleware(Idempotent, dsn=db.dsn)])`: POST and PATCH need a key and are done once for it.

    An answer larger than `most_answer` bytes, or an endless one (server-sent events), goes out whole the first time and
    is not kept: the key then answers 410, and the route is not run again. `keep` decides from the status whether an
    answer is final. Keys are scoped to the account that the bearer token stands for.
    """

    def __init__(
        self,
        app: App,
        *,
        dsn: str,
        tokens: Mapping[str, int] = LESSON_TOKENS,
        methods: Sequence[str] = ("POST", "PATCH"),
        keep: Callable[[int], bool] = is_final,
        lease: float = LEASE,
        most_body: int = MOST_BODY,
        most_answer: int = MOST_ANSWER,
    ) -> None:
        self._app = app
        self._database = Database(dsn)
        self._answers = Answers(self._database, lease)
        self._accounts = Accounts(tokens)
        self._methods = frozenset(methods)
        self._keep = keep
        self._lease = lease
        self._most_body = most_body
        self._most_answer = most_answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            async with self._database.opened():
                await self._app(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] in self._methods:
            try:
                await self._once(scope, receive, send)
            except Refused as refused:
                await problem(refused.status, refused.detail, headers=refused.headers)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _once(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        body = await read_body(request, self._most_body)
        account = self._accounts.of(request.headers.get("authorization"))
        if account is None:
            raise Refused(401, "The bearer token is missing or unknown.", **{"WWW-Authenticate": "Bearer"})
        key = read_key(request)
        match await self._answers.claim(account, key, _mark(request, body)):
            case Lease() as lease:
                scope.setdefault("state", {})["idempotency_key"] = key
                await self._work(lease, scope, body, receive, send)
            case Kept(body=None) as kept:
                raise Refused(410, f"This was done, and answered {kept.status}; that answer was not kept. Look it up.")
            case Kept() as kept:
                await _replay(kept, send)
            case Verdict.MISMATCH:
                raise Refused(422, "This key came with another request before; give a new request a new key.")
            case _:
                raise Refused(409, "A request with this key is still running; try again.", **{"Retry-After": "1"})

    async def _work(self, lease: Lease, scope: Any, body: bytes, receive: Any, send: Any) -> None:
        """Run the route under the lease, keep its answer, and only then let it out."""
        answer = _Answer(self._answers, lease, self._keep, self._most_answer, send)
        try:
            async with self._renewed(lease):
                await self._app(scope, _given(body, receive, answer.settled), answer.send)
        finally:
            if not answer.settled.is_set():
                await asyncio.shield(self._answers.free(lease))
        if answer.lost:
            raise Refused(409, "This request lost its lease; another with this key goes on.", **{"Retry-After": "1"})

    @asynccontextmanager
    async def _renewed(self, lease: Lease) -> AsyncIterator[None]:
        async def renew() -> None:
            while True:
                await asyncio.sleep(self._lease / 3)
                await self._answers.renew(lease)

        renewing = asyncio.ensure_future(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)


class _Answer:
    """An answer on its way out: held back until it is kept, or until it is clear that it cannot be."""

    def __init__(self, answers: Answers, lease: Lease, keep: Callable[[int], bool], most: int, send: Any) -> None:
        self._answers = answers
        self._lease = lease
        self._keep = keep
        self._most = most
        self._send = send
        self._held: list[Any] = []
        self._size = 0
        self.settled = asyncio.Event()
        self.lost = False

    async def send(self, message: Any) -> None:
        if self.settled.is_set():
            if not self.lost:
                await self._send(message)
            return
        self._held.append(message)
        self._size += len(message.get("body", b""))
        over = message["type"] == "http.response.body" and not message.get("more_body", False)
        if over or self._size > self._most or self._endless:
            await self._settle(whole=over and self._size <= self._most)

    @property
    def _endless(self) -> bool:
        return any(name.lower() == b"content-type" and value.startswith(_ENDLESS) for name, value in self._headers)

    @property
    def _headers(self) -> list[tuple[bytes, bytes]]:
        return [(bytes(name), bytes(value)) for name, value in self._held[0].get("headers", [])]

    async def _settle(self, *, whole: bool) -> None:
        status = self._held[0]["status"]
        if self._keep(status):
            body = b"".join(message.get("body", b"") for message in self._held) if whole else None
            mine = await self._answers.save(self._lease, Kept(status, tuple(self._headers), body))
        else:
            mine = await self._answers.free(self._lease)
        self.lost = not mine
        self.settled.set()
        if mine:
            for message in self._held:
                await self._send(message)


async def _replay(kept: Kept, send: Any) -> None:
    headers = [*kept.headers, (b"idempotent-replayed", b"true")]
    await send({"type": "http.response.start", "status": kept.status, "headers": headers})
    await send({"type": "http.response.body", "body": kept.body})


def _given(body: bytes, receive: Any, settled: asyncio.Event) -> Any:
    """The body once more, for the route. That the client has gone it hears only once its answer is settled."""
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        if unread:
            return unread.pop()
        await settled.wait()
        return await receive()

    return again


def _mark(request: Request, body: bytes) -> str:
    """The fingerprint of any request. Forms are compared without the boundary, which each sending draws anew."""
    boundary = _BOUNDARY.match(request.headers.get("content-type", ""))
    if boundary is not None:
        body = body.replace(boundary[1].encode("latin-1"), b"boundary")
    path = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    try:
        return fingerprint(request.method, path, body)
    except ValueError as error:
        raise Refused(400, str(error)) from None
