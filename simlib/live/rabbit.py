"""The queue of `pg_queue` on RabbitMQ: the same messages, delivered at least once by a broker of its own.

A quorum queue counts deliveries and puts a message aside after `MOST` of them. What is handed out and not confirmed
comes again when its consumer's connection ends. Needs `pip install "simlib[rabbitmq]"`. Source: RabbitMQ
documentation, "Consumer Acknowledgements and Publisher Confirms", "Quorum Queues", "Dead Letter Exchanges".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from simlib.live.pg_queue import MOST, Message

if TYPE_CHECKING:
    from pika.adapters.blocking_connection import BlockingChannel

VARIABLE = "SIMLIB_AMQP_URL"
PERSISTENT = 2  # AMQP 0-9-1: kept over a restart of the broker


class BrokerError(Exception):
    """There is no RabbitMQ to be had, in one sentence."""


@contextmanager
def channel(url: str | None = None) -> Iterator[BlockingChannel]:
    """A channel to the RabbitMQ at `url` (default: $SIMLIB_AMQP_URL) that confirms what is published on it."""
    try:
        import pika
        from pika.exceptions import AMQPError
    except ImportError as error:
        raise BrokerError('RabbitMQ needs the package pika; pip install "simlib[rabbitmq]".') from error
    url = url or os.environ.get(VARIABLE)
    if not url:
        raise BrokerError(f"No RabbitMQ is named; set {VARIABLE}, such as amqp://guest:guest@127.0.0.1:5672.")
    try:
        connection = pika.BlockingConnection(pika.URLParameters(url))
    except (AMQPError, OSError, ValueError) as error:
        where = url.rpartition("@")[2]
        raise BrokerError(f"RabbitMQ at {where} does not answer ({type(error).__name__}); is it running?") from error
    try:
        opened = connection.channel()
        opened.confirm_delivery()
        yield opened
    finally:
        if connection.is_open:
            connection.close()


def declare(channel: BlockingChannel, topic: str, *, most: int = MOST) -> None:
    """Make the queue of a topic, and the one for its dead letters, where they are not there yet."""
    channel.queue_declare(_dead(topic), durable=True, arguments={"x-queue-type": "quorum"})
    arguments = {
        "x-queue-type": "quorum",
        "x-delivery-limit": most - 1,  # RabbitMQ counts what comes after the first delivery
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": _dead(topic),
    }
    channel.queue_declare(topic, durable=True, arguments=arguments)


def publish(channel: BlockingChannel, topic: str, event_id: str, payload: Mapping[str, Any]) -> None:
    """Put a message into the queue; when this returns, the broker has it. Published twice, it is there twice."""
    from pika import BasicProperties

    kept = BasicProperties(message_id=event_id, delivery_mode=PERSISTENT)
    channel.basic_publish("", topic, json.dumps(payload).encode(), kept, mandatory=True)


def take(channel: BlockingChannel, topic: str) -> Message | None:
    """The next message, kept from others until it is confirmed or this connection ends; None when there is none."""
    got: Any = channel.basic_get(topic)
    method, properties, body = got
    if method is None:
        return None
    again = (properties.headers or {}).get("x-delivery-count", 0)
    return Message(method.delivery_tag, topic, properties.message_id, json.loads(body), again + 1)


def ack(channel: BlockingChannel, message: Message) -> None:
    """Confirm a delivery: it will not come again."""
    channel.basic_ack(message.id)


def nack(channel: BlockingChannel, message: Message) -> None:
    """Give a delivery back: it comes again at once, or becomes a dead letter."""
    channel.basic_nack(message.id, requeue=True)


def dead_letters(channel: BlockingChannel, topic: str) -> list[Message]:
    """The messages that nobody could handle, oldest first; they are taken out."""
    found = []
    while (message := take(channel, _dead(topic))) is not None:
        ack(channel, message)
        found.append(message)
    return found


def _dead(topic: str) -> str:
    return f"{topic}.dead"
