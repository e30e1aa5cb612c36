"""Receipts by mail: what a person finds in the mailbox when the relay dies, and what could tell the copies apart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from simlib.live import outbox
from simlib.live.faults import VARIABLE
from simlib.live.mail import Mailbox, by_mail, mailbox
from simlib.live.outbox import Event
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import provider
from simlib.live.recovery_points import pay_external

RELAY = """
import sys, psycopg
from simlib.live import outbox, mail
from simlib.live.faults import armed
with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    outbox.relay(conn, mail.by_mail(int(sys.argv[2]), "ada@example.com"), faults=armed())
"""


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


def run_relay(db: Postgres, box: Mailbox, crash_at: str = "") -> int:
    env = {**os.environ, VARIABLE: crash_at} if crash_at else {**os.environ}
    return subprocess.run([sys.executable, "-c", RELAY, db.dsn, str(box.port)], env=env).returncode


def test_a_relay_killed_after_sending_sends_the_mail_again(db: Postgres, box: Mailbox) -> None:
    """SIGKILL after the mail server has taken it over: the person gets two mails of one event."""
    with db.connect() as conn:
        event_id = outbox.add(conn, "receipt", {"amount_cents": 5000})
        assert run_relay(db, box, "after-publish") == -9
        assert len(box.mails) == 1
        assert run_relay(db, box) == 0
        assert outbox.lag(conn)[0] == 0
    assert [mail.to for mail in box.mails] == ["ada@example.com"] * 2
    assert {mail.event_id for mail in box.mails} == {event_id}
    assert {mail.text for mail in box.mails} == {"amount_cents: 5000"}


def test_a_relay_that_lives_sends_one(db: Postgres, box: Mailbox) -> None:
    with db.connect() as conn:
        outbox.add(conn, "receipt", {"amount_cents": 5000})
    assert [run_relay(db, box) for _ in range(2)] == [0, 0]
    assert len(box.mails) == 1


def test_a_payment_and_its_retries_cause_one_receipt(db: Postgres, box: Mailbox) -> None:
    with db.connect() as conn, provider() as bank:
        answers = [pay_external(conn, bank, 1, "key", 5000) for _ in range(3)]
        outbox.relay(conn, by_mail(box.port, "ada@example.com"))
    assert len({answer.body for answer in answers}) == 1
    assert len(box.mails) == 1


def test_a_mail_server_that_is_gone_leaves_the_event_in_the_outbox(db: Postgres) -> None:
    with mailbox() as gone:
        port = gone.port
    with db.connect() as conn:
        outbox.add(conn, "receipt", {})
        with pytest.raises(ConnectionRefusedError):
            outbox.relay(conn, by_mail(port, "ada@example.com"))
        assert outbox.lag(conn)[0] == 1


def test_text_beyond_ascii_arrives_as_it_was(box: Mailbox) -> None:
    by_mail(box.port, "ada@example.com")(Event("Quittung", "e-1", {"für": "Schuhe, 50 €"}))
    assert (box.mails[0].subject, box.mails[0].text) == ("Quittung", "für: Schuhe, 50 €")
