"""The retry policy: never more tries, never past the deadline, and the server's hint before its own guess."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.backoff import Backoff, Rng
from simlib.policy.breaker import CircuitBreaker
from simlib.policy.budget import RetryBudget
from simlib.policy.budgets import AwsStandard
from simlib.policy.classify import Outcome, classify_http
from simlib.policy.retry import BadPolicy, RetryPolicy, Stop, Wait, ask

RNG = random.Random(1)
FAILED = st.sampled_from([Outcome.TRANSIENT, Outcome.UNKNOWN])


def after(policy: RetryPolicy, attempt: int = 1, outcome: Outcome = Outcome.TRANSIENT, **more: object) -> Wait | Stop:
    told: dict[str, object] = {"elapsed": 0.0, "now": 0.0, "rng": RNG} | more
    return policy.after(attempt, outcome, **told)  # type: ignore[arg-type]


class Own:
    """A learner's own backoff that gives whatever it is told to."""

    def __init__(self, gives: object) -> None:
        self.gives = gives

    def delay(self, attempt: int, rng: Rng, previous: float | None = None) -> float:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives  # type: ignore[return-value]


@pytest.mark.parametrize(("outcome", "reason"), [(Outcome.SUCCESS, "success"), (Outcome.PERMANENT, "permanent")])
def test_an_answer_is_final(outcome: Outcome, reason: str) -> None:
    assert after(RetryPolicy(), outcome=outcome) == Stop(reason)  # type: ignore[arg-type]


def test_the_last_try_is_the_last() -> None:
    assert isinstance(after(RetryPolicy(attempts=3), 2), Wait)
    assert after(RetryPolicy(attempts=3), 3) == Stop("attempts")


def test_the_servers_hint_wins_over_the_backoff() -> None:
    assert after(RetryPolicy(), retry_after=1.0) == Wait(1.0)


def test_a_hint_beyond_the_deadline_stops_at_once() -> None:
    """A 429 with Retry-After: 60 against a deadline of 10 s."""
    assert after(RetryPolicy(deadline=10.0), retry_after=60.0) == Stop("deadline")


def test_a_wait_that_would_reach_the_deadline_is_not_begun() -> None:
    """A deadline of 5 s with waits of 1, 2 and 4 s ends at 3 s."""
    policy = RetryPolicy(attempts=9, deadline=5.0, backoff=Backoff(base=0.5, cap=60.0, jitter="none"))
    elapsed, attempt = 0.0, 1
    while isinstance(step := after(policy, attempt, elapsed=elapsed), Wait):
        elapsed += step.seconds
        attempt += 1
    assert (elapsed, step) == (3.0, Stop("deadline"))


def test_a_deadline_already_past_stops() -> None:
    assert after(RetryPolicy(), elapsed=11.0) == Stop("deadline")


def test_an_empty_budget_stops_and_a_try_that_is_not_made_costs_nothing() -> None:
    budget = RetryBudget(ratio=0.0, most=1.0)
    policy = RetryPolicy(attempts=5, budget=budget)
    assert after(policy, 5) == Stop("attempts")
    assert isinstance(after(policy), Wait)
    assert after(policy) == Stop("budget")


def test_an_open_breaker_stops() -> None:
    breaker = CircuitBreaker(failures=1, cool_down=60.0)
    breaker.record(False, 0.0)
    assert after(RetryPolicy(breaker=breaker)) == Stop("breaker")


@given(
    st.integers(1, 8),
    st.floats(0.1, 30),
    st.lists(st.tuples(FAILED, st.floats(0, 5), st.none() | st.floats(0, 20)), min_size=20, max_size=20),
    st.integers(),
)
def test_no_outcome_makes_it_try_too_often_or_too_long(
    attempts: int, deadline: float, story: list[tuple[Outcome, float, float | None]], seed: int
) -> None:
    policy, rng = RetryPolicy(attempts=attempts, deadline=deadline), random.Random(seed)
    elapsed, tries, previous = 0.0, 0, None
    for outcome, took, hint in story:
        tries += 1
        elapsed += took
        step = after(policy, tries, outcome, elapsed=elapsed, rng=rng, previous=previous, retry_after=hint)
        if isinstance(step, Stop):
            break
        previous = step.seconds
        elapsed += previous
        assert elapsed < deadline
    assert tries <= attempts


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (-1.0, "gave -1.0"),
        (math.nan, "gave nan"),
        (math.inf, "gave inf"),
        ("soon", "gave 'soon'"),
        (None, "gave None"),
        (ZeroDivisionError("division by zero"), "raised ZeroDivisionError"),
    ],
)
def test_a_learners_wrong_backoff_is_named_in_one_sentence(gives: object, words: str) -> None:
    with pytest.raises(BadPolicy, match=rf"Own\.delay {words}.*must return seconds"):
        after(RetryPolicy(backoff=Own(gives)))


def test_a_learners_right_backoff_is_taken_as_it_is() -> None:
    assert after(RetryPolicy(backoff=Own(2))) == Wait(2.0)


