"""After an outage clients without jitter all come back in the same moment; with it they are spread."""

from __future__ import annotations

import pytest

from simlib.scenarios.outage import Outage


def test_without_jitter_all_come_back_in_the_same_quarter_of_a_second() -> None:
    counts = Outage(jitter="none", clients=1000, seconds=60).run().counts
    assert counts["peak"] == counts["arrivals"] == 1000


@pytest.mark.parametrize("jitter", ["equal", "full", "decorrelated"])
@pytest.mark.parametrize("seed", range(3))
def test_every_jitter_spreads_them(jitter: str, seed: int) -> None:
    counts = Outage(jitter=jitter, clients=1000, seconds=60).run(seed).counts
    assert counts["peak"] < 60
    assert counts["arrivals"] == 1000


def test_each_client_is_served_once_and_then_is_quiet() -> None:
    run = Outage(jitter="full", clients=200, seconds=20).run()
    assert run.trace.count("receive", status="201") == 200


def test_the_last_one_waits_no_longer_than_the_cap() -> None:
    for jitter in ("none", "full"):
        assert Outage(jitter=jitter, clients=100).run().counts["served_within"] <= 30.5


def test_it_says_what_it_saw() -> None:
    assert "at most 1,000 in a quarter of a second" in Outage().run().text
