"""The contract as a document that is called: every rule of `data/contract.toml`, against an app that runs."""

from __future__ import annotations

import json
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx

from simlib.files import DATA
from simlib.live.accounts import LESSON_TOKENS
from simlib.live.client import DIRECT
from simlib.live.provider_server import RunningProvider
from simlib.table import Table

ROUTE, CENTS = "/v1/charges", 5000
TOKENS = {account: token for token, account in LESSON_TOKENS.items()}


def contract() -> list[dict[str, Any]]:
    """The rules, in order: `name`, `says`, and the `call`s that show them, if any can."""
    return tomllib.loads((DATA / "contract.toml").read_text(encoding="utf-8"))["rule"]


def keep_contract(url: str, provider: RunningProvider | None = None) -> Table:
    """Call every rule against the app at `url` and say which are kept: rule, says, seen, kept (None: not called).

    Rules about payments need the `provider` that the app charges with; without one they are not called.
    """
    with httpx.Client(base_url=url, **DIRECT) as client:
        rows = [_row(rule, client, provider) for rule in contract()]
    return Table(("rule", "says", "seen", "kept"), tuple(rows))


def _row(rule: Mapping[str, Any], client: httpx.Client, provider: RunningProvider | None) -> tuple[Any, ...]:
    calls: Sequence[Mapping[str, Any]] = rule.get("call", ())
    behave = rule.get("behave")
    if not calls or (behave and provider is None):
        return rule["name"], rule["says"], "not called", None
    if behave and provider is not None:
        provider.behave(behave)
    post = partial(_post, client, rule, uuid.uuid4().hex)
    if rule.get("at_once"):
        with ThreadPoolExecutor(len(calls)) as pool:
            answers = sorted(pool.map(post, calls), key=lambda a: a.status_code)
    else:
        answers = [post(call) for call in calls]
    kept = all(_as_promised(call, answer, answers) for call, answer in zip(calls, answers, strict=True))
    return rule["name"], rule["says"], ", ".join(map(_seen, answers)), kept


def _post(client: httpx.Client, rule: Mapping[str, Any], own: str, call: Mapping[str, Any]) -> httpx.Response:
    key = call.get("key", "of-the-rule")
    if key:
        bare = key.strip('"')
        key = key.replace(bare, f"{bare}-{own}" * call.get("repeat", 1))
    token = TOKENS.get(call.get("account", 1), "nobody's")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = call.get("body") or json.dumps({"amount_cents": call.get("cents", CENTS), "currency": "eur"})
    headers |= {"Idempotency-Key": key} if key else {}
    return client.post(rule.get("route", ROUTE), content=body.encode(), headers=headers)


def _as_promised(call: Mapping[str, Any], answer: httpx.Response, answers: Sequence[httpx.Response]) -> bool:
    first = call.get("same_as")
    return (
        answer.status_code == call["status"]
        and (answer.headers.get("Idempotent-Replayed") == "true") is call.get("replayed", False)
        and ("Retry-After" in answer.headers or not call.get("retry_after"))
        and (first is None or answer.content == answers[first - 1].content)
        and (answer.is_success or answer.headers["Content-Type"].startswith("application/problem+json"))
    )


def _seen(answer: httpx.Response) -> str:
    replayed = " replayed" if answer.headers.get("Idempotent-Replayed") else ""
    return f"{answer.status_code}{replayed}"
