"""Webhooks: now we are the client that retries, and the other side needs an inbox.

The sender is the outbox's relay with HTTP for a broker: an event is sent until somebody answers 2xx, with the same id
each time. The receiver checks who sent it, and has its effect once for each id. The headers and the signature are those
of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simlib.live.client import DIRECT
from simlib.live.database import Database
from simlib.live.http_body import Refused, read_body
from simlib.live.inbox import NoSuchWallet, handle_async
from simlib.live.outbox import Event, Publish
from simlib.live.pg_queue import Message
from simlib.live.problem import problem

ID, TIME, SIGNATURE = "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"
TOLERANCE = 300.0  # seconds a signature is good for: one that was overheard is of no use later
PATIENCE = 5.0  # seconds the receiver has to answer
CONSUMER = "webhooks"


class NotAcknowledged(ConnectionError):
    """The receiver did not say 2xx: the event stays in the outbox and is sent again at the next round."""


def sender(url: str, secret: str, *, now: Callable[[], float] = time.time) -> Publish:
    """What an outbox relay publishes with: POSTs the event, raises `NotAcknowledged` for anything but a 2xx."""

    def send(event: Event) -> None:
        body = json.dumps(event.payload, separators=(",", ":")).encode()
        stamp = str(int(now()))
        headers = {
            "Content-Type": "application/json",
            ID: event.event_id,
            TIME: stamp,
            SIGNATURE: signature(secret, event.event_id, stamp, body),
        }
        try:
            answer = httpx.post(url, content=body, headers=headers, timeout=PATIENCE, **DIRECT)
        except httpx.TransportError as error:
            raise NotAcknowledged(f"{event.event_id}: no answer ({type(error).__name__})") from error
        if not answer.is_success:
            raise NotAcknowledged(f"{event.event_id}: {answer.status_code}")

    return send


def receiver(dsn: str, secret: str, *, now: Callable[[], float] = time.time) -> Starlette:
    """An app with `POST /webhooks` that adds each event's `cents` to its `wallet`, once for each id.

    204 when it was applied and when it was known already: both mean "do not send it again". 401 for a signature that
    is not the sender's or too old, 404 for a wallet that is not there.
    """
    database = Database(dsn)

    async def receive(request: Request) -> Response:
        try:
            body = await read_body(request)
            event_id = _signed(request, body, secret, now())
            message = Message(0, "webhooks", event_id, _payload(body), 1)
            async with database.connection() as conn:
                applied = await handle_async(conn, message, consumer=CONSUMER)
            return Response(status_code=204, headers={"Applied": "true" if applied else "known"})
        except NoSuchWallet as missing:
            return problem(404, str(missing))
        except Refused as refused:
            return problem(refused.status, refused.detail, headers=refused.headers)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with database.opened():
            yield

    return Starlette(routes=[Route("/webhooks", receive, methods=["POST"])], lifespan=lifespan)


def signature(secret: str, event_id: str, stamp: str, body: bytes) -> str:
    """Who knows the secret signs so: `v1,` and the HMAC-SHA256 of id, time and body in base64."""
    signed = b".".join((event_id.encode(), stamp.encode(), body))
    return "v1," + base64.b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).decode()


def _signed(request: Request, body: bytes, secret: str, now: float) -> str:
    """The event's id, if the sender's signature of it is good and fresh."""
    event_id, stamp, shown = (request.headers.get(name, "") for name in (ID, TIME, SIGNATURE))
    good = hmac.compare_digest(signature(secret, event_id, stamp, body).encode(), shown.encode())
    fresh = stamp.isascii() and stamp.isdigit() and abs(now - int(stamp[:18])) <= TOLERANCE
    if not (event_id and good and fresh):
        raise Refused(401, "The signature is not the sender's, or too old.")
    return event_id


def _payload(body: bytes) -> dict[str, int]:
    try:
        found = json.loads(body)
        return {"wallet": int(found["wallet"]), "cents": int(found["cents"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(400, "The body must be a JSON object with `wallet` and `cents`, whole numbers.") from None
