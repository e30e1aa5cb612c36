"""A consumer with its inbox: what it has handled is written down in the transaction that has the effect.

At least once from the queue, and an inbox behind it: the effect happens once.
"""

from __future__ import annotations

from typing import Any

import psycopg

from simlib.live.pg_queue import Message

SEEN = """
insert into processed_messages (consumer, message_id) values (%(consumer)s, %(event_id)s)
on conflict (consumer, message_id) do nothing"""

TOP_UP = "update wallets set balance_cents = balance_cents + %(cents)s where id = %(wallet)s"

NEWER = """
update products set price_cents = %(price_cents)s, version = %(version)s
where id = %(product)s and version < %(version)s"""

WALLET = "wallet"  # the name of this consumer: others of the same message have an inbox of their own


class NoSuchWallet(LookupError):
    """The message names a wallet that is not there. Not a duplicate: nothing was done, and it must not be confirmed."""


def handle(conn: psycopg.Connection[Any], message: Message, *, consumer: str = WALLET) -> bool:
    """Add a top-up to its wallet; True when it was applied, False when this event was handled before.

    The payload has `wallet` and `cents`. Dedup is on the producer's `event_id`: the queue's own number differs for a
    message that was published twice. Confirm the message after this has returned, never before.
    """
    asked = _asked(message, consumer)
    with conn.transaction():
        if conn.execute(SEEN, asked).rowcount == 0:
            return False
        if conn.execute(TOP_UP, asked).rowcount != 1:
            raise NoSuchWallet(f"Event {message.event_id} names wallet {asked['wallet']}, which is not there.")
        return True


async def handle_async(conn: psycopg.AsyncConnection[Any], message: Message, *, consumer: str = WALLET) -> bool:
    """`handle` for a consumer on asyncio."""
    asked = _asked(message, consumer)
    async with conn.transaction():
        if (await conn.execute(SEEN, asked)).rowcount == 0:
            return False
        if (await conn.execute(TOP_UP, asked)).rowcount != 1:
            raise NoSuchWallet(f"Event {message.event_id} names wallet {asked['wallet']}, which is not there.")
        return True


def apply_newer(conn: psycopg.Connection[Any], message: Message) -> bool:
    """Set a product's price if this event is newer than what is there; late and repeated ones change nothing.

    Right only for events that carry the full state: to skip an older event that says "add 500" would lose money.
    """
    return conn.execute(NEWER, message.payload).rowcount == 1


def _asked(message: Message, consumer: str) -> dict[str, Any]:
    return {
        "consumer": consumer,
        "event_id": message.event_id,
        "wallet": message.payload["wallet"],
        "cents": message.payload["cents"],
    }
