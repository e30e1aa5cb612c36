"""The retry policy: never more tries, never past the deadline, and the server's hint before its own guess."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.backoff import Backoff, Rng
from simlib.policy.breaker import CircuitBreaker
from simlib.policy.budget import RetryBudget
from simlib.policy.classify import Outcome
from simlib.policy.retry import BadPolicy, RetryPolicy, Stop, Wait

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


@pytest.mark.parametrize(("change", "match"), [({"attempts": 0}, "attempts is 0"), ({"deadline": 0}, "deadline is 0")])
def test_a_bad_setting_is_told_in_one_sentence(change: dict[str, int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        RetryPolicy(**change)
