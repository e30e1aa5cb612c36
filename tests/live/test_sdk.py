"""The SDK makes the key once a call and, given a file, keeps it over a restart of the process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from simlib.live.client import NoAnswer
from simlib.live.provider_server import provider
from simlib.live.sdk import AsyncClient, Client
from simlib.live.unfinished import ChangedIntent
from simlib.policy.retry import RetryPolicy

ONCE = RetryPolicy(attempts=1)
BODY = {"amount_cents": 5000}

DIES_WAITING = """
import os, signal, sys
from simlib.live.sdk import Client

def die(seconds):
    os.kill(os.getpid(), signal.SIGKILL)

Client(sys.argv[1], unfinished=sys.argv[2], sleep=die).post("/charges", {"amount_cents": 5000})
"""


def test_two_calls_are_two_intents_though_they_look_the_same() -> None:
    with provider() as bank:
        client = Client(bank.url)
        assert client.post("/charges", BODY).json()["id"] == "ch_1"
        assert client.post("/charges", BODY).json()["id"] == "ch_2"


def test_an_answer_that_was_lost_is_fetched_by_the_next_process(tmp_path: Path) -> None:
    """A real process sends, is killed before it hears, and its successor finishes with the same key: one charge."""
    kept = tmp_path / "calls.sqlite"
    with provider("charge-then-drop") as bank:
        died = subprocess.run([sys.executable, "-c", DIES_WAITING, bank.url, str(kept)], check=False)
        assert died.returncode == -9
        client = Client(bank.url, unfinished=kept)
        (answer,) = client.finish().values()
        assert answer.headers["Idempotent-Replayed"] == "true"
        assert len(bank.charges()) == 1
        assert client.finish() == {}


def test_an_intent_with_a_name_has_one_key_whoever_asks(tmp_path: Path) -> None:
    kept = tmp_path / "calls.sqlite"
    with provider("charge-then-drop") as bank:
        with pytest.raises(NoAnswer):
            Client(bank.url, unfinished=kept, policy=ONCE).post("/charges", BODY, intent="order 81")
        second = Client(bank.url, unfinished=kept).post("/charges", BODY, intent="order 81")
        third = Client(bank.url, unfinished=kept).post("/charges", BODY, intent="order 81")
        assert second.content == third.content
        assert Client(bank.url, unfinished=kept).post("/charges", BODY, intent="order 82").json()["id"] == "ch_2"


def test_a_name_cannot_stand_for_two_requests(tmp_path: Path) -> None:
    with provider() as bank:
        client = Client(bank.url, unfinished=tmp_path / "calls.sqlite")
        client.post("/charges", BODY, intent="order 81")
        with pytest.raises(ChangedIntent, match="order 81"):
            client.post("/charges", {"amount_cents": 1}, intent="order 81")
        assert len(bank.charges()) == 1


def test_the_async_client_does_the_same(tmp_path: Path) -> None:
    kept = tmp_path / "calls.sqlite"

    async def main(url: str) -> list[str]:
        with pytest.raises(NoAnswer):
            await AsyncClient(url, unfinished=kept, policy=ONCE).post("/charges", BODY)
        client = AsyncClient(url, unfinished=kept)
        finished = await client.finish()
        other = await client.post("/charges", BODY)
        return [answer.json()["id"] for answer in (*finished.values(), other)]

    with provider("charge-then-drop") as bank:
        assert asyncio.run(main(bank.url)) == ["ch_1", "ch_2"]


def test_what_may_still_come_stays_unfinished(tmp_path: Path) -> None:
    """A 503 at the end of all tries is no final answer; a decline is."""
    with provider("unavailable", "decline") as bank:
        client = Client(bank.url, unfinished=tmp_path / "calls.sqlite", policy=ONCE)
        assert client.post("/charges", BODY).status_code == 503
        (answer,) = client.finish().values()
        assert answer.status_code == 402
        assert client.finish() == {}
