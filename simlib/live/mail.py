"""Receipts by mail: a mail server of our own that keeps what it gets, and a way for the relay to send.

To send a mail is a call to somebody else that no transaction covers and that knows no key: the mail of a relay that
dies after sending is sent again, and a person gets it twice. Its `Message-ID` is made from the event's id, so whoever
reads the mailbox can tell; mail servers need not. Source: RFC 5321 (SMTP), RFC 5322, 3.6.4 (identification).
"""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller

from simlib.live.outbox import Event, Publish

HOST = "127.0.0.1"
FROM = "shop@example.com"
SECONDS = 10.0  # for one mail


@dataclass(frozen=True)
class Mail:
    """A mail as it lies in the mailbox. `event_id` is the event it tells of, from its Message-ID."""

    to: str
    subject: str
    text: str
    event_id: str


@dataclass
class Mailbox:
    """A mail server on loopback, and what it has received, oldest first."""

    port: int = 0
    mails: list[Mail] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Keep a mail (aiosmtpd calls this by its name); the reply says that it was taken over."""
        found = message_from_bytes(envelope.content, policy=policy.default)
        event_id = str(found["Message-ID"]).strip("<>").partition("@")[0]
        text = found.get_body().get_content().strip()  # type: ignore[union-attr]
        self.mails += [Mail(to, str(found["Subject"]), text, event_id) for to in envelope.rcpt_tos]
        return "250 OK"


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A mail server for as long as the block runs, on a port that the system gives."""
    kept = Mailbox()
    controller = _AnyPort(kept, hostname=HOST, port=0)
    controller.start()
    kept.port = controller.port
    try:
        yield kept
    finally:
        controller.stop()


class _AnyPort(Controller):
    """A controller that looks up which port the system gave before it calls itself."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        super()._trigger_server()


def by_mail(port: int, to: str) -> Publish:
    """What a relay calls for each event: it sends a mail, and returns when the mail server has taken it over."""

    def publish(event: Event) -> None:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = FROM, to, event.topic
        mail["Message-ID"] = f"<{event.event_id}@example.com>"
        mail.set_content("\n".join(f"{name}: {value}" for name, value in event.payload.items()))
        with smtplib.SMTP(HOST, port, timeout=SECONDS) as smtp:
            smtp.send_message(mail)

    return publish
