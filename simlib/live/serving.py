"""A real HTTP server from one line of a cell: on loopback, in a thread, gone with the kernel.

It runs uvicorn with two additions. An app may ask for `scope["extensions"]["simlib.abort"]` and drop the connection
without an answer, which plain ASGI cannot say. And a client that takes too long over its headers is let go, which
uvicorn leaves to whatever stands in front of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import weakref
import zlib
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

LOOPBACK = "127.0.0.1"
ABORT = "simlib.abort"
NAMED_PORTS = range(20_000, 32_000)  # below every system's ephemeral ports, so nobody stands there by chance

App = Callable[..., Any]


class NotStarted(RuntimeError):
    """A server that could not be brought up; the message says why in one sentence."""


class Protocol(H11Protocol):
    """One connection: uvicorn's, with an abort for the app and a limit on the time its headers may take."""

    headers_within = 10.0  # seconds from the first byte of a request to the last of its headers
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        app = self.app

        async def with_abort(scope: Any, receive: Any, send: Any) -> None:
            extensions = {**scope.get("extensions", {}), ABORT: transport.abort}
            await app({**scope, "extensions": extensions}, receive, send)

        self.app = with_abort
        self._late = self.loop.call_later(self.headers_within, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        in_headers = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not in_headers:
            self._in_time()
        elif self._late is None:
            self._late = self.loop.call_later(self.headers_within, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Uvicorn(uvicorn.Server):
    """uvicorn, telling when it has begun to answer."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    def work(self, listener: socket.socket) -> None:
        try:
            with contextlib.suppress(SystemExit):  # how uvicorn ends when the app's own start has failed
                self.run(sockets=[listener])
        finally:
            listener.close()
            self.ready.set()


class Server:
    """A running server: `url`, `port`, `stop()`; as a context manager it stops at the end of the block.

    It stops by itself when nobody refers to it any more and when the process ends.
    """

    def __init__(self, app: App, listener: socket.socket) -> None:
        host, self.port = listener.getsockname()[:2]
        self.url = f"http://{host}:{self.port}"
        failure: list[BaseException] = []
        config = uvicorn.Config(
            _telling(app, failure),
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        inner = _Uvicorn(config)
        thread = threading.Thread(target=inner.work, args=(listener,), name=f"serve {self.url}", daemon=True)
        thread.start()
        inner.ready.wait()
        if not inner.started:
            thread.join()
            cause = failure[0] if failure else None
            raise NotStarted(f"The app did not start: {cause!r}." if cause else "The app did not start.") from cause
        self._stop = weakref.finalize(self, _stop, inner, thread)

    def stop(self) -> None:
        """Finish the requests in hand (at most two seconds) and free the port. Stopping twice is no error."""
        self._stop()

    @property
    def running(self) -> bool:
        return self._stop.alive

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<server at {self.url}>" if self.running else f"<server stopped, was at {self.url}>"


_named: weakref.WeakValueDictionary[str, Server] = weakref.WeakValueDictionary()


def serve(app: App, *, name: str | None = None, host: str = LOOPBACK, port: int = 0) -> Server:
    """Start an ASGI app on loopback and return once it answers: `with sl.live.serve(app) as server: server.url`.

    Port 0 means a free one. A `name` gives the server an address of its own that stays: a cell that is run again
    replaces the server of that name, and after a kernel restart it is found at the same address (unless another
    program has taken the port; then at a free one). Raises `NotStarted` with one sentence.
    """
    if name is not None and name in _named:
        _named[name].stop()
    server = Server(app, _listen(host, port, name))
    if name is not None:
        _named[name] = server
    return server


def _listen(host: str, port: int, name: str | None) -> socket.socket:
    if name is not None and not port:
        try:
            return _bind(host, NAMED_PORTS[zlib.crc32(name.encode()) % len(NAMED_PORTS)])
        except OSError:
            return _bind(host, 0)
    try:
        return _bind(host, port)
    except OSError as error:
        raise NotStarted(
            f"Port {port} on {host} cannot be used ({error.strerror}); leave it out for a free one."
        ) from None


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle on
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener


def _telling(app: App, failure: list[BaseException]) -> App:
    """The app, its error while it starts kept so that it can be told."""

    async def telling(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except BaseException as error:
            if scope["type"] == "lifespan":
                failure.append(error)
            raise

    return telling


def _stop(server: _Uvicorn, thread: threading.Thread) -> None:
    server.should_exit = True
    thread.join(5)
