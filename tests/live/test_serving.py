"""Servers start and stop in one line, stay on loopback, and never outlive the process that started them."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack, asynccontextmanager

import httpx
import psutil
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from simlib.live.serving import ABORT, NotStarted, Protocol, serve
from simlib.live.worker import spawn


def hello(*_: object) -> Starlette:
    return Starlette(routes=[Route("/", lambda _: PlainTextResponse(f"hello from {os.getpid()}"))])


def broken() -> Starlette:
    raise RuntimeError("the till is locked")


async def hangs_up(scope, receive, send) -> None:
    if scope["type"] != "http":
        return
    scope["extensions"][ABORT]()
    while (await receive())["type"] != "http.disconnect":
        pass


def free_again(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    return True


def test_one_line_starts_and_stops_it() -> None:
    with serve(hello()) as server:
        assert httpx.get(server.url).text == f"hello from {os.getpid()}"
    assert not server.running
    assert free_again(server.port)
    server.stop()


def test_it_binds_to_loopback_unless_told() -> None:
    with serve(hello()) as server:
        mine = [c for c in psutil.Process().net_connections() if c.status == "LISTEN" and c.laddr.port == server.port]
        assert [c.laddr.ip for c in mine] == ["127.0.0.1"]


def test_a_server_nobody_refers_to_stops() -> None:
    port = serve(hello()).port
    gc.collect()
    assert free_again(port)


def test_a_named_server_is_replaced_by_the_same_cell_and_keeps_its_address() -> None:
    first = serve(hello(), name="test shop")
    second = serve(hello(), name="test shop")
    assert not first.running
    assert second.port == first.port
    assert httpx.get(first.url).status_code == 200
    second.stop()


def test_a_named_server_whose_port_is_taken_finds_another() -> None:
    with serve(hello(), name="test shop") as first:
        port = first.port
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with serve(hello(), name="test shop") as second:
            assert second.port != port


def test_a_taken_port_is_told_in_one_sentence() -> None:
    with serve(hello()) as first, pytest.raises(NotStarted, match=f"Port {first.port} .* leave it out"):
        serve(hello(), port=first.port)


def test_an_app_that_fails_to_start_says_why_and_leaves_nothing() -> None:
    @asynccontextmanager
    async def lifespan(_):
        raise RuntimeError("the till is locked")
        yield

    before = threading.active_count()
    with pytest.raises(NotStarted, match="the till is locked"):
        serve(Starlette(lifespan=lifespan))
    assert threading.active_count() <= before


def test_an_app_may_drop_the_connection_without_an_answer() -> None:
    with serve(hangs_up) as server, pytest.raises(httpx.TransportError):
        httpx.get(server.url)


def test_a_client_that_dribbles_its_headers_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Protocol, "headers_within", 0.05)
    with serve(hello()) as server, socket.create_connection(("127.0.0.1", server.port), timeout=5) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost")
        assert slow.recv(1) == b""


def test_answers_are_not_held_back_for_the_acknowledgement_of_what_went_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm and a delayed acknowledgement together cost 40 ms a request."""
    held: list[int] = []
    made = Protocol.connection_made

    def look(self: Protocol, transport: asyncio.Transport) -> None:
        held.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)  # type: ignore[arg-type]

    monkeypatch.setattr(Protocol, "connection_made", look)
    with serve(hello()) as server:
        httpx.get(server.url)
    assert held == [1]


def test_a_hundred_who_dribble_their_headers_keep_nobody_from_being_served() -> None:
    """Each has sent a byte at a time and not finished; others are answered while they hold their connections."""
    with ExitStack() as stack:
        server = stack.enter_context(serve(hello()))
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 5)) for _ in range(100)]
        for byte in b"GET / HTTP/1.1\r\nHost: example.com\r\nX-Slow: ":
            for one in slow:
                one.sendall(bytes([byte]))
            assert httpx.get(server.url).status_code == 200
        for one in slow:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):  # still connected, and not answered
                one.recv(1)


def test_a_worker_has_a_process_of_its_own_that_can_be_killed_and_replaced() -> None:
    with spawn("tests.live.test_serving:hello") as worker:
        assert httpx.get(worker.url).text == f"hello from {worker.pid}"
        worker.kill()
        assert worker.wait() == -signal.SIGKILL
        with worker.again() as second:
            assert second.url == worker.url
            assert httpx.get(second.url).text == f"hello from {second.pid}"
        assert second.wait() == 0


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("tests.live.test_serving:broken", "the till is locked"),
        ("tests.live.nowhere:app", "package.module:name"),
        ("tests.live.test_serving:nothing", "package.module:name"),
    ],
)
def test_a_worker_that_cannot_start_says_why(factory: str, words: str) -> None:
    with pytest.raises(NotStarted, match=words):
        spawn(factory)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_its_kernel(how: signal.Signals) -> None:
    """A process that started a server and a worker is killed: both are gone, whichever way it died."""
    kernel = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
                import sys
                from simlib.live.serving import serve
                from simlib.live.worker import spawn
                from tests.live.test_serving import hello
                server, worker = serve(hello()), spawn("tests.live.test_serving:hello")
                print(server.port, worker.port, worker.pid, flush=True)
                sys.stdin.read()
            """),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with kernel:
        assert kernel.stdout is not None
        served, spawned, pid = map(int, kernel.stdout.readline().split())
        worker = psutil.Process(pid)
        kernel.send_signal(how)
        kernel.wait(10)
    psutil.wait_procs([worker], timeout=10)
    assert not worker.is_running()
    assert free_again(served)
    assert free_again(spawned)
