"""Backoff: waits stay under the cap, at any attempt, and jitter never puts late clients back in step."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.backoff import JITTERS, Backoff

BACKOFFS = st.builds(
    Backoff,
    base=st.floats(0, 1e300),
    factor=st.floats(1, 1e10),
    cap=st.floats(0, 1e300),
    jitter=st.sampled_from(JITTERS),
)
ATTEMPTS = st.integers(1, 1_000_000)


class Fixed:
    """Luck that always draws the same number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


@pytest.mark.parametrize(("attempt", "ceiling"), [(1, 0.4), (2, 0.8), (3, 1.6), (4, 3.2), (5, 5.0), (6, 5.0)])
def test_the_cap_before_jitter_is_five_seconds_or_a_fifth_times_two_to_the_attempt(
    attempt: int, ceiling: float
) -> None:
    assert Backoff().ceiling(attempt) == pytest.approx(ceiling)


@pytest.mark.parametrize("attempt", [1024, 1025, 1_000_000])
def test_a_power_beyond_any_float_is_the_cap(attempt: int) -> None:
    assert Backoff().ceiling(attempt) == 5.0


def test_whole_numbers_as_settings_cost_no_more_at_a_billion_attempts() -> None:
    """2 ** 10**9 as an exact integer would take minutes and gigabytes; as a float it is past the cap at once."""
    assert Backoff(base=1, factor=2, cap=60).ceiling(10**9) == 60


def test_a_long_hint_before_does_not_stretch_the_decorrelated_wait() -> None:
    """The wait before may have been the server's own, beyond the cap."""
    backoff = Backoff(jitter="decorrelated")
    assert backoff.delay(2, Fixed(0.25), 3600.0) == backoff.delay(2, Fixed(0.25), 5.0) == pytest.approx(3.9)
    assert backoff.delay(2, Fixed(0.0), math.inf) == pytest.approx(0.2)


def test_no_base_means_no_wait_even_where_the_power_overflows() -> None:
    assert Backoff(base=0.0).ceiling(1025) == 0.0


@given(BACKOFFS, ATTEMPTS, st.integers())
def test_every_wait_is_a_number_from_zero_to_the_cap(backoff: Backoff, attempt: int, seed: int) -> None:
    rng = random.Random(seed)
    previous = None
    for n in (attempt, attempt + 1, attempt + 2):
        previous = backoff.delay(n, rng, previous)
        assert math.isfinite(previous)
        assert 0.0 <= previous <= backoff.cap


@given(BACKOFFS, ATTEMPTS)
def test_the_ceiling_never_falls(backoff: Backoff, attempt: int) -> None:
    assert backoff.ceiling(attempt) <= backoff.ceiling(attempt + 1)


def test_jitter_is_drawn_under_the_cap_so_late_clients_stay_apart() -> None:
    """Jitter added before the cap would give every late client the cap itself."""
    rng = random.Random(1)
    waits = {Backoff(jitter="full").delay(50, rng) for _ in range(100)}
    assert len(waits) == 100


@pytest.mark.parametrize(
    ("jitter", "low", "high"), [("none", 1.6, 1.6), ("full", 0.0, 1.6), ("equal", 0.8, 1.6), ("decorrelated", 0.2, 3.0)]
)
def test_each_jitter_spans_its_range(jitter: str, low: float, high: float) -> None:
    backoff = Backoff(jitter=jitter)  # type: ignore[arg-type]
    assert backoff.delay(3, Fixed(0.0), 1.0) == pytest.approx(low)
    assert backoff.delay(3, Fixed(1.0 - 1e-12), 1.0) == pytest.approx(high)


def test_decorrelated_starts_from_the_base() -> None:
    assert Backoff(jitter="decorrelated").delay(1, Fixed(0.5)) == pytest.approx(0.2 + 0.5 * 0.4)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"base": -1.0}, "Backoff's base is -1.0; it takes a number from 0 up."),
        ({"factor": 0.5}, "Backoff's factor is 0.5; it takes a number from 1 up."),
        ({"cap": math.nan}, "Backoff's cap is nan; it takes a number from 0 up."),
        ({"cap": "5"}, "Backoff's cap is '5'; it takes a number from 0 up."),
        ({"base": True}, "Backoff's base is True; it takes a number from 0 up."),
        ({"cap": math.inf}, "Backoff's cap is inf; it takes a number from 0 up."),
        ({"jitter": "ful"}, "Backoff's jitter is 'ful'; it takes none, full, equal, decorrelated."),
    ],
)
def test_a_bad_setting_is_told_in_one_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match="Backoff") as error:
        Backoff(**change)  # type: ignore[arg-type]
    assert str(error.value) == sentence


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        Backoff().ceiling(0)
