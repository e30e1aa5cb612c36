"""Answers that vanish after the work is done, and requests that come twice."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from simlib.live.books import Books
from simlib.live.client import post_with_retry
from simlib.live.lossy import Duplicating, drop_replies
from simlib.live.provider_server import provider, provider_app
from simlib.live.serving import serve
from simlib.live.tape import Tape


def counting(work: list[str]) -> Any:
    async def app(scope, receive, send) -> None:
        if scope["type"] == "http":
            work.append(scope["method"])
            await send({"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})

    return app


def test_the_work_is_done_and_the_answer_is_gone() -> None:
    work: list[str] = []
    with serve(drop_replies(counting(work))) as server, pytest.raises(httpx.RemoteProtocolError):
        httpx.post(server.url)
    assert work == ["POST"]


@pytest.mark.parametrize(("share", "lost"), [(0.0, 0), (1.0, 40)])
def test_a_share_of_none_and_of_all(share: float, lost: int) -> None:
    assert len(_lost(share, seed=7)) == lost


def test_which_answers_are_lost_is_seeded() -> None:
    first = _lost(0.3, seed=7)
    assert first == _lost(0.3, seed=7)
    assert first != _lost(0.3, seed=8)
    assert 4 <= len(first) <= 20


def _lost(share: float, seed: int) -> list[int]:
    work: list[str] = []
    lost = []
    with serve(drop_replies(counting(work), share, seed=seed)) as server, httpx.Client() as client:
        for number in range(40):
            try:
                client.post(server.url)
            except httpx.TransportError:
                lost.append(number)
    assert len(work) == 40
    return lost


def test_a_client_with_a_key_survives_it(tmp_path) -> None:
    """Every first answer is lost; the retries end well, with one charge each, and the loss is on the tape."""
    tape = Tape()
    app = drop_replies(provider_app(tmp_path / "books"), 0.5, seed=7, tape=tape)
    with serve(app) as server:
        for number in range(10):
            answer = post_with_retry(
                f"{server.url}/charges", {"amount_cents": number + 1}, sleep=lambda _: None, tape=tape
            )
            assert answer.status_code == 201
    assert [cents for _, cents, _ in Books(tmp_path / "books").charges()] == list(range(1, 11))
    assert tape.trace().count("lose", status="reply") > 0


@pytest.mark.parametrize("at_once", [False, True])
def test_everything_sent_twice_charges_once_with_a_key_and_twice_without(at_once: bool) -> None:
    for support, charges in (("keys", 1), ("none", 2)):
        with provider(support=support) as bank:  # type: ignore[arg-type]
            twice = Duplicating(at_once=at_once)
            with httpx.Client(transport=twice) as client:
                client.post(f"{bank.url}/charges", json={"amount_cents": 1}, headers={"Idempotency-Key": "k"})
                client.get(f"{bank.url}/charges")
            assert len(bank.charges()) == charges
            assert len(twice.pairs) == 1


def test_both_answers_of_a_duplicate_are_the_same_bytes() -> None:
    with provider() as bank, httpx.Client(transport=(twice := Duplicating())) as client:
        client.post(f"{bank.url}/charges", json={"amount_cents": 1}, headers={"Idempotency-Key": "k"})
        ((first, second),) = twice.pairs
        assert first == second
