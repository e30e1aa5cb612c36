"""The consumer of lesson 07 on a real RabbitMQ: what holds on our queue holds there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from simlib.live import outbox, rabbit
from simlib.live.consuming import consume
from simlib.live.faults import VARIABLE, CrashAt, Crashed
from simlib.live.inbox import NoSuchWallet, handle
from simlib.live.pg.server import Postgres
from tests.live.conftest import until
from tests.live.rabbit_server import SERVER, rabbitmq
from tests.live.test_inbox import AFTER_DEATH, Conn, balance

on_rabbitmq = [
    pytest.mark.brokers,
    pytest.mark.skipif(not SERVER and "SIMLIB_REQUIRE_RABBITMQ" not in os.environ, reason="no rabbitmq-server here"),
]
TOPIC = "top-ups"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    named = os.environ.get(rabbit.VARIABLE)
    if named:
        yield named
        return
    with rabbitmq() as own:
        yield own


@pytest.fixture
def channel(url: str) -> Iterator[rabbit.BlockingChannel]:
    with rabbit.channel(url) as channel:
        for name in (TOPIC, f"{TOPIC}.dead"):
            channel.queue_delete(name)
        rabbit.declare(channel, TOPIC, most=3)
        yield channel


@pytest.fixture
def conn(db: Postgres) -> Iterator[Conn]:
    with db.connect() as conn:
        conn.execute("insert into wallets (id) values (1)")
        yield conn


class TestOnRabbitMQ:
    """Needs a server."""

    pytestmark = on_rabbitmq

    def test_five_deliveries_of_three_events(self, conn: Conn, channel: rabbit.BlockingChannel) -> None:
        for event, cents in (("evt-1", 500), ("evt-2", 300), ("evt-1", 500), ("evt-2", 300), ("evt-3", 200)):
            rabbit.publish(channel, TOPIC, event, {"wallet": 1, "cents": cents})
        assert consume(conn, partial(rabbit.take, channel, TOPIC), partial(rabbit.ack, channel)) == 5
        assert balance(conn) == 1000

    @pytest.mark.parametrize(("order", "point"), AFTER_DEATH)
    def test_a_consumer_is_killed_half_way_and_another_goes_on(
        self, db: Postgres, conn: Conn, channel: rabbit.BlockingChannel, url: str, order: str, point: str
    ) -> None:
        """The same table as on our own queue: lost, once, or twice."""
        rabbit.publish(channel, TOPIC, "evt-1", {"wallet": 1, "cents": 500})
        command = [sys.executable, "-m", "simlib.live.consuming", db.dsn, TOPIC, order]
        env = {**os.environ, rabbit.VARIABLE: url}
        assert subprocess.run(command, env={**env, VARIABLE: point}, capture_output=True).returncode == -9
        confirmed = order == "ack, then work"

        def came_again() -> bool:
            return subprocess.run(command, env=env, check=True, capture_output=True).stdout == b"1\n"

        if not confirmed:
            until(came_again)
        assert channel.queue_declare(TOPIC, passive=True).method.message_count == 0
        assert balance(conn) == AFTER_DEATH[order, point]  # type: ignore[index]

    def test_a_message_that_nobody_can_handle_becomes_a_dead_letter(
        self, conn: Conn, channel: rabbit.BlockingChannel
    ) -> None:
        rabbit.publish(channel, TOPIC, "evt-9", {"wallet": 99, "cents": 500})
        deliveries: list[int] = []

        def aside() -> bool:
            while (message := rabbit.take(channel, TOPIC)) is not None:
                deliveries.append(message.deliveries)
                with pytest.raises(NoSuchWallet):
                    handle(conn, message)
                rabbit.nack(channel, message)
            return channel.queue_declare(f"{TOPIC}.dead", passive=True).method.message_count == 1

        until(aside)
        assert deliveries == [1, 2, 3]
        assert [message.event_id for message in rabbit.dead_letters(channel, TOPIC)] == ["evt-9"]

    def test_from_outbox_to_inbox_with_a_relay_that_dies(self, conn: Conn, channel: rabbit.BlockingChannel) -> None:
        outbox.add(conn, TOPIC, {"wallet": 1, "cents": 700})

        def publish(event: outbox.Event) -> None:
            rabbit.publish(channel, event.topic, event.event_id, event.payload)

        with pytest.raises(Crashed):
            outbox.relay(conn, publish, faults=CrashAt("after-publish", how="raise"))
        outbox.relay(conn, publish)
        assert consume(conn, partial(rabbit.take, channel, TOPIC), partial(rabbit.ack, channel)) == 2
        assert balance(conn) == 700


def test_no_rabbitmq_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rabbit.VARIABLE, raising=False)
    with pytest.raises(rabbit.BrokerError, match="set SIMLIB_AMQP_URL"), rabbit.channel():
        pass
    with (
        pytest.raises(rabbit.BrokerError, match=r"RabbitMQ at 127.0.0.1:1 does not answer"),
        rabbit.channel("amqp://guest:secret@127.0.0.1:1"),
    ):
        pass
