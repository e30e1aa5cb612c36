"""What can be promised, under the same luck; and why nobody can promise more."""

from __future__ import annotations

import pytest

from simlib.scenarios.delivery import Delivery
from simlib.scenarios.two_generals import TwoGenerals


@pytest.mark.parametrize("seed", range(5))
def test_at_most_once_loses_and_never_doubles(seed: int) -> None:
    counts = Delivery(promise="at most once").run(seed).counts
    assert counts["never"] > 0
    assert counts["twice"] == 0
    assert counts["sent"] == counts["messages"]


@pytest.mark.parametrize("seed", range(5))
def test_at_least_once_doubles_and_never_loses(seed: int) -> None:
    counts = Delivery(promise="at least once").run(seed).counts
    assert counts["never"] == 0
    assert counts["twice"] > 0


@pytest.mark.parametrize("seed", range(5))
def test_with_dedup_behind_it_every_message_counts_once(seed: int) -> None:
    counts = Delivery(promise="effectively once").run(seed).counts
    assert (counts["never"], counts["twice"], counts["handled"]) == (0, 0, 200)


def test_the_same_messages_are_sent_whether_the_receiver_knows_them_or_not() -> None:
    least, once = (Delivery(promise=p).run().counts["sent"] for p in ("at least once", "effectively once"))
    assert least == once


@pytest.mark.parametrize("depth", range(1, 9))
def test_who_wrote_the_last_message_sees_the_same_whether_it_arrived_or_not(depth: int) -> None:
    """To any depth: the argument that there is no last message that makes both sure."""
    arrived, caught = (TwoGenerals(depth=depth, last_lost=lost).run() for lost in (False, True))
    writer = "general A" if depth % 2 else "general B"
    view = f"select time, event, status from events where actor = '{writer}' order by time"
    assert arrived.trace.sql(view).rows == caught.trace.sql(view).rows
    assert arrived.counts["arrived"] == caught.counts["arrived"] + 1
