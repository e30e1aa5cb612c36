"""The retry storm: what arithmetic says when calls fail by chance, and what it says no more once things queue."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from simlib.policy.closed_forms import layered
from simlib.scenarios.retry_storm import RetryStorm

SEEDS = range(4)


def test_three_layers_of_three_tries_call_twenty_seven_times() -> None:
    run = RetryStorm(failure=1.0, taps=1).run()
    assert (run.counts["bottom_calls"], run.counts["failures"]) == (27, 1)


@pytest.mark.parametrize(
    ("layers", "attempts", "failure"), list(product((1, 2, 3), (2, 3), (0.05, 0.3, 0.5, 0.9))), ids=str
)
def test_load_and_failures_are_those_of_the_closed_form(layers: int, attempts: int, failure: float) -> None:
    """The mean of 30 runs lies within 3.3 of its standard errors; both sides of the storm."""
    storm = RetryStorm(layers=layers, attempts=attempts, failure=failure, taps=200)
    runs = [storm.run(seed).counts for seed in range(30)]
    expected = layered(failure, [attempts] * layers)
    _close([run["load"] for run in runs], expected.calls)
    _close([run["failures"] / run["taps"] for run in runs], expected.failure)


def _close(seen: list[float], expected: float) -> None:
    error = np.std(seen, ddof=1) / math.sqrt(len(seen))
    assert abs(np.mean(seen) - expected) <= 3.3 * error + 1e-3


def test_at_five_per_cent_retries_hide_nearly_everything_for_a_few_per_cent_of_load() -> None:
    run = RetryStorm(failure=0.05, taps=20_000).run()
    assert run.counts["failures"] == 0
    assert run.counts["load"] == pytest.approx(1.0526, abs=0.01)


def test_retries_at_one_layer_cost_the_load_of_one() -> None:
    """Three tries at the top only: 1.0525 calls a tap, 0.0125% of the taps fail, at 5%."""
    run = RetryStorm(failure=0.05, taps=20_000, retry_at="the top").run()
    assert run.counts["load"] == pytest.approx(1.0525, abs=0.01)
    assert run.counts["failures"] <= 9


@pytest.mark.parametrize("budget", ["share", "grpc", "aws", "finagle"])
def test_a_budget_keeps_the_load_down_when_everything_fails(budget: str) -> None:
    free, held = (RetryStorm(failure=1.0, taps=1000, budget=b).run().counts["load"] for b in (None, budget))
    assert free == 27
    assert held < 6


SLOW: dict[str, Any] = {"layers": 2, "attempts": 2, "cause": "slow"}
CURES = {
    "budget": {"budget": "share"},
    "breaker": {"breaker": True},
    "shedding": {"shed": True},
    "deadline": {"propagate": True},
}


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_cure_it_does_not_recover_when_the_cause_has_gone(seed: int) -> None:
    run = RetryStorm(**SLOW).run(seed)
    assert run.counts["recovers"] == math.inf
    assert run.series["load"][-10] > 30, "the load keeps it down: over capacity long after the cause"


@pytest.mark.parametrize("cure", ["breaker", "shedding", "deadline"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_cure_alone_lets_it_recover_at_once(cure: str, seed: int) -> None:
    run = RetryStorm(**SLOW, **CURES[cure]).run(seed)
    assert run.counts["recovers"] <= 15, run.text


def test_a_budget_lets_it_recover_as_the_queue_drains() -> None:
    """It leaves a fifth more load, not four times as much: the line gets shorter, and most runs end well."""
    recovered = [math.isfinite(RetryStorm(**SLOW, **CURES["budget"]).run(seed).counts["recovers"]) for seed in range(8)]
    assert sum(recovered) >= 5


@pytest.mark.parametrize("cause", ["slow", "spike", "outage"])
def test_before_the_cause_all_is_well(cause: str) -> None:
    run = RetryStorm(layers=2, attempts=2, cause=cause).run()
    before = slice(5, int(run.scenario.lasts[0]))
    assert np.mean(run.series["useful"][before]) > 0.8 * np.mean(run.series["load"][before])


def test_it_says_what_it_saw() -> None:
    assert RetryStorm(failure=1.0, taps=1).run().text.endswith("1 tap, 27 calls at the database, 27.00 a tap, 1 failed")
    assert "never recovers" in RetryStorm(**SLOW).run().text


def test_the_same_seed_gives_the_same_run() -> None:
    one, other = (RetryStorm(**SLOW, taps=400).run(3) for _ in range(2))
    assert one.trace.to_arrow().equals(other.trace.to_arrow())
