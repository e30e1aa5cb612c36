"""A wire that can be broken: a TCP proxy to be put between any two parts, HTTP or PostgreSQL.

It knows nothing of what it carries but whose turn it is. Bytes from the client begin an exchange, bytes from the server
are its answer, and the client's next bytes begin the next one. A fault befalls one exchange.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib.live.script import Script
from simlib.live.serving import LOOPBACK
from simlib.live.tape import NO_TAPE, NOBODY, Try, Writer, about

Kind = Literal["refuse", "delay", "stall", "cut"]
When = Literal["request", "before", "during", "after"]

_PIECE = 65536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 seconds: close by a reset
_TOLD = re.compile(rb"(?im)^(x-request-id|x-attempt|idempotency-key): *(.*?)\r?$")


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one exchange, and when: with the request, or before, during or after the answer.

    - `refuse`: the connection is reset as soon as the client speaks; the server hears nothing;
    - `delay`: `seconds` pass at that moment;
    - `stall`: from that moment nothing comes through any more, and nobody is told;
    - `cut`: at that moment the connection is closed on both sides. `request`: the server heard nothing; `before`: it
      did the work and its answer is lost; `during`: half of the first piece came through; `after`: all of it did, and
      the kept-alive connection is found dead by the next request.
    """

    kind: Kind
    when: When = "before"
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or self.when not in get_args(When):
            kinds, moments = ", ".join(get_args(Kind)), ", ".join(get_args(When))
            raise ValueError(f"{self.kind!r} {self.when!r} is no fault; it takes {kinds} and {moments}.")
        if self.when == "after" and self.kind != "cut":
            raise ValueError(f"A {self.kind} after the answer is one of the next request; use when='request'.")
        if not 0.0 <= self.seconds < float("inf"):
            raise ValueError(f"seconds is {self.seconds!r}; it takes a number from 0 up.")


class Proxy:
    """A running proxy: `url` or `dsn` to connect to in place of the target's, `seen`, `stop()`."""

    def __init__(self, target: str, script: Script[Fault | None], tape: Writer) -> None:
        self._target = target
        self._script = script
        listener = socket.create_server((LOOPBACK, 0), backlog=1024)
        self.port: int = listener.getsockname()[1]
        self.seen: list[Fault | None] = []
        """What befell each exchange, in order."""
        wire = _Wire(_address(target), script, self.seen, tape)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_run, args=(loop, wire, listener), name=f"proxy {self.port}", daemon=True)
        thread.start()
        self._stop = weakref.finalize(self, _stop, loop, wire, thread)

    @property
    def url(self) -> str:
        """The address for HTTP."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def dsn(self) -> str:
        """The target's DSN with this proxy in place of its address."""
        return make_conninfo(self._target, host=LOOPBACK, port=self.port)

    def befall(self, *script: Fault | None) -> None:
        """Let these befall the next exchanges, in this order."""
        self._script.extend(script)

    def stop(self) -> None:
        """Close every connection and free the port. Stopping twice is no error."""
        self._stop()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<proxy at {LOOPBACK}:{self.port} to {self._target.partition('?')[0].rpartition('@')[2]}>"


def proxy(
    target: str,
    *script: Fault | None,
    shares: Mapping[Fault | None, float] | None = None,
    seed: int = 7,
    tape: Writer = NO_TAPE,
) -> Proxy:
    """Put a proxy before `target`: `with sl.live.proxy(server.url, Fault("cut", "before")) as wire: wire.url`.

    `target` is an HTTP address or a PostgreSQL DSN (a socket folder too). `script` lists what befalls the first
    exchanges (None: nothing), `shares` gives faults a chance after that; a `tape` is told of lost messages.
    """
    return Proxy(target, Script(None, listed=script, shares=shares, seed=seed, purpose="proxy"), tape)


@dataclass
class _Exchange:
    """One request and its answer on a connection."""

    fault: Fault | None = None
    about: Try = NOBODY
    answered: bool = True  # so that the first bytes of a client begin the first exchange
    stalled: bool = False

    def meets(self, when: When) -> Fault | None:
        return self.fault if self.fault is not None and self.fault.when == when else None


