"""The contention study gives the numbers of the public simulator it repeats, at every size and for every backoff."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simlib.policy.backoff import Rng
from simlib.scenarios.jitter import BACKOFFS, Jitter

PUBLISHED = {
    10: {
        "none": (376, 50),
        "exponential": (3433, 50),
        "equal": (704, 42),
        "full": (474, 39),
        "decorrelated": (455, 38),
    },
    50: {
        "none": (1134, 689),
        "exponential": (36196, 621),
        "equal": (4259, 346),
        "full": (2990, 332),
        "decorrelated": (2206, 373),
    },
    100: {
        "none": (2024, 2424),
        "exponential": (63023, 1854),
        "equal": (6578, 812),
        "full": (4967, 795),
        "decorrelated": (4645, 1002),
    },
}
"""Clients and backoff to the mean of 100 trials: ms until all are done, and writes."""

SPREAD = {
    20: {
        "none": (603, 60, 152, 13),
        "exponential": (14633, 2655, 151, 14),
        "equal": (1603, 444, 108, 4),
        "full": (1018, 271, 100, 3),
        "decorrelated": (817, 169, 101, 5),
    },
    100: {
        "none": (2031, 43, 2422, 31),
        "exponential": (63903, 4520, 1868, 68),
        "equal": (6718, 743, 812, 8),
        "full": (4812, 562, 795, 7),
        "decorrelated": (4591, 682, 999, 30),
    },
}
"""The same with the standard deviation of a single trial: ms, sd, writes, sd."""


@pytest.mark.parametrize("backoff", BACKOFFS)
@pytest.mark.parametrize("clients", PUBLISHED)
def test_the_published_table(clients: int, backoff: str) -> None:
    """Within 10%; plain exponential, which is noisy, within 25%."""
    ms, calls = PUBLISHED[clients][backoff]
    counts = Jitter(clients=clients, backoff=backoff, trials=100).run().counts
    slack = 0.25 if backoff == "exponential" else 0.10
    assert counts["finish_ms"] == pytest.approx(ms, rel=slack)
    assert counts["calls"] == pytest.approx(calls, rel=slack)


@pytest.mark.parametrize("backoff", BACKOFFS)
@pytest.mark.parametrize("clients", SPREAD)
def test_the_means_lie_within_the_spread_of_a_run(clients: int, backoff: str) -> None:
    """Four standard errors of the difference of two means of 100 trials."""
    ms, ms_sd, calls, calls_sd = SPREAD[clients][backoff]
    counts = Jitter(clients=clients, backoff=backoff, trials=100).run(seed=1).counts
    assert abs(counts["finish_ms"] - ms) <= 4 * ms_sd * math.sqrt(2 / 100)
    assert abs(counts["calls"] - calls) <= 4 * calls_sd * math.sqrt(2 / 100)


def test_what_the_study_teaches() -> None:
    """No backoff is first and makes three times the calls; exponential alone is worst by ten times; decorrelated is not
    best: it makes a quarter more calls than full jitter.
    """
    seen = {name: Jitter(clients=100, backoff=name, trials=50).run().counts for name in BACKOFFS}
    assert min(seen, key=lambda name: seen[name]["finish_ms"]) == "none"
    assert seen["none"]["calls"] > 2.9 * seen["full"]["calls"]
    assert seen["exponential"]["finish_ms"] > 9 * seen["equal"]["finish_ms"]
    assert 1.2 < seen["decorrelated"]["calls"] / seen["full"]["calls"] < 1.32


def test_everybody_gets_through_exactly_once() -> None:
    run = Jitter(clients=30, backoff="full", trials=4).run()
    done = np.bincount(run.trace.column("request")[run.trace.where("effect")], minlength=120)
    assert (done == 1).all()
    assert run.trace.count("send") == run.trace.count("effect", "refuse")


def test_a_single_client_needs_one_write() -> None:
    assert Jitter(clients=1).run().counts["calls"] == 1


def test_a_backoff_of_ones_own_runs_the_same_race() -> None:
    class Fixed:
        def delay(self, attempt: int, rng: Rng, previous: float | None = None) -> float:
            return 0.1

    counts = Jitter(clients=20).run_with(Fixed()).counts
    assert counts["calls"] > 20


def test_the_network_has_the_same_luck_whatever_the_backoff() -> None:
    firsts = [Jitter(clients=8, backoff=name).run().trace.sql("select min(time) from events").rows for name in BACKOFFS]
    assert len(set(firsts)) == 1


def test_it_says_what_it_saw() -> None:
    text = Jitter(clients=10, backoff="full").run().text
    assert text.startswith("Jitter(backoff='full', clients=10, seed=7): 10 clients, ")
    assert text.endswith(" s")
