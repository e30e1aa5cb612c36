"""Webhooks, sender and receiver, over real HTTP: sent until acknowledged, applied once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from simlib.live import outbox
from simlib.live.client import DIRECT
from simlib.live.lossy import drop_replies
from simlib.live.serving import serve
from simlib.live.webhooks import ID, SIGNATURE, TIME, NotAcknowledged, receiver, sender, signature

SECRET = "whsec_of_the_lesson"


@pytest.fixture
def conn(db: Any) -> Iterator[Any]:
    with db.connect() as conn:
        conn.execute("insert into wallets (id) values (1)")
        yield conn


def balance(conn: Any) -> int:
    return conn.execute("select balance_cents from wallets where id = 1").fetchone()[0]


def post(url: str, body: bytes, *, event_id: str = "evt-1", stamp: str = "", signed: str = "") -> httpx.Response:
    stamp = stamp or str(int(time.time()))
    headers = {ID: event_id, TIME: stamp, SIGNATURE: signed or signature(SECRET, event_id, stamp, body)}
    return httpx.post(f"{url}/webhooks", content=body, headers=headers, **DIRECT)


def test_an_event_whose_answer_was_lost_comes_again_and_is_applied_once(db: Any, conn: Any) -> None:
    """The mirror image: we send at least once, and they keep an inbox."""
    outbox.add(conn, "top-ups", {"wallet": 1, "cents": 500})
    with serve(drop_replies(receiver(db.dsn, SECRET))) as lossy, pytest.raises(NotAcknowledged):
        outbox.relay(conn, sender(f"{lossy.url}/webhooks", SECRET))
    assert (balance(conn), outbox.lag(conn)[0]) == (500, 1), "applied, and still to be sent: nobody knows"
    with serve(receiver(db.dsn, SECRET)) as server:
        assert outbox.relay(conn, sender(f"{server.url}/webhooks", SECRET)) == 1
        assert outbox.relay(conn, sender(f"{server.url}/webhooks", SECRET)) == 0
    assert (balance(conn), outbox.lag(conn)[0]) == (500, 0)


def test_known_and_new_are_both_acknowledged(db: Any, conn: Any) -> None:
    with serve(receiver(db.dsn, SECRET)) as server:
        body = b'{"wallet":1,"cents":500}'
        answers = [post(server.url, body), post(server.url, body), post(server.url, body, event_id="evt-2")]
    assert [(a.status_code, a.headers["applied"]) for a in answers] == [(204, "true"), (204, "known"), (204, "true")]
    assert balance(conn) == 1000


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"signed": "v1,AAAA"}, 401),
        ({"signed": "ü"}, 401),
        ({"stamp": "1"}, 401),
        ({"stamp": "soon"}, 401),
        ({"stamp": "9" * 400}, 401),
    ],
)
def test_what_the_sender_did_not_sign_or_not_today_is_refused(db: Any, conn: Any, how: Any, status: int) -> None:
    with serve(receiver(db.dsn, SECRET)) as server:
        how = {k: v.encode() if k == "signed" else v for k, v in how.items()}
        assert post(server.url, b'{"wallet":1,"cents":500}', **how).status_code == status
    assert balance(conn) == 0


@pytest.mark.parametrize("body", [b"", b"[]", b'{"wallet":1}', b"[" * 50_000, b'{"wallet":"x","cents":1}'])
def test_a_body_that_says_nothing_is_400(db: Any, conn: Any, body: bytes) -> None:
    with serve(receiver(db.dsn, SECRET)) as server:
        assert post(server.url, body).status_code == 400
        assert post(server.url, b'{"wallet":1,"cents":1}').status_code == 204, "and it goes on answering"


def test_a_wallet_that_is_not_there_is_no_duplicate(db: Any, conn: Any) -> None:
    """404, nothing noted: once the wallet is there, the same event is applied."""
    with serve(receiver(db.dsn, SECRET)) as server:
        body = json.dumps({"wallet": 2, "cents": 5}).encode()
        assert post(server.url, body).status_code == 404
        conn.execute("insert into wallets (id) values (2)")
        assert post(server.url, body).headers["applied"] == "true"


def test_the_signature_is_the_standard_s_own_shape() -> None:
    assert signature("s", "msg_1", "1", b"{}").startswith("v1,")
    assert signature("s", "msg_1", "1", b"{}") != signature("s", "msg_1", "2", b"{}")
