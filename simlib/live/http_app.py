"""A keyed API over HTTP, as an engineer would lift it into a service.

`POST /v1/charges` does its work in one transaction, so a duplicate waits for the first and never meets 409.
`POST /v1/payments` asks a provider on the way and goes by recovery points: while one works on a key, others get 409.
Every request with a key meets one of five cases, in this order: no key or a bad one (400, nothing stored); a known key
with another request (422); a finished one (the saved answer, marked as replayed); a running one (wait, or 409); a new
one (claim, work, save). Who may ask is checked before all of them, so a replay too must be authorised today.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simlib.live import one_transaction
from simlib.live.accounts import LESSON_TOKENS, Accounts
from simlib.live.database import CONNECTIONS, Database
from simlib.live.faults import armed
from simlib.live.http_body import Order, Refused, read_body, read_key, read_order
from simlib.live.logs import about_request, log
from simlib.live.metrics import CONTENT_TYPE, Metrics
from simlib.live.problem import problem
from simlib.live.products import Products
from simlib.live.provider_client import Provider
from simlib.live.recovery_points import pay_external_async
from simlib.live.tape import NO_TAPE, Tape, Try, Writer, about

T = TypeVar("T")

Pays = Callable[[Request, int, str, Order], Awaitable[one_transaction.Response]]
"""What does the work of a keyed route: (request, account, key, order) -> answer."""

KINDS = {402: "card-declined", 409: "key-in-use", 422: "key-reused", 503: "provider-down", 504: "provider-silent"}
DETAILS = {
    402: "The card was declined; another try with the same key gets the same answer.",
    409: "A request with this key is still running; try again with the same key.",
    422: "This key came with another request before; give a new request a new key.",
    503: "The card provider cannot charge now; try again with the same key.",
    504: "The card provider did not answer; try again with the same key.",
}
SOON = {409: "1", 503: "1", 504: "1"}  # Retry-After, in seconds


class _Gone(Exception):
    """The client has hung up: there is nobody to answer."""


class _Api:
    """The routes, and what they share."""

    def __init__(self, database: Database, accounts: Accounts, tape: Writer, provider: Provider | None) -> None:
        self.database = database
        self.provider = provider
        self.faults = armed()
        self._going: set[asyncio.Task[Any]] = set()
        self.accounts = accounts
        self.metrics = Metrics()
        self.tape = tape

    def keyed(self, pays: Pays) -> Callable[[Request], Awaitable[Response]]:
        """A route that needs an account, a key and an order, and answers what `pays` does."""

        async def endpoint(request: Request) -> Response:
            this = about(request.headers)
            self.tape.add("server", "arrive", this, "phone")
            with about_request(this):
                try:
                    account, key, order = await self._asked(request)
                    return await self._work(request, Try(this.intent, this.attempt, key), account, order, pays)
                except Refused as refused:
                    return self._refuse(this, refused)
                except _Gone:
                    log.info("the client hung up; rolled back")
                    return Response(status_code=499)

        return endpoint

    async def charge(self, request: Request, account: int, key: str, order: Order) -> one_transaction.Response:
        """One transaction: if the client hangs up on the way it is rolled back, and a retry starts afresh."""
        async with self.database.connection() as conn:
            return await _unless_gone(
                request,
                one_transaction.pay_async(
                    conn, account, key, order.amount_cents, currency=order.currency, fingerprint=order.fingerprint
                ),
            )

    async def pay(self, request: Request, account: int, key: str, order: Order) -> one_transaction.Response:
        """By recovery points: once begun it goes on to its next safe point, whether the client hangs up or not."""
        going = asyncio.create_task(self._pay(account, key, order))
        self._going.add(going)  # or it might be collected as garbage half way
        going.add_done_callback(self._going.discard)
        return await _unless_gone(request, _result_of(going))

    async def _pay(self, account: int, key: str, order: Order) -> one_transaction.Response:
        assert self.provider is not None
        async with self.database.connection() as conn:
            return await pay_external_async(
                conn,
                self.provider,
                account,
                key,
                order.amount_cents,
                currency=order.currency,
                fingerprint=order.fingerprint,
                faults=self.faults,
            )

    async def show_metrics(self, request: Request) -> Response:
        try:
            async with self.database.connection() as conn:
                return Response(await self.metrics.text(conn), headers={"Content-Type": CONTENT_TYPE})
        except Refused as refused:
            return problem(refused.status, refused.detail, headers=refused.headers)

    async def _asked(self, request: Request) -> tuple[int, str, Order]:
        """Who asks, with which key, for what; nothing is stored of what is refused here."""
        account = self.accounts.of(request.headers.get("authorization"))
        body = await read_body(request)
        if account is None:
            raise Refused(401, "The bearer token is missing or unknown.", **{"WWW-Authenticate": "Bearer"})
        return account, read_key(request), read_order(request, body)

    async def _work(self, request: Request, this: Try, account: int, order: Order, pays: Pays) -> Response:
        with about_request(this, account):
            began = time.monotonic()
            answer = await pays(request, account, this.key or "", order)
            log.info("%s -> %d%s, %.0f ms", *_line(request, answer, began))
        self._tell(this, answer, order)
        return self._answered(this, _http(answer), replayed=answer.replayed)

    def _refuse(self, this: Try, refused: Refused) -> Response:
        log.info("refused with %d: %s", refused.status, refused.detail)
        self.tape.add("server", "refuse", this, status=str(refused.status))
        kind = _kind(refused.status)
        return self._answered(this, problem(refused.status, refused.detail, kind=kind, headers=refused.headers))

    def _answered(self, this: Try, response: Response, *, replayed: bool = False) -> Response:
        self.metrics.count(response.status_code, replayed=replayed)
        if this.attempt > 1:
            self.metrics.retries.inc()
        self.tape.add("server", "reply", this, "phone", str(response.status_code))
        return response

    def _tell(self, this: Try, answer: one_transaction.Response, order: Order) -> None:
        """What the database has done, as the answer tells it."""
        status = str(answer.code)
        if answer.replayed:
            self.tape.add("database", "replay", this, status=status)
        elif answer.code == 201:
            self.tape.add("database", "claim", this)
            self.tape.add("database", "effect", this, value=order.amount_cents)
            self.tape.add("database", "save", this)
        else:
            self.tape.add("database", "refuse", this, status=status)


def app(
    dsn: str,
    provider: Provider | str | None = None,
    *,
    tokens: Mapping[str, int] = LESSON_TOKENS,
    connections: int = CONNECTIONS,
    tape: Writer | str = NO_TAPE,
) -> Starlette:
    """The API as an ASGI app on the database at `dsn`: `with sl.live.serve(sl.live.app(db.dsn)) as server: ...`.

    `provider` (or its address) is who charges cards for `/v1/payments`; without one there is no such route. `tokens`
    says which bearer token stands for which account. A `tape` (or the path of one, for a worker process)
    is told the event rows.
    """
    database = Database(dsn, connections)
    tape = Tape(tape) if isinstance(tape, str) else tape
    bank = Provider(provider, tape=tape) if isinstance(provider, str) else provider
    api = _Api(database, Accounts(tokens), tape, bank)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with database.opened():
            yield

    routes = [
        Route("/v1/charges", api.keyed(api.charge), methods=["POST"]),
        *([Route("/v1/payments", api.keyed(api.pay), methods=["POST"])] if bank else []),
        Route("/metrics", api.show_metrics, methods=["GET"]),
        *Products(database).routes,
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _http(answer: one_transaction.Response) -> Response:
    """A success as it was saved, byte for byte; a no as a problem, the same bytes each time."""
    headers = {"Idempotent-Replayed": "true"} if answer.replayed else {}
    if answer.code < 400:
        return Response(answer.body, answer.code, headers, "application/json")
    if answer.code in SOON:
        headers["Retry-After"] = SOON[answer.code]
    return problem(answer.code, DETAILS[answer.code], kind=_kind(answer.code), headers=headers)


def _kind(status: int) -> str:
    return f"urn:simlib:{KINDS[status]}" if status in KINDS else "about:blank"


def _line(request: Request, answer: one_transaction.Response, began: float) -> tuple[str, int, str, float]:
    asked = f"{request.method} {request.url.path}"
    return asked, answer.code, " (replayed)" if answer.replayed else "", (time.monotonic() - began) * 1000


async def _result_of(going: asyncio.Task[T]) -> T:
    """The result of a task that goes on even when nobody waits for it any more."""
    return await asyncio.shield(going)


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result; if the client hangs up first, the work is cancelled and `_Gone` raised."""
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise _Gone
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
