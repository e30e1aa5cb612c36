"""Two regions: who is charged twice, by lag and by the way keys are kept."""

from __future__ import annotations

import math

import pytest

from simlib.scenarios.two_regions import BACKOFF, ONE_WAY, PATIENCE, WAYS, TwoRegions

MANY = 4_000


@pytest.mark.parametrize("way", WAYS)
def test_the_story(way: str) -> None:
    """One lost reply: two charges where each region trusts its own table, and one left in the end otherwise."""
    counts = TwoRegions(way=way).run().counts
    assert counts["charges"] == (1 if way in ("home region", "one store") else 2)
    assert counts["duplicates"] == (1 if way == "own tables" else 0)
    assert counts["refunds"] == (1 if way == "reconcile" else 0)


@pytest.mark.parametrize("lag", [0.5, 1.5, 2.0, 2.5, 4.0])
def test_a_duplicate_is_a_retry_that_is_faster_than_the_copy(lag: float) -> None:
    """Of lost first replies the share whose wait is shorter than the lag: the wait is uniform, so it is a line."""
    loss = 0.2
    counts = TwoRegions(lag=lag, reply_loss=loss, purchases=MANY).run(11).counts
    ceiling = BACKOFF.ceiling(1)
    # the retry works PATIENCE + wait after the first try did, both on the same way
    share = loss * min(1.0, max(0.0, (lag - PATIENCE) / ceiling))
    sd = math.sqrt(max(share * (1 - share), 1e-9) / MANY)
    assert abs(counts["duplicates"] / MANY - share) < 4 * sd + loss**2 * 0.2
    if share == 0:
        assert counts["duplicates"] == 0


@pytest.mark.parametrize("way", ["home region", "one store", "reconcile"])
def test_three_ways_out(way: str) -> None:
    """None leaves a duplicate; only one of them slows every purchase, and only one pays back."""
    counts = TwoRegions(way=way, reply_loss=0.2, purchases=MANY).run(11).counts
    own = TwoRegions(reply_loss=0.2, purchases=MANY).run(11).counts
    assert counts["duplicates"] == 0 < own["duplicates"]
    assert counts["ms"] == pytest.approx(own["ms"] + (100 if way == "one store" else 0))
    assert counts["refunds"] == (own["duplicates"] if way == "reconcile" else 0)


def test_a_home_that_cannot_be_reached_costs_purchases() -> None:
    """What a home region gives up: the other way goes on, through the other region."""
    home = TwoRegions(way="home region", outage=True, reply_loss=0.0, purchases=MANY).run().counts
    own = TwoRegions(outage=True, reply_loss=0.0, purchases=MANY).run().counts
    assert own["unanswered"] == 0 < home["unanswered"]
    assert own["duplicates"] == home["duplicates"] == 0


def test_a_median_purchase_takes_there_work_and_back() -> None:
    assert TwoRegions(reply_loss=0.1, purchases=500).run().counts["ms"] == pytest.approx(1000 * (2 * ONE_WAY + 0.03))
