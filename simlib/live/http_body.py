"""Reading what a client sends without being hurt by it: a limit on size, on time, and on what the JSON may hold."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request

from simlib.live.one_transaction import MOST_CENTS
from simlib.policy.fingerprint import fingerprint
from simlib.policy.keys import BadKey, parse_key

MOST_BYTES = 64 * 1024
READ_ON = 32 * 1024 * 1024  # bytes of a body too large that are read and thrown away, so that its sender hears why
WITHIN = 10.0  # seconds a body may take


class Refused(Exception):
    """A request that is turned away before anything is claimed: the status and one sentence for the caller."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


@dataclass(frozen=True)
class Order:
    """A payment that is asked for, and the fingerprint of the request that asks."""

    amount_cents: int
    currency: str
    fingerprint: str


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """The whole body; `Refused` with 413 where it is larger, 408 where it takes too long."""
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(WITHIN):
            async for piece in request.stream():
                size += len(piece)
                if size <= most:
                    pieces.append(piece)
                elif size > READ_ON:
                    break
    except TimeoutError:
        raise Refused(408, f"The body did not arrive within {WITHIN:g} s; send it in one go.") from None
    except ClientDisconnect:
        raise Refused(400, "The body ended before it was whole.") from None
    if size > most:
        raise Refused(413, f"The body is larger than {most} bytes; send a smaller one.", Connection="close")
    return b"".join(pieces)


def read_key(request: Request) -> str:
    """The request's key; `Refused` with 400 where there is none, or none that can be used."""
    try:
        return parse_key(", ".join(request.headers.getlist("idempotency-key")))
    except BadKey as error:
        raise Refused(error.status, error.reason) from None


def read_order(request: Request, body: bytes) -> Order:
    """The payment that a body asks for; `Refused` with 400 names what is wrong with it."""
    try:
        mark = fingerprint(request.method, request.url.path, body)
        asked = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused(400, "The body is not UTF-8; send JSON in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Refused(400, f"The body is not JSON ({error.msg} at character {error.pos}).") from None
    except ValueError as error:
        raise Refused(400, str(error)) from None
    if not isinstance(asked, dict):
        raise Refused(400, "The body must be a JSON object with amount_cents.")
    return Order(_cents(asked.get("amount_cents")), _currency(asked.get("currency", "eur")), mark)


def _cents(value: Any) -> int:
    """JSON has one number type: 5000.0 is 5000."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not 1 <= value <= MOST_CENTS:
        raise Refused(400, f"amount_cents is {_short(value)}; it takes a whole number of cents from 1 to {MOST_CENTS}.")
    return value


def _currency(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[a-z]{3}", value):
        raise Refused(400, f"currency is {_short(value)}; it takes three small letters, such as 'eur'.")
    return value


def _short(value: Any) -> str:
    text = "missing" if value is None else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
