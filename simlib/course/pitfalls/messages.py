"""Pitfalls of queues, inboxes and mails."""

from __future__ import annotations

from typing import Any

from simlib.course.pitfalls.pair import Finding, Pitfall, broken, on_postgres, one, sound
from simlib.live.inbox import NoSuchWallet, handle
from simlib.live.pg_queue import Message
from simlib.scenarios.redelivery import Redelivery


def _delivered(**knobs: Any) -> Any:
    def run() -> Finding:
        counts = Redelivery(**knobs).run().counts
        return Finding(f"balance {counts['balance']:.0f} of {counts['right']}", counts["balance"] == counts["right"])

    return run


def _unknown_wallet(checked: bool) -> Any:
    """A top-up comes before its wallet is there, and again when it is."""

    def deliver(conn: Any) -> Finding:
        message = Message(1, "top-ups", "evt-1", {"wallet": 1, "cents": 500}, 1)
        for there in (False, True):
            if there:
                conn.execute("insert into wallets (id) values (1)")
            if checked:
                try:
                    handle(conn, message)
                except NoSuchWallet:
                    continue
            else:
                new = conn.execute(
                    "insert into processed_messages (consumer, message_id) values ('mine', 'evt-1') "
                    "on conflict do nothing"
                ).rowcount
                if new:
                    conn.execute("update wallets set balance_cents = balance_cents + 500 where id = 1")
        balance = one(conn, "select balance_cents from wallets where id = 1")
        return Finding(f"balance {balance} of 500", balance == 500)

    return on_postgres(deliver)


def _order(kind: str) -> Any:
    """Versions 6 and 5 arrive in this order; as changes (+500, +300), or as full states (800, 500)."""

    def deliver() -> Finding:
        balance = version = 0
        for arrived, change, state in ((6, 500, 800), (5, 300, 300)):
            if arrived > version:
                balance = state if kind == "state" else balance + change
                version = arrived
        return Finding(f"balance {balance} of 800", balance == 800)

    return deliver


def _mail(inline: bool) -> Any:
    """The transaction fails after the mail was sent, or before the relay saw the row."""

    def run(conn: Any) -> Finding:
        mails = 0
        try:
            with conn.transaction():
                conn.execute("insert into charges (account_id, key, amount_cents) values (1, 'k', 500)")
                if inline:
                    mails += 1
                else:
                    conn.execute("insert into outbox (topic, payload) values ('receipts', '{}')")
                raise ConnectionError("the database goes away before the commit")
        except ConnectionError:
            mails += one(conn, "select count(*) from outbox")
        charges = one(conn, "select count(*) from charges")
        return Finding(f"{charges} charges, {mails} mails", charges == mails)

    return on_postgres(run)


MESSAGES = (
    Pitfall(
        "ack before the commit",
        "07",
        "confirm the message, then work",
        "work and commit, then confirm",
        broken("ack_before_commit"),
        sound(4),
    ),
    Pitfall(
        "no inbox",
        "07",
        "trust the queue to deliver once",
        "note what was handled, in the same transaction",
        _delivered(inbox=False),
        _delivered(inbox=True),
    ),
    Pitfall(
        "note in another store, first",
        "07",
        "mark it as seen in a cache, then work",
        "mark and effect in one transaction",
        broken("mark_elsewhere_before"),
        sound(4),
    ),
    Pitfall(
        "note in another store, after",
        "07",
        "work, then mark it as seen in a cache",
        "mark and effect in one transaction",
        broken("mark_elsewhere_after"),
        sound(4),
    ),
    Pitfall(
        "dedup on the broker's id",
        "07",
        "note the number the queue gave",
        "note the producer's name for what happened",
        _delivered(inbox=True, twice=True, dedup_on="broker"),
        _delivered(inbox=True, twice=True, dedup_on="producer"),
    ),
    Pitfall(
        "inbox without the consumer",
        "07",
        "one inbox for all consumers of a message",
        "the consumer's name is part of the key",
        broken("inbox_without_the_consumer"),
        sound(4),
    ),
    Pitfall(
        "no such wallet, taken for a duplicate",
        "07",
        "take an update of no row for done before",
        "ask the inbox; no row is an error, and nothing is confirmed",
        _unknown_wallet(checked=False),
        _unknown_wallet(checked=True),
    ),
    Pitfall(
        "an older change skipped",
        "07",
        "skip a change because a newer one was there",
        "skip only events that carry the whole state",
        _order("change"),
        _order("state"),
    ),
    Pitfall(
        "mail sent inside the transaction",
        "06",
        "send it where the code happens to be",
        "a row in the outbox, and a relay",
        _mail(inline=True),
        _mail(inline=False),
    ),
)
