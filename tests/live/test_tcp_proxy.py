"""A wire that breaks where it is told to, and only there; the server's work is counted, not guessed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import httpx
import psutil
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from simlib.live.client import post_with_retry
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import provider
from simlib.live.script import Script
from simlib.live.serving import serve
from simlib.live.tape import Tape
from simlib.live.tcp_proxy import Fault, proxy

ANSWER = "answer" * 100


class Shop:
    """A server that counts what it has worked on."""

    def __init__(self) -> None:
        self.work = 0
        self.app = Starlette(routes=[Route("/", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> PlainTextResponse:
        await request.body()
        self.work += 1
        return PlainTextResponse(ANSWER)


@pytest.fixture
def shop() -> Iterator[tuple[Shop, str]]:
    shop = Shop()
    with serve(shop.app) as server:
        yield shop, server.url


@pytest.mark.parametrize(
    ("fault", "answered", "worked"),
    [
        (None, True, 1),
        (Fault("delay", "request", 0.02), True, 1),
        (Fault("delay", "before", 0.02), True, 1),
        (Fault("delay", "during", 0.02), True, 1),
        (Fault("refuse"), False, 0),
        (Fault("stall", "request"), False, 0),
        (Fault("stall", "before"), False, 1),
        (Fault("stall", "during"), False, 1),
        (Fault("cut", "request"), False, 0),
        (Fault("cut", "before"), False, 1),
        (Fault("cut", "during"), False, 1),
        (Fault("cut", "after"), True, 1),
    ],
    ids=str,
)
def test_each_fault_at_its_moment(shop: tuple[Shop, str], fault: Fault | None, answered: bool, worked: int) -> None:
    """Whether the caller hears, and whether the server did the work, are two things."""
    counter, url = shop
    with proxy(url, fault) as wire, httpx.Client(timeout=1, trust_env=False) as client:
        if answered:
            assert client.post(wire.url, content=b"x").text == ANSWER
        else:
            with pytest.raises(httpx.TransportError):
                client.post(wire.url, content=b"x")
        assert wire.seen == [fault]
    assert counter.work == worked


def test_a_cut_after_the_answer_leaves_a_dead_connection_for_the_next_request(shop: tuple[Shop, str]) -> None:
    counter, url = shop
    with proxy(url, Fault("cut", "after")) as wire, httpx.Client(trust_env=False) as client:
        assert client.get(wire.url).text == ANSWER
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(wire.url)
        assert client.get(wire.url).text == ANSWER
    assert counter.work == 2


def test_every_request_on_a_kept_alive_connection_is_an_exchange_of_its_own(shop: tuple[Shop, str]) -> None:
    counter, url = shop
    with proxy(url, None, None, Fault("cut", "before")) as wire, httpx.Client(trust_env=False) as client:
        assert [client.get(wire.url).status_code for _ in range(2)] == [200, 200]
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(wire.url)
    assert counter.work == 3


def test_an_answer_larger_than_a_piece_comes_through_whole() -> None:
    large = os.urandom(1 << 20)

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": large})

    with serve(app) as server, proxy(server.url, Fault("delay", "during", 0.01)) as wire:
        assert httpx.get(wire.url).content == large


def test_lost_messages_are_on_the_tape() -> None:
    tape = Tape()
    with (
        provider() as bank,
        proxy(bank.url, Fault("cut", "request"), Fault("cut", "before"), tape=tape) as wire,
    ):
        answer = post_with_retry(
            f"{wire.url}/charges", {"amount_cents": 1}, key="8e03", sleep=lambda _: None, tape=tape
        )
        assert answer.status_code == 201
        assert len(bank.charges()) == 1
    rows = tape.trace().sql("select event, request, attempt, key, peer, status from events where actor = 'network'")
    assert rows.rows == (("lose", 0, 1, "8e03", "server", "request"), ("lose", 0, 2, "8e03", "phone", "reply"))


def test_nothing_listens_behind_it() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with proxy(f"http://127.0.0.1:{nobody.getsockname()[1]}") as wire, pytest.raises(httpx.TransportError):
            httpx.get(wire.url)


def test_it_stands_before_postgresql_too(db: Postgres) -> None:
    """The commit is on its way when the wire is cut: it has happened, and the client cannot know."""
    with proxy(db.dsn) as wire:
        conn = psycopg.connect(wire.dsn)
        conn.execute("insert into charges (account_id, amount_cents, key) values (1, 5000, 'k')")
        wire.befall(Fault("cut", "before"))
        with pytest.raises(psycopg.OperationalError):
            conn.commit()
    with db.connect() as conn:
        assert conn.execute("select count(*) from charges").fetchone() == (1,)


def test_stopping_frees_the_port_and_the_connections(shop: tuple[Shop, str]) -> None:
    _, url = shop
    with httpx.Client(trust_env=False) as client:
        wire = proxy(url, None, Fault("stall", "before"))
        client.get(wire.url)
        wire.stop()
        wire.stop()
        mine = [c for c in psutil.Process().net_connections() if c.laddr and c.laddr.port == wire.port]
        assert [c for c in mine if c.status in ("LISTEN", "ESTABLISHED")] == []


def test_its_password_is_not_shown() -> None:
    with proxy("postgresql://learner:secret@127.0.0.1:1/x") as wire:
        assert "secret" not in repr(wire)


@pytest.mark.parametrize(
    ("kind", "when", "seconds"),
    [("burn", "before", 0), ("cut", "never", 0), ("stall", "after", 0), ("delay", "before", -1)],
)
def test_a_fault_that_makes_no_sense_is_told(kind, when, seconds) -> None:
    with pytest.raises(ValueError, match=r"fault|next request|from 0 up"):
        Fault(kind, when, seconds)


def test_chance_is_seeded_and_as_frequent_as_told() -> None:
    def fates(seed: int) -> list[str]:
        script = Script("none", listed=["first"], shares={"cut": 0.2, "stall": 0.1}, seed=seed)
        return [script.next() for _ in range(2001)]

    first = fates(7)
    assert first == fates(7)
    assert first != fates(8)
    assert first[0] == "first"
    assert 350 < first.count("cut") < 450
    assert 150 < first.count("stall") < 250


@pytest.mark.parametrize("shares", [{"a": -0.1}, {"a": 1.1}, {"a": 0.6, "b": 0.6}])
def test_shares_that_are_none_are_told(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Script("none", shares=shares)
