"""The queue and the log: nothing is lost that was not confirmed, and what is repeated is what the rules say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.world.broker import Delivery, Queue
from simlib.world.consumer import Consumer, steps
from simlib.world.log import Partition
from simlib.world.luck import Luck
from simlib.world.world import World


class Shop:
    """A queue and what came out of it; nothing is confirmed unless a test does it."""

    def __init__(self, **rules: float) -> None:
        self.world = World(Luck(1))
        self.out: list[tuple[float, Delivery]] = []
        self.queue = Queue(self.world, deliver=lambda now, d: self.out.append((now, d)), **rules)

    def publish(self, *times: float) -> None:
        for number, time in enumerate(times):
            self.world.clock.at(time, self.queue.publish, (number, 1, number, time))

    def run(self, until: float) -> list[tuple[float, int, int]]:
        """When which message was handed out for the how manieth time."""
        self.world.clock.run(until)
        return [(now, d[0], d[1]) for now, d in self.out]


def test_a_message_not_confirmed_comes_again_after_the_visibility_timeout() -> None:
    shop = Shop(visibility=30.0)
    shop.publish(0.0)
    assert shop.run(70.0) == [(0.0, 0, 1), (30.0, 0, 2), (60.0, 0, 3)]


def test_a_confirmed_message_never_comes_again_even_when_the_ack_is_late() -> None:
    shop = Shop(visibility=30.0)
    shop.publish(0.0)
    shop.run(31.0)
    shop.queue.ack(31.0, shop.out[0][1])
    assert len(shop.run(1000.0)) == 2
    assert len(shop.queue) == 0


def test_after_its_last_delivery_a_message_is_a_dead_letter() -> None:
    shop = Shop(visibility=1.0, most=20)
    shop.publish(0.0)
    assert len(shop.run(100.0)) == 20
    assert [m[0] for m in shop.queue.dead_letters] == [0]


def test_no_more_than_the_prefetch_are_out_at_once() -> None:
    shop = Shop(visibility=100.0, prefetch=2)
    shop.publish(0.0, 0.0, 0.0)
    assert [n for _, n, _ in shop.run(1.0)] == [0, 1]
    shop.queue.ack(1.0, shop.out[0][1])
    assert [n for _, n, _ in shop.run(2.0)] == [0, 1, 2]


def test_a_message_handed_back_comes_again_at_once_and_only_once() -> None:
    shop = Shop(visibility=30.0)
    shop.publish(0.0)
    shop.run(1.0)
    shop.queue.nack(1.0, shop.out[0][1])
    shop.queue.nack(1.0, shop.out[0][1])
    assert shop.run(2.0) == [(0.0, 0, 1), (1.0, 0, 2)]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=12),
    st.floats(0.1, 40),
    st.integers(1, 5),
    st.lists(st.sampled_from(["ack", "nack", "nothing"]), min_size=60, max_size=60),
)
def test_every_message_is_confirmed_or_dead_or_still_there(
    times: list[float], visibility: float, most: int, answers: list[str]
) -> None:
    shop = Shop(visibility=visibility, most=most, prefetch=3)
    answer = iter(answers)

    def consume(now: float, delivery: Delivery) -> None:
        shop.out.append((now, delivery))
        assert delivery[1] <= most
        what = next(answer, "nothing")
        if what != "nothing":
            shop.world.clock.after(0.01, getattr(shop.queue, what), delivery)

    shop.queue._deliver = consume
    shop.publish(*sorted(times))
    shop.world.clock.run()
    acked = shop.world.recorder.freeze().count("ack")
    assert acked + len(shop.queue.dead_letters) == len(times)
    assert len(shop.queue) == 0


def test_commits_are_contiguous_so_what_lies_behind_a_gap_is_read_again() -> None:
    """Done 1, 2, 3, 5, 6, 7; committed 3; after a rebalance 4 to 7 come, 5 to 7 for the second time."""
    world, read = World(Luck(1)), list[int]()
    log = Partition(world, deliver=lambda now, d: read.append(d[0] + 1))
    for number in range(7):
        log.publish(0.0, (number, 1, number, 0.0))
    world.clock.run()
    for number in (1, 2, 3, 5, 6, 7):
        log.done(1.0, (number - 1, 1, number - 1, 0.0, number - 1))
    assert log.committed == 3
    log.rebalance(2.0)
    world.clock.run()
    assert read == [1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7]


def read_until(rebalance: float) -> tuple[Partition, list[int], list[int]]:
    """A log of 20 read every 0.1 s, its position committed every 0.45 s: what was handed out before and after."""
    world, handed = World(Luck(1)), list[int]()
    log = Partition(world, deliver=lambda now, d: handed.append(d[0]), every=0.1, auto_commit=0.45)
    for number in range(20):
        log.publish(0.0, (number, 1, number, 0.0))
    log.start(0.0)
    world.clock.run(rebalance)
    before = list(handed)
    log.rebalance(rebalance)
    world.clock.run()
    return log, before, handed[len(before) :]


def test_committing_by_time_repeats_what_was_read_since() -> None:
    _, before, after = read_until(0.88)
    assert before == [0, 1, 2, 3, 4, 5, 6, 7]
    assert after[0] == 4


def test_committing_by_time_loses_what_was_read_and_not_done() -> None:
    """The position is committed as it is handed out: a reader that dies with four messages undone has lost them."""
    _, before, after = read_until(0.46)
    assert (before, after[0]) == ([0, 1, 2, 3], 4)


def test_a_dedup_window_shorter_than_the_redelivery_horizon_doubles() -> None:
    """A FIFO queue that forgets after 5 minutes, and a message that is redelivered after 10."""
    window, horizon = 300.0, 600.0
    seen: dict[int, float] = {}
    effects = 0
    shop = Shop(visibility=horizon)

    def consume(now: float, delivery: Delivery) -> None:
        nonlocal effects
        known = delivery[2] in seen and now - seen[delivery[2]] < window
        effects += not known
        seen[delivery[2]] = now
        if delivery[1] == 2:
            shop.queue.ack(now, delivery)

    shop.queue._deliver = consume
    shop.publish(0.0)
    shop.world.clock.run(2000.0)
    assert effects == 2


@pytest.mark.parametrize("change", [{"visibility": -1.0}, {"most": 0}, {"prefetch": 0}])
def test_a_rule_out_of_range_is_told_in_one_sentence(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"Queue's {next(iter(change))} is"):
        Shop(**change)


def test_the_steps_follow_from_when_it_confirms_and_when_it_notes() -> None:
    assert steps("after", "with") == ("mark and effect", "ack")
    assert steps("before", "none") == ("ack", "effect")
    assert steps("after", "before") == ("mark", "effect", "ack")
    assert steps("after", "after") == ("effect", "mark", "ack")


def test_a_dead_consumer_takes_nothing_and_comes_back() -> None:
    world, confirmed = World(Luck(1)), list[int]()
    consumer = Consumer(
        world, confirm=lambda now, d: confirmed.append(d[0]), dies=lambda d: int(d[0] == 0), seconds=0.1, restart=1.0
    )
    for number, time in enumerate((0.0, 0.5, 2.0)):
        world.clock.at(time, consumer.receive, (number, 1, number, time, number))
    world.clock.run()
    assert confirmed == [2]
    assert consumer.balance == 2.0
