"""The contract, line by line, against the app; and an app that breaks a line is found out."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from simlib.live.contract import contract, keep_contract
from simlib.live.http_app import app
from simlib.live.provider_server import provider
from simlib.live.serving import serve


def test_every_rule_that_can_be_called_is_kept(db: Any) -> None:
    with provider() as bank, serve(app(db.dsn, bank)) as server:
        table = keep_contract(server.url, bank)
    kept = dict(zip(table.column("rule"), table.column("kept"), strict=True))
    assert kept.pop("window") is None, "kept by the layout of the table: tests/live/test_daily_keys.py"
    assert all(kept.values()), table
    assert len(kept) == len(contract()) - 1 >= 10


def test_without_a_provider_payments_are_not_called(db: Any) -> None:
    with serve(app(db.dsn)) as server:
        table = keep_contract(server.url)
    assert [row[0] for row in table if row[3] is None] == ["decline", "running", "window"]


@pytest.mark.parametrize("rule", ["replay", "mismatch", "required", "who asks"])
def test_an_app_without_keys_breaks_it(rule: str) -> None:
    async def charge(_: Any) -> JSONResponse:
        return JSONResponse({"charge_id": id(object())}, 201)

    with serve(Starlette(routes=[Route("/v1/charges", charge, methods=["POST"])])) as server:
        table = keep_contract(server.url)
    assert dict(zip(table.column("rule"), table.column("kept"), strict=True))[rule] is False
