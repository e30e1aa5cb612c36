"""The middleware: any route, any body, any answer, done once for a key; what cannot be kept is said, not done twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from simlib.live.client import DIRECT, post_with_retry
from simlib.live.idempotent import Idempotent
from simlib.live.pg.server import Postgres
from simlib.live.serving import serve
from simlib.live.worker import spawn
from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy

AUTH = {"Authorization": "Bearer token-of-account-1"}
Answer = Callable[[Request], Any]


class Shop:
    """A route that counts how often it has run."""

    def __init__(self, answer: Answer) -> None:
        self.runs = 0
        self._answer = answer

    async def route(self, request: Request) -> Response:
        self.runs += 1
        return await self._answer(request)


@contextmanager
def serving(db: Postgres, answer: Answer, **how: Any) -> Iterator[tuple[Shop, httpx.Client]]:
    shop = Shop(answer)
    app = Starlette(
        routes=[Route("/work", shop.route, methods=["GET", "POST", "PUT"])],
        middleware=[Middleware(Idempotent, dsn=db.dsn, **how)],
    )
    fresh = httpx.Limits(max_keepalive_connections=0)  # a server closes the connection after a route that broke
    with serve(app) as server, httpx.Client(base_url=server.url, headers=AUTH, limits=fresh, **DIRECT) as client:
        yield shop, client


def post(client: httpx.Client, key: str = "k", **body: Any) -> httpx.Response:
    return client.post("/work", headers={"Idempotency-Key": key}, **body)


async def echo(request: Request) -> Response:
    body = await request.body()
    return Response(body[::-1], 201, {"X-Run": "yes"}, request.headers.get("content-type"))


@pytest.mark.parametrize(
    "body",
    [{"json": {"a": 1}}, {"content": bytes(range(256)) * 100}, {"content": b""}, {"data": {"a": "1"}}],
    ids=["json", "bytes", "empty", "form"],
)
def test_any_body_and_any_answer_are_done_once_and_replayed_byte_for_byte(db: Postgres, body: dict[str, Any]) -> None:
    with serving(db, echo) as (shop, client):
        first, second = post(client, **body), post(client, **body)
        assert shop.runs == 1
    assert first.status_code == second.status_code == 201
    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.headers["X-Run"] == "yes"
    assert second.headers.get("content-type") == first.headers.get("content-type")


def test_a_file_is_the_same_file_whatever_boundary_it_is_sent_with(db: Postgres) -> None:
    async def size(request: Request) -> Response:
        assert request.headers["content-type"].startswith("multipart/form-data")
        return JSONResponse({"size": len(await request.body())}, 201)

    with serving(db, size) as (shop, client):
        first = post(client, files={"receipt": b"\x00\xff" * 1000})
        again = post(client, files={"receipt": b"\x00\xff" * 1000})
        other = post(client, files={"receipt": b"\x00\xfe" * 1000})
        assert shop.runs == 1
    assert first.request.headers["content-type"] != again.request.headers["content-type"]
    assert again.content == first.content
    assert other.status_code == 422


def test_headers_that_come_twice_are_replayed_twice(db: Postgres) -> None:
    async def cookies(_: Request) -> Response:
        response = PlainTextResponse("ok")
        response.set_cookie("a", "1")
        response.set_cookie("b", "é".encode().decode("latin-1"))
        return response

    with serving(db, cookies) as (_, client):
        first, second = post(client), post(client)
    assert first.headers.get_list("set-cookie") == second.headers.get_list("set-cookie")
    assert len(second.headers.get_list("set-cookie")) == 2


def streamed(pieces: int, media_type: str = "text/plain") -> Answer:
    async def answer(_: Request) -> Response:
        async def body():
            for _ in range(pieces):
                yield b"x" * 1000

        return StreamingResponse(body(), media_type=media_type)

    return answer


def test_a_streamed_answer_of_a_size_one_can_keep_is_kept(db: Postgres) -> None:
    with serving(db, streamed(50)) as (shop, client):
        assert post(client).content == post(client).content == b"x" * 50_000
        assert shop.runs == 1


@pytest.mark.parametrize("answer", [streamed(3000), streamed(3, "text/event-stream")], ids=["large", "endless"])
def test_an_answer_that_cannot_be_kept_is_refused_plainly_and_never_made_twice(db: Postgres, answer: Answer) -> None:
    with serving(db, answer) as (shop, client):
        first, second = post(client), post(client)
        assert len(first.content) in (3_000, 3_000_000)
        assert second.status_code == 410
        assert "not kept" in second.json()["detail"]
        assert shop.runs == 1


@pytest.mark.parametrize(
    ("status", "runs"),
    [(200, 1), (204, 1), (402, 1), (404, 1), (400, 2), (409, 2), (422, 2), (429, 2), (500, 2), (503, 2)],
)
def test_final_answers_are_kept_and_the_others_leave_the_key_free(db: Postgres, status: int, runs: int) -> None:
    async def answer(_: Request) -> Response:
        return Response(status_code=status)

    with serving(db, answer) as (shop, client):
        assert [post(client).status_code for _ in range(2)] == [status] * 2
        assert shop.runs == runs


def test_a_route_that_breaks_leaves_the_key_free(db: Postgres) -> None:
    async def answer(_: Request) -> Response:
        if shop.runs == 1:
            raise RuntimeError("the till is locked")
        return PlainTextResponse("ok")

    with serving(db, answer) as (shop, client):
        assert [post(client).status_code for _ in range(2)] == [500, 200]


def test_what_to_keep_can_be_chosen(db: Postgres) -> None:
    """A kept 500 is replayed although the outage is over."""

    async def answer(_: Request) -> Response:
        return Response(status_code=500 if shop.runs == 1 else 201)

    with serving(db, answer, keep=lambda status: True) as (shop, client):
        assert [post(client).status_code for _ in range(2)] == [500, 500]
        assert shop.runs == 1


def test_another_request_with_the_same_key_is_422(db: Postgres) -> None:
    with serving(db, echo) as (shop, client):
        post(client, content=b"a")
        assert post(client, content=b"b").status_code == 422
        assert client.post("/work?dry=1", content=b"a", headers={"Idempotency-Key": "k"}).status_code == 422
        assert shop.runs == 1


def test_who_asks_and_the_key_come_first(db: Postgres) -> None:
    with serving(db, echo) as (shop, client):
        assert client.post("/work", headers={"Idempotency-Key": "k", "Authorization": ""}).status_code == 401
        assert client.post("/work").status_code == 400
        assert shop.runs == 0


def test_an_account_never_sees_another_ones_answer(db: Postgres) -> None:
    with serving(db, echo) as (shop, client):
        post(client, content=b"a")
        theirs = client.post(
            "/work",
            content=b"a",
            headers={"Idempotency-Key": "k", "Authorization": "Bearer token-of-account-2"},
        )
        assert "Idempotent-Replayed" not in theirs.headers
        assert shop.runs == 2


def test_a_body_too_large_is_refused_before_the_key_is_claimed(db: Postgres) -> None:
    with serving(db, echo, most_body=1000) as (shop, client):
        assert post(client, content=b"x" * 1001).status_code == 413
        assert post(client, content=b"x" * 1000).status_code == 201
        assert shop.runs == 1


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_methods_pass_untouched(db: Postgres, method: str) -> None:
    with serving(db, echo) as (shop, client):
        for _ in range(2):
            assert client.request(method, "/work", content=b"x").status_code == 201
        assert shop.runs == 2


def test_the_route_is_told_its_key(db: Postgres) -> None:
    async def answer(request: Request) -> Response:
        return PlainTextResponse(request.state.idempotency_key)

    with serving(db, answer) as (_, client):
        assert post(client, "8e03").text == "8e03"


class Held:
    """A route that stands still until it is let go; in a server's thread, released from a test's."""

    def __init__(self) -> None:
        self._go: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def answer(self, _: Request) -> Response:
        self._go, self._loop = asyncio.Event(), asyncio.get_running_loop()
        await self._go.wait()
        return PlainTextResponse("done", 201)

    def wait(self) -> None:
        while self._go is None:
            pass

    def release(self) -> None:
        assert self._loop is not None
        assert self._go is not None
        self._loop.call_soon_threadsafe(self._go.set)


def test_a_duplicate_of_a_running_request_is_409_and_replayed_later(db: Postgres) -> None:
    held = Held()
    with serving(db, held.answer) as (shop, client), ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, client)
        held.wait()
        duplicate = post(client)
        assert (duplicate.status_code, duplicate.headers["Retry-After"]) == (409, "1")
        held.release()
        assert first.result().status_code == 201
        assert post(client).content == b"done"
        assert shop.runs == 1


def test_five_at_once_that_retry_all_end_with_the_same_answer(db: Postgres) -> None:
    with serving(db, echo) as (shop, client), ThreadPoolExecutor(5) as pool:

        def call(_: int) -> httpx.Response:
            return post_with_retry(f"{client.base_url}/work".replace("//work", "/work"), b"abc", key="k", headers=AUTH)

        answers = list(pool.map(call, range(5)))
        assert {(answer.status_code, answer.content) for answer in answers} == {(201, b"cba")}
        assert shop.runs == 1


def test_a_client_that_hangs_up_does_not_stop_the_holder(db: Postgres) -> None:
    held = Held()
    with serving(db, held.answer) as (shop, client):
        with pytest.raises(httpx.ReadTimeout):
            client.post("/work", headers={"Idempotency-Key": "k"}, timeout=0.3)
        held.release()
        while (answer := post(client)).status_code == 409:
            pass
        assert answer.content == b"done"
        assert shop.runs == 1


def test_the_lease_is_renewed_while_the_route_runs(db: Postgres) -> None:
    """Longer than three leases: still nobody else may begin."""
    held = Held()
    query = "select extract(epoch from locked_until - created_at) from http_answers"
    with serving(db, held.answer, lease=0.3) as (shop, client), ThreadPoolExecutor(1) as pool, db.connect() as conn:
        first = pool.submit(post, client)
        held.wait()
        while conn.execute(query).fetchone()[0] < 1.2:
            assert post(client).status_code == 409
        held.release()
        assert first.result().status_code == 201
        assert shop.runs == 1


def test_a_late_holder_writes_nothing_and_says_so(db: Postgres) -> None:
    held = Held()
    with serving(db, held.answer) as (_, client), ThreadPoolExecutor(1) as pool, db.connect() as conn:
        first = pool.submit(post, client)
        held.wait()
        conn.execute("update http_answers set lease_id = gen_random_uuid()")
        held.release()
        assert first.result().status_code == 409
        assert "lost its lease" in first.result().json()["detail"]
        assert conn.execute("select status from http_answers").fetchone() == (None,)


def dying(dsn: str, die: bool) -> Starlette:
    """A worker's app whose route kills its own process in mid-work, or works."""

    async def route(_: Request) -> Response:
        if die:
            os.kill(os.getpid(), signal.SIGKILL)
        return PlainTextResponse("done", 201)

    middleware = [Middleware(Idempotent, dsn=dsn, lease=0.6)]
    return Starlette(routes=[Route("/work", route, methods=["POST"])], middleware=middleware)


def test_a_worker_killed_in_mid_work_leaves_a_lease_that_ends_by_itself(db: Postgres) -> None:
    patient = RetryPolicy(attempts=20, deadline=20, backoff=Backoff(base=0.05, cap=0.2))
    with spawn("tests.live.test_idempotent:dying", db.dsn, True) as worker:
        with pytest.raises(ConnectionError):
            post_with_retry(f"{worker.url}/work", b"", key="k", headers=AUTH, policy=RetryPolicy(attempts=1))
        assert worker.wait() == -signal.SIGKILL
    with spawn("tests.live.test_idempotent:dying", db.dsn, False) as worker:
        answer = post_with_retry(f"{worker.url}/work", b"", key="k", headers=AUTH, policy=patient)
        assert (answer.status_code, answer.content) == (201, b"done")
