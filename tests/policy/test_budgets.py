"""Budgets: in one outage of 1,000 calls that all fail and want 2 retries each, every rule allows its own number."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.budget import Budget, RetryBudget
from simlib.policy.budgets import AdaptiveThrottle, AwsStandard, Envoy, Finagle, GrpcThrottle


def retries_in_an_outage(budget: Budget, *, calls: int = 1000, timed_out: bool = False) -> int:
    """Calls one after another at the same moment; every try fails, every call wants two retries."""
    allowed = 0
    for _ in range(calls):
        budget.on_request(0.0)
        budget.on_result(False, 0.0)
        for _ in range(2):
            if not budget.try_retry(0.0, timed_out=timed_out):
                break
            allowed += 1
            budget.on_result(False, 0.0, retry=True, timed_out=timed_out)
    return allowed


@pytest.mark.parametrize(
    ("budget", "timed_out", "allowed"),
    [
        (RetryBudget(0.1, 10), False, 109),
        (GrpcThrottle(10, 0.1), False, 3),
        (AwsStandard(), False, 100),
        (AwsStandard(), True, 50),
    ],
    ids=["share of traffic", "gRPC", "AWS", "AWS, all time-outs"],
)
def test_an_outage_gets_as_many_retries_as_the_rule_says(budget: Budget, timed_out: bool, allowed: int) -> None:
    assert retries_in_an_outage(budget, timed_out=timed_out) == allowed


def test_finagle_grants_a_fifth_and_ten_a_second_over_its_window() -> None:
    """All at once: a fifth of 1,000 requests and 10 for each of 10 seconds."""
    budget = Finagle()
    for _ in range(1000):
        budget.on_request(0.0)
    assert sum(budget.try_retry(0.0) for _ in range(2000)) == 300


def test_finagle_forgets_what_is_older_than_its_window() -> None:
    budget = Finagle()
    for _ in range(1000):
        budget.on_request(0.0)
    while budget.try_retry(0.0):
        pass
    assert sum(budget.try_retry(10.0) for _ in range(2000)) == 100


def test_grpc_needs_fifty_one_successes_from_empty() -> None:
    budget = GrpcThrottle(10, 0.1)
    for _ in range(20):
        budget.on_result(False)
    needed = 0
    while not budget.try_retry():
        budget.on_result(True)
        needed += 1
    assert needed == 51


def test_grpc_breaks_even_at_one_failure_in_eleven() -> None:
    budget = GrpcThrottle(10, 0.1)
    for _ in range(300):
        budget.on_result(False)
        for _ in range(10):
            budget.on_result(True)
    assert budget.try_retry()
    assert budget.tokens == pytest.approx(10)


def test_aws_gives_back_what_a_successful_retry_took() -> None:
    budget = AwsStandard()
    assert budget.try_retry(timed_out=True)
    assert budget.tokens == 490
    budget.on_result(True, retry=True, timed_out=True)
    assert budget.tokens == 500


def test_envoy_holds_retries_to_a_fifth_of_what_is_under_way_and_at_least_three() -> None:
    quiet, busy = Envoy(), Envoy()
    quiet.on_request()
    for _ in range(100):
        busy.on_request()
    assert sum(quiet.try_retry() for _ in range(50)) == 3
    assert sum(busy.try_retry() for _ in range(50)) == 24  # of 124 under way then; a 25th would pass a fifth
    busy.on_result(False, retry=True)
    assert busy.try_retry()


def test_adaptive_throttling_sends_the_harmonic_number_when_all_is_refused() -> None:
    harmonic = sum(1 / n for n in range(1, 1001))
    rng = random.Random(3)
    runs = [sum(throttle.allow(0.0, rng) for _ in range(1000)) for throttle in (AdaptiveThrottle() for _ in range(300))]
    variance = sum(1 / n - 1 / n**2 for n in range(1, 1001))
    assert harmonic == pytest.approx(7.49, abs=0.005)
    assert abs(sum(runs) / len(runs) - harmonic) < 4 * (variance / len(runs)) ** 0.5


def test_adaptive_throttling_lets_everything_through_while_half_is_accepted() -> None:
    throttle, rng = AdaptiveThrottle(), random.Random(1)
    for n in range(200):
        assert throttle.allow(n * 0.01, rng)
        if n % 2 == 0:
            throttle.on_accept(n * 0.01)


@given(st.floats(0, 1), st.floats(0, 50), st.lists(st.booleans(), max_size=300))
def test_retries_never_exceed_the_credit_and_the_share(ratio: float, most: float, story: list[bool]) -> None:
    """True is a first try, False a retry that is asked for."""
    budget = RetryBudget(ratio, most)
    requests = retries = 0
    for first in story:
        if first:
            budget.on_request()
            requests += 1
        else:
            retries += budget.try_retry()
        assert retries <= most + ratio * requests + 1e-6
        assert 0.0 <= budget.tokens <= most


@pytest.mark.parametrize("kind", [RetryBudget, GrpcThrottle, AwsStandard, Finagle, Envoy])
@given(times=st.lists(st.tuples(st.floats(-1e6, 1e6), st.sampled_from("rtofO")), max_size=100))
def test_no_clock_and_no_order_of_calls_upsets_a_budget(kind: type[Budget], times: list[tuple[float, str]]) -> None:
    """Clocks that go back, results nobody asked for, silence and then some."""
    budget = kind()
    for now, what in times:
        if what == "r":
            budget.on_request(now)
        elif what == "t":
            assert budget.try_retry(now) in (True, False)
        else:
            budget.on_result(what != "f", now, retry=what == "O")
    budget.on_request(2e6)
    for _ in range(3000):
        budget.on_result(True, 2e6, retry=True)
    assert budget.try_retry(2e6 + 100)


def test_a_bad_setting_is_told_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"RetryBudget's ratio is -0.1; it takes a number from 0 up\."):
        RetryBudget(ratio=-0.1)
