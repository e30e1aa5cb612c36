"""Budgets: in one outage of 1,000 calls that all fail and want 2 retries each, every rule allows its own number."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.budget import Budget, RetryBudget
from simlib.policy.budgets import BUDGETS, AdaptiveThrottle, AwsStandard, Envoy, Finagle, GrpcThrottle
from simlib.policy.window import Window

RNG = random.Random(1)
NAMES = pytest.mark.parametrize("name", BUDGETS)


def retries_in_an_outage(budget: Budget, *, calls: int = 1000, timed_out: bool = False) -> int:
    """Calls one after another at the same moment; every try fails, every call wants two retries."""
    allowed = 0
    for _ in range(calls):
        assert budget.on_request(0.0, RNG)
        budget.on_result(False, 0.0)
        for _ in range(2):
            if not budget.try_retry(0.0, RNG, timed_out=timed_out):
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


def test_envoy_buys_a_whole_share_in_spite_of_rounding() -> None:
    """0.29 of 100 requests is 28.999999999999996 in floating point, and 29 retries."""
    budget = Envoy(ratio=0.29, least=0)
    budget.active, budget.retrying = 100, 28
    assert budget.try_retry()


def test_adaptive_throttling_sends_the_harmonic_number_when_all_is_refused() -> None:
    """7.49 of 1,000; the first tries themselves are held back."""
    harmonic = sum(1 / n for n in range(1, 1001))
    rng = random.Random(3)
    runs = [
        sum(budget.on_request(0.0, rng) for _ in range(1000)) for budget in (AdaptiveThrottle() for _ in range(300))
    ]
    variance = sum(1 / n - 1 / n**2 for n in range(1, 1001))
    assert harmonic == pytest.approx(7.49, abs=0.005)
    assert abs(sum(runs) / len(runs) - harmonic) < 4 * (variance / len(runs)) ** 0.5


def test_adaptive_throttling_lets_everything_through_while_half_is_accepted() -> None:
    budget, rng = AdaptiveThrottle(), random.Random(1)
    for n in range(200):
        assert budget.on_request(n * 0.01, rng)
        budget.on_result(n % 2 == 0, n * 0.01)


def test_adaptive_throttling_counts_retries_as_requests_and_forgets_after_two_minutes() -> None:
    budget = AdaptiveThrottle()
    for _ in range(10):
        budget.try_retry(0.0, RNG)
    assert budget.rejection(119.9) == pytest.approx(10 / 11)
    assert budget.rejection(120.0) == 0.0


@pytest.mark.parametrize("name", [name for name in BUDGETS if name != "sre"])
def test_first_tries_are_never_held_back(name: str) -> None:
    budget = BUDGETS[name]()
    retries_in_an_outage(budget)
    assert all(budget.on_request(0.0, RNG) for _ in range(100))


@NAMES
def test_a_retry_that_is_not_sent_gives_its_price_back(name: str) -> None:
    """A breaker may open during the wait; without this, Envoy's retries under way would stay so for ever."""
    budget = BUDGETS[name]()
    budget.on_request(0.0, RNG)
    budget.on_result(True, 0.0)
    for _ in range(1000):
        assert budget.try_retry(0.0, RNG, timed_out=True)
        budget.on_unsent(0.0, retry=True, timed_out=True)


def test_a_first_try_that_is_not_sent_is_not_under_way() -> None:
    budget = Envoy()
    budget.on_request()
    budget.on_unsent()
    assert budget.active == 0


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


STORY = st.lists(st.tuples(st.floats(-1e6, 1e6), st.sampled_from(["first", "retry", "ok", "failed", "unsent"])))


@NAMES
@given(story=STORY)
def test_no_clock_and_no_order_of_calls_upsets_a_budget(name: str, story: list[tuple[float, str]]) -> None:
    """Clocks that go back, results nobody asked for, silence and then some: soon after, retries are allowed again."""
    budget = BUDGETS[name]()
    now = 0.0
    for now, what in story:
        if what == "first":
            budget.on_request(now, RNG)
        elif what == "retry":
            assert budget.try_retry(now, RNG) in (True, False)
        elif what == "unsent":
            budget.on_unsent(now, retry=True)
        else:
            budget.on_result(what == "ok", now, retry=True)
    for _ in range(600):
        budget.on_result(True, now, retry=True)
        budget.on_result(True, now)
    for _ in range(10):
        budget.on_request(now + 130.0, RNG)
    assert budget.try_retry(now + 260.0, RNG)


@given(st.floats(0, 1), st.floats(0, 5), st.lists(st.tuples(st.floats(0, 3), st.booleans()), max_size=200))
def test_finagle_never_grants_more_than_its_rule_in_any_window(
    ratio: float, per_second: float, story: list[tuple[float, bool]]
) -> None:
    budget = Finagle(ratio, per_second, window=10.0)
    now, firsts, retries = 0.0, list[float](), list[float]()
    for gap, first in story:
        now += gap
        if first:
            budget.on_request(now)
            firsts.append(now)
        elif budget.try_retry(now):
            retries.append(now)
            lately = [sum(t > now - 10.0 for t in times) for times in (firsts, retries)]
            assert lately[1] <= ratio * lately[0] + per_second * 10.0 + 1e-6


@given(st.floats(0, 1), st.integers(0, 5), st.lists(st.sampled_from(["first", "retry", "first ends", "retry ends"])))
def test_envoy_never_has_more_retries_under_way_than_its_rule(ratio: float, least: int, story: list[str]) -> None:
    budget = Envoy(ratio, least)
    for what in story:
        if what == "first":
            budget.on_request()
        elif what == "retry":
            share = max(least, ratio * budget.active)
            if budget.try_retry():
                assert budget.retrying <= share + 1e-6
        elif what == "first ends" and budget.active > budget.retrying:
            budget.on_result(False)
        elif what == "retry ends" and budget.retrying:
            budget.on_result(False, retry=True)
        assert 0 <= budget.retrying <= budget.active


@given(st.booleans(), st.lists(st.booleans(), max_size=300))
def test_aws_never_spends_more_than_its_bucket_and_what_came_back(timed_out: bool, story: list[bool]) -> None:
    """True is a retry that goes well, False one that fails; whatever they do, what is spent was there."""
    budget, price, failed = AwsStandard(), 10.0 if timed_out else 5.0, 0
    for ok in story:
        if budget.try_retry(timed_out=timed_out):
            failed += not ok
            budget.on_result(ok, retry=True, timed_out=timed_out)
        assert failed * price <= 500.0
        assert 0.0 <= budget.tokens <= 500.0


@given(st.lists(st.booleans(), max_size=300))
def test_grpc_retries_only_above_half_of_its_tokens(story: list[bool]) -> None:
    budget = GrpcThrottle()
    tokens = 10.0
    for ok in story:
        budget.on_result(ok)
        tokens = min(10.0, tokens + 0.1) if ok else max(0.0, tokens - 1.0)
        assert budget.try_retry() is (tokens > 5.0)


def test_a_window_holds_no_more_than_its_seconds_however_long_nobody_asks() -> None:
    """Memory stays bounded where every call goes well and no retry is ever wanted."""
    window = Window(10.0)
    for n in range(1000):
        window.add(float(n))
    assert len(window._times) == 10


def test_a_window_forgets_in_time_also_when_the_clock_went_back() -> None:
    window = Window(10.0)
    window.add(1e6)
    assert window.count(5.0) == 1
    assert window.count(15.0) == 0


def test_a_bad_setting_is_told_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"RetryBudget's ratio is -0.1; it takes a number from 0 up\."):
        RetryBudget(ratio=-0.1)