class _Cut(Exception):
    """This connection ends here."""


class _Wire:
    """All connections of one proxy."""

    def __init__(
        self, address: str | tuple[str, int], script: Script[Fault | None], seen: list[Fault | None], tape: Writer
    ) -> None:
        self._address = address
        self._script = script
        self._seen = seen
        self._tape = tape
        self._open: set[asyncio.Task[None]] = set()
        self.over = asyncio.Event()

    async def run(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._connection, sock=listener)
        await self.over.wait()
        server.close()
        while self._open:
            await asyncio.wait(self._open)

    async def _connection(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._open.add(connection)
        connection.add_done_callback(self._open.discard)
        try:
            if isinstance(self._address, str):
                server, to_server = await asyncio.open_unix_connection(self._address)
            else:
                server, to_server = await asyncio.open_connection(*self._address)
        except OSError:
            to_client.transport.abort()
            return
        exchange = _Exchange()
        pumps = [
            asyncio.ensure_future(self._up(client, to_server, to_client, exchange)),
            asyncio.ensure_future(self._down(server, to_client, exchange)),
            asyncio.ensure_future(self.over.wait()),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            to_client.close()
            to_server.close()

    async def _up(
        self,
        client: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        to_client: asyncio.StreamWriter,
        exchange: _Exchange,
    ) -> None:
        """What the client says, to the server."""
        while piece := await client.read(_PIECE):
            if exchange.answered:
                if exchange.meets("after"):
                    self._lose(_tries(piece), "request")
                    raise _Cut
                self._begin(exchange, piece)
                if exchange.fault is not None and exchange.fault.kind == "refuse":
                    self._lose(exchange.about, "request")
                    to_client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    raise _Cut
                await self._meet(exchange, "request")
            if not exchange.stalled:
                to_server.write(piece)
                await to_server.drain()

    async def _down(self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter, exchange: _Exchange) -> None:
        """What the server says, to the client."""
        while piece := await server.read(_PIECE):
            if not exchange.answered:
                exchange.answered = True
                await self._meet(exchange, "before")
                if exchange.meets("during"):
                    half = len(piece) // 2
                    to_client.write(piece[:half])
                    await to_client.drain()
                    piece = piece[half:]
                    await self._meet(exchange, "during")
            if not exchange.stalled:
                to_client.write(piece)
                await to_client.drain()

    def _begin(self, exchange: _Exchange, piece: bytes) -> None:
        exchange.fault = self._script.next()
        exchange.about = _tries(piece)
        exchange.answered = exchange.stalled = False
        self._seen.append(exchange.fault)

    async def _meet(self, exchange: _Exchange, when: When) -> None:
        """Let the fault happen, if this is its moment."""
        fault = exchange.meets(when)
        if fault is None:
            return
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            return
        self._lose(exchange.about, "request" if when == "request" else "reply")
        if fault.kind == "cut":
            raise _Cut
        exchange.stalled = True

    def _lose(self, about: Try, which: Literal["request", "reply"]) -> None:
        self._tape.add("network", "lose", about, "server" if which == "request" else "phone", which)


def _tries(piece: bytes) -> Try:
    """Which try an HTTP request is, as far as its first bytes tell."""
    told = {name.decode().lower(): value.decode("latin-1") for name, value in _TOLD.findall(piece[:4096])}
    return about(told)


def _address(target: str) -> str | tuple[str, int]:
    """Where the target listens: host and port, or the path of a Unix socket."""
    if target.startswith("http://"):
        parts = urlsplit(target)
        return (parts.hostname or LOOPBACK, parts.port or 80)
    told = conninfo_to_dict(target)
    host, port = str(told.get("host") or LOOPBACK), int(told.get("port") or 5432)
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)


def _run(loop: asyncio.AbstractEventLoop, wire: _Wire, listener: socket.socket) -> None:
    try:
        loop.run_until_complete(wire.run(listener))
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, wire: _Wire, thread: threading.Thread) -> None:
    with suppress(RuntimeError):  # the loop has ended by itself
        loop.call_soon_threadsafe(wire.over.set)
    thread.join(5)
