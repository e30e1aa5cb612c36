"""Parts that make trouble: each does what it says, and all of them together cannot make one key charge twice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy
from simlib.trace import Trace
from simlib.world.broker import Queue
from simlib.world.client import Client, Key, key_per_intent, no_key
from simlib.world.consumer import Consumer
from simlib.world.latency import Constant, Exponential
from simlib.world.link import Link
from simlib.world.luck import Luck
from simlib.world.message import CREATED, Answer, Request
from simlib.world.mortal import MortalServer
from simlib.world.proxy import Proxy
from simlib.world.relay import Relay
from simlib.world.server import Server
from simlib.world.store import KeyStore
from simlib.world.trouble import Copies, Hedge, Partition
from simlib.world.world import World

PATIENT = RetryPolicy(attempts=1, deadline=math.inf, per_try=100.0)


@dataclass(frozen=True)
class Trouble:
    """Everything that can befall a payment between a phone and a server."""

    loss: float = 0.0
    delay: float = 0.1
    copies: float = 0.0
    taps: float = 0.0
    hedge: float = 100.0
    proxied: int = 1
    cut: tuple[float, float] = (0.0, 0.0)
    down: tuple[float, float] = (0.0, 0.0)
    workers: int = 1
    limit: int | None = None


def shop(trouble: Trouble, seed: int, purchases: int, key: Key = key_per_intent) -> Trace:
    """Phone, hedge, second taps, link, cut, copies, proxy, link, mortal server: and all the way back."""
    world = World(Luck(seed))
    way = Exponential(trouble.delay)
    to_proxy = Link(world, to="proxy", carries="request", latency=way, loss=trouble.loss)
    hedged = Link(world, to="proxy", carries="request", latency=way, loss=trouble.loss, name="other network")
    to_server = Link(world, to="server", carries="request", latency=way, loss=trouble.loss, name="inside")
    to_phone = Link(world, to="phone", carries="reply", latency=way, loss=trouble.loss)
    back = Link(world, to="proxy", carries="reply", latency=way, loss=trouble.loss, name="inside")
    server = MortalServer(
        world,
        down=[trouble.down],
        work=KeyStore(world).pay,
        answer=back.send,
        service=Exponential(0.05),
        after=Exponential(0.05),
        workers=trouble.workers,
        limit=trouble.limit,
        refusal=Answer("503", retry_after=0.5),
        peer="proxy",
    )
    proxy = Proxy(world, send=to_server.send, answer=to_phone.send, tries=trouble.proxied, per_try=0.5)
    copies = Copies(world, send=proxy.arrive, share=trouble.copies, after=Exponential(0.2), to="proxy")
    cut = Partition(world, send=copies.send, windows=[trouble.cut])
    taps = Copies(world, send=to_proxy.send, again=hedged.send, share=trouble.taps, after=Constant(0.7), name="person")
    hedge = Hedge(world, send=taps.send, again=hedged.send, after=trouble.hedge)
    policy = RetryPolicy(attempts=4, deadline=math.inf, per_try=2.0, backoff=Backoff(base=0.5))
    phone = Client(world, policy=policy, send=hedge.send, key=key)
    for link, end in ((to_proxy, cut.send), (hedged, cut.send), (to_server, server.arrive), (back, proxy.receive)):
        link.connect(end)
    to_phone.connect(hedge.receive)
    hedge.connect(phone.receive)
    for number in range(purchases):
        world.clock.at(number / 2, phone.begin, number)
    world.clock.run()
    return world.recorder.freeze()


SHARE = st.floats(0, 1)
WINDOW = st.tuples(st.floats(0, 10), st.floats(0, 10)).map(lambda pair: (min(pair), max(pair)))
TROUBLE = st.builds(
    Trouble,
    loss=st.floats(0, 0.9),
    delay=st.floats(0, 2),
    copies=SHARE,
    taps=SHARE,
    hedge=st.floats(0, 3),
    proxied=st.integers(1, 3),
    cut=WINDOW,
    down=WINDOW,
    workers=st.integers(1, 3),
    limit=st.none() | st.integers(0, 3),
)
MOST = "select coalesce(max(n), 0) from (select count(*) as n from events where event = 'effect' group by request)"


@settings(max_examples=150)
@given(trouble=TROUBLE, seed=st.integers(0, 2**32), purchases=st.integers(1, 12))
def test_one_key_an_intent_and_one_transaction_charge_once_whatever_happens_on_the_way(
    trouble: Trouble, seed: int, purchases: int
) -> None:
    trace = shop(trouble, seed, purchases)
    assert trace.sql(MOST).scalar() <= 1
    paid = "select distinct request from events where event = 'receive' and actor = 'phone' and status = '201'"
    effect = "select request from events where event = 'effect'"
    assert len(trace.sql(f"{paid} except {effect}")) == 0


@settings(max_examples=100)
@given(trouble=TROUBLE, seed=st.integers(0, 2**32), purchases=st.integers(1, 12))
def test_no_message_is_invented_and_none_forgotten(trouble: Trouble, seed: int, purchases: int) -> None:
    """Before the proxy and behind it: sent + copied = arrived + lost; and the server answers what it does not lose."""
    trace = shop(trouble, seed, purchases)
    lost = "select count(*) from events where event = 'lose' and status = '{}' and actor in ({})"
    outside = trace.sql(lost.format("request", "'network', 'other network'")).scalar()
    inside, down, crash = (
        trace.sql(lost.format(status, f"'{actor}'")).scalar()
        for status, actor in (("request", "inside"), ("down", "server"), ("crash", "server"))
    )
    arrived = {name: trace.count("arrive", actor=name) for name in ("proxy", "server")}
    assert trace.count("send", actor="phone") + trace.count("copy") == arrived["proxy"] + outside
    assert trace.count("send", actor="proxy") == arrived["server"] + inside + down
    assert arrived["server"] == trace.count("reply", actor="server") + crash
    assert (trace.column("time")[1:] >= trace.column("time")[:-1]).all()


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(copies=0.5),
        Trouble(taps=0.5),
        Trouble(hedge=0.05),
        Trouble(proxied=3, loss=0.3),
        Trouble(loss=0.3),
        Trouble(down=(3.0, 5.0), workers=3),
    ],
    ids=str,
)
def test_each_trouble_charges_twice_where_there_is_no_key(trouble: Trouble) -> None:
    assert max(shop(trouble, seed, 30, no_key).sql(MOST).scalar() for seed in range(5)) > 1
    assert max(shop(trouble, seed, 30).sql(MOST).scalar() for seed in range(5)) == 1


def test_a_person_who_taps_twice_buys_twice_if_the_app_takes_it_for_a_new_purchase() -> None:
    world = World(Luck(7))
    store = KeyStore(world)
    server = Server(world, work=store.pay, answer=lambda now, reply: None, service=Constant(0.1))
    taps = Copies(
        world,
        send=server.arrive,
        share=1.0,
        after=Constant(1.0),
        key=lambda request: 1000 + request[2],
        name="person",
    )
    for number in range(10):
        taps.send(0.0, (number, 1, number, 0.0))
    world.clock.run()
    assert world.recorder.freeze().count("effect") == 20


def test_a_hedge_asks_the_slow_ones_only_and_hears_the_first() -> None:
    """Every tenth answer takes 5 s; hedged after 0.5 s, nobody waits longer than a usual answer beyond that."""
    world = World(Luck(7))

    def slow(now: float, request: Request) -> None:
        world.clock.at(now + (5.0 if request[0] % 10 == 0 else 0.1), hedge.receive, (*request, CREATED))

    def quick(now: float, request: Request) -> None:
        world.clock.at(now + 0.1, hedge.receive, (*request, CREATED))

    hedge = Hedge(world, send=slow, again=quick, after=0.5)
    phone = Client(world, policy=PATIENT, send=hedge.send)
    hedge.connect(phone.receive)
    for number in range(100):
        world.clock.at(0.0, phone.begin, number)
    world.clock.run()
    trace = world.recorder.freeze()
    assert trace.count("copy") == 10
    assert trace.sql("select max(time) from events where event = 'receive' and status = '201'").scalar() == 0.6
    assert trace.count("receive", status="late") == 10


def test_a_proxy_says_503_when_all_its_tries_are_in_vain_and_drops_what_comes_later() -> None:
    world = World(Luck(7))
    told: list[tuple[float, Answer]] = []
    sent: list[Request] = []
    proxy = Proxy(
        world,
        send=lambda now, request: sent.append(request),
        answer=lambda now, reply: told.append((now, reply[4])),
        per_try=1.0,
        tries=3,
    )
    proxy.arrive(0.0, (7, 1, 4, 0.0))
    world.clock.at(5.0, proxy.receive, (7, 2, 4, 0.0, CREATED))
    world.clock.run()
    assert [request[:3] for request in sent] == [(7, 1, 4), (7, 2, 4), (7, 3, 4)]
    assert [(now, answer.status) for now, answer in told] == [(3.0, "503")]
    assert world.recorder.freeze().count("receive", status="late") == 1


def test_what_a_dying_server_had_done_stays_done_and_is_told_to_nobody() -> None:
    """Work takes 1 s, the reply another: at 1.5 s one effect is done and untold, one request waits; both are gone."""
    world = World(Luck(7))
    store = KeyStore(world)
    told: list[int] = []
    server = MortalServer(
        world,
        down=[(1.5, 3.0)],
        work=store.pay,
        answer=lambda now, reply: told.append(reply[0]),
        service=Constant(1.0),
        after=Constant(1.0),
    )
    for number, at in enumerate((0.0, 0.1, 2.0, 3.0)):
        world.clock.at(at, server.arrive, (number, 1, number, at))
    world.clock.run()
    assert (sorted(store.saved), told) == ([0, 3], [3])
    trace = world.recorder.freeze()
    assert trace.column("request")[trace.where("lose")].tolist() == [2, 0, 1]  # refused at the door, untold, unbegun
    assert world.clock.now == 5.0


def test_a_server_that_sheds_says_when_to_come_again_and_is_obeyed() -> None:
    world = World(Luck(7))
    server = Server(
        world,
        work=KeyStore(world).pay,
        answer=lambda now, reply: phone.receive(now, reply),
        service=Constant(1.0),
        limit=0,
        refusal=Answer("503", retry_after=4.0),
    )
    policy = RetryPolicy(attempts=3, deadline=math.inf, per_try=50.0, backoff=Backoff(base=0.1, jitter="none"))
    phone = Client(world, policy=policy, send=server.arrive)
    for number in range(2):
        world.clock.at(0.0, phone.begin, number)
    world.clock.run()
    trace = world.recorder.freeze()
    assert trace.column("time")[trace.where("send")].tolist() == [0.0, 0.0, 4.0]
    assert trace.count("effect") == 2


@given(
    deaths=st.lists(st.integers(0, 3), min_size=1, max_size=20),
    seconds=st.floats(0.01, 1),
    restart=st.floats(0.01, 5),
)
def test_a_relay_publishes_each_message_in_order_once_and_once_more_for_each_death(
    deaths: list[int], seconds: float, restart: float
) -> None:
    world = World(Luck(7))
    published: list[int] = []
    relay = Relay(
        world,
        publish=lambda now, message: published.append(message[0]),
        dies=lambda message, time: time <= deaths[message[0]],
        seconds=seconds,
        restart=restart,
    )
    for number in range(len(deaths)):
        world.clock.at(number / 10, relay.write, (number, 1, number, number / 10))
    world.clock.run()
    assert published == [number for number, times in enumerate(deaths) for _ in range(times + 1)]
    assert len(relay) == 0


@pytest.mark.parametrize(("identity", "balance"), [(2, 3.0), (4, 5.0)], ids=["producer's key", "broker's copy"])
def test_from_outbox_to_inbox_a_relay_that_dies_doubles_only_where_the_broker_numbers(
    identity: int, balance: float
) -> None:
    world = World(Luck(7))
    queue = Queue(world, deliver=lambda now, delivery: consumer.receive(now, delivery))
    consumer = Consumer(world, mark="with", confirm=queue.ack, identity=lambda delivery: delivery[identity])
    relay = Relay(world, publish=queue.publish, dies=lambda message, time: message[0] < 2 and time == 1)
    for number in range(3):
        relay.write(0.0, (number, 1, number, 0.0))
    world.clock.run()
    assert consumer.balance == balance


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda w: Copies(w, send=print, share=1.5), "share is 1.5"),
        (lambda w: Partition(w, send=print, windows=[(3.0, 1.0)]), r"a window is \(3.0, 1.0\)"),
        (lambda w: Hedge(w, send=print, again=print, after=math.nan), "after is nan"),
        (lambda w: Proxy(w, send=print, answer=print, per_try=0.0), "per_try is 0.0"),
        (lambda w: Proxy(w, send=print, answer=print, tries=0), "tries is 0"),
        (lambda w: Relay(w, publish=print, seconds=0.0), "seconds is 0.0"),
        (
            lambda w: MortalServer(w, down=[(2, 3), (1, 4)], work=print, answer=print, service=Constant(1)),
            "one after another",
        ),
    ],
)
def test_bad_input_is_told_with_its_range(make: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make(World(Luck(7)))  # type: ignore[operator]