def two_a_try(attempt: int, rng: Rng, previous: float | None) -> float:
    return 2.0 * attempt


def upside_down(attempt: int, rng: Rng, previous: float | None) -> float:
    return -1.0


def test_a_backoff_may_be_a_plain_function() -> None:
    assert after(RetryPolicy(backoff=two_a_try), 2) == Wait(4.0)
    with pytest.raises(BadPolicy, match=r"^upside_down gave -1\.0 for attempt 1; it must return seconds from 0 up\.$"):
        after(RetryPolicy(backoff=upside_down))


def test_what_is_no_backoff_at_all_is_refused_when_the_policy_is_made() -> None:
    with pytest.raises(ValueError, match=r"RetryPolicy's backoff is 2\.0; it takes a Backoff"):
        RetryPolicy(backoff=2.0)  # type: ignore[arg-type]


class OwnPolicy(RetryPolicy):
    """A learner's own policy that decides whatever it is told to."""

    gives: object = None

    def after(self, *told: object, **more: object) -> Wait | Stop:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (None, "gave None"),
        (1.0, r"gave 1\.0"),
        (Wait(-1.0), r"gave Wait\(seconds=-1\.0\)"),
        (Wait(math.nan), r"gave Wait\(seconds=nan\)"),
        (KeyError("x"), r"raised KeyError\('x'\)"),
    ],
)
def test_a_learners_wrong_policy_is_named_in_one_sentence(gives: object, words: str) -> None:
    policy = OwnPolicy()
    object.__setattr__(policy, "gives", gives)
    with pytest.raises(BadPolicy, match=rf"^OwnPolicy\.after {words} for attempt 1; it must return Wait.*\.$"):
        ask(policy, 1, Outcome.TRANSIENT, elapsed=0.0, now=0.0, rng=RNG)


def test_asking_a_good_policy_gives_its_decision_and_a_bad_backoff_its_own_sentence() -> None:
    told = {"elapsed": 0.0, "now": 0.0, "rng": RNG}
    assert ask(RetryPolicy(), 1, Outcome.SUCCESS, **told) == Stop("success")
    with pytest.raises(BadPolicy, match=r"^Own\.delay gave"):
        ask(RetryPolicy(backoff=Own("soon")), 1, Outcome.TRANSIENT, **told)


def test_a_scripted_server_is_met_with_the_waits_the_script_calls_for() -> None:
    """503, then 429 with Retry-After: 1, then a dropped connection, then the replay: four tries."""
    policy, waits, elapsed, previous = RetryPolicy(), list[float](), 0.0, None
    script = [
        (classify_http(503), None),
        (classify_http(429), 1.0),
        (Outcome.UNKNOWN, None),
        (classify_http(201), None),
    ]
    for attempt, (outcome, hint) in enumerate(script, 1):
        step = after(policy, attempt, outcome, elapsed=elapsed, previous=previous, retry_after=hint)
        if isinstance(step, Wait):
            waits.append(step.seconds)
            previous = step.seconds
            elapsed += previous
    assert step == Stop("success")
    assert waits[0] <= 0.4
    assert waits[1] == 1.0
    assert waits[2] <= 1.6


def test_still_running_is_tried_again_after_a_short_wait() -> None:
    step = after(RetryPolicy(), 1, classify_http(409, running=True))
    assert isinstance(step, Wait)
    assert step.seconds <= 0.4
    assert after(RetryPolicy(), 1, classify_http(409)) == Stop("permanent")


def test_a_clock_that_went_back_buys_no_time() -> None:
    assert after(RetryPolicy(deadline=10.0), elapsed=-60.0, retry_after=30.0) == Stop("deadline")


@pytest.mark.parametrize("hint", [-5.0, math.nan])
def test_a_hint_that_is_no_wait_means_now(hint: float) -> None:
    assert after(RetryPolicy(), retry_after=hint) == Wait(0.0)


def test_a_retry_pays_the_budget_only_when_nothing_else_stops_it() -> None:
    budget, breaker = RetryBudget(), CircuitBreaker(failures=1)
    breaker.record(False, 0.0)
    assert after(RetryPolicy(budget=budget, breaker=breaker)) == Stop("breaker")
    assert after(RetryPolicy(budget=budget), retry_after=60.0) == Stop("deadline")
    assert budget.tokens == 10.0


def test_a_time_out_makes_the_retry_dearer_where_the_budget_says_so() -> None:
    budget = AwsStandard()
    assert isinstance(after(RetryPolicy(budget=budget), outcome=Outcome.UNKNOWN, timed_out=True), Wait)
    assert budget.tokens == 490.0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"attempts": 0}, "attempts is 0"),
        ({"attempts": 2.5}, "attempts is 2.5; it takes a whole number from 1 up"),
        ({"deadline": 0}, "deadline is 0; it takes seconds above 0, or inf"),
        ({"per_try": math.nan}, "per_try is nan"),
        ({"deadline": "10"}, "deadline is '10'"),
    ],
)
def test_a_bad_setting_is_told_in_one_sentence(change: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        RetryPolicy(**change)
