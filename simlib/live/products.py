"""A resource with a version: whoever changes it says which version they have seen (RFC 9110, 13.1.1)."""

from __future__ import annotations

import json
import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from simlib.live.database import Database
from simlib.live.http_body import Refused, read_body
from simlib.live.one_transaction import MOST_CENTS
from simlib.live.problem import problem

_READ = "select price_cents, version from products where id = %(id)s"
_CHANGE = """
update products set price_cents = %(price_cents)s, version = version + 1
where id = %(id)s and (%(any)s or version = any(%(seen)s))
returning price_cents, version"""

_TAG = re.compile(r'(W/)?"([^"]*)"')


class Products:
    """GET gives the version as an ETag; PUT needs it in If-Match and answers 412 where it is not the current one.

    The check and the change are one statement, so of two who saw the same version one changes it. A retry of a change
    that was made meets 412 as well: the change is not made twice.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.routes = [
            Route("/v1/products/{id:int}", self.read, methods=["GET"]),
            Route("/v1/products/{id:int}", self.change, methods=["PUT"]),
        ]

    async def read(self, request: Request) -> Response:
        try:
            async with self._database.connection() as conn:
                row = await (await conn.execute(_READ, request.path_params)).fetchone()
        except Refused as refused:
            return problem(refused.status, refused.detail, headers=refused.headers)
        return _missing() if row is None else _product(*row)

    async def change(self, request: Request) -> Response:
        try:
            seen, any_version = _seen(request.headers.get("if-match"))
            asked = {**request.path_params, "seen": seen, "any": any_version}
            asked["price_cents"] = _price(await read_body(request))
            async with self._database.connection() as conn:
                row = await (await conn.execute(_CHANGE, asked)).fetchone()
                exists = row or await (await conn.execute(_READ, request.path_params)).fetchone()
        except Refused as refused:
            return problem(refused.status, refused.detail, headers=refused.headers)
        if row is not None:
            return _product(*row)
        if not exists:
            return _missing()
        return problem(412, "The product has changed since; read it again.", headers={"ETag": f'"{exists[1]}"'})


def _seen(if_match: str | None) -> tuple[list[int], bool]:
    """The versions an If-Match header names, and whether it takes any. A weak tag never matches (RFC 9110, 8.8.3.2)."""
    if if_match is None:
        raise Refused(428, "If-Match is missing; send the ETag of the version you have seen.")
    if if_match.strip() == "*":
        return [], True
    tags = [(weak, tag) for weak, tag in _TAG.findall(if_match)]
    return [int(tag) for weak, tag in tags if not weak and re.fullmatch("[0-9]{1,18}", tag)], False


def _price(body: bytes) -> int:
    try:
        price = json.loads(body)["price_cents"]
    except (ValueError, KeyError, TypeError, RecursionError):
        price = None
    if type(price) is not int or not 0 <= price <= MOST_CENTS:
        raise Refused(400, f"The body must be JSON with price_cents, a whole number from 0 to {MOST_CENTS}.")
    return price


def _product(price_cents: int, version: int) -> Response:
    return JSONResponse({"price_cents": price_cents, "version": version}, headers={"ETag": f'"{version}"'})


def _missing() -> Response:
    return problem(404, "There is no product with this number.")
