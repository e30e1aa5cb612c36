"""The breaker: opens on failures, cools down, admits exactly its probes, and never stays shut for ever."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.breaker import CircuitBreaker, State


def opened(probes: int = 1) -> CircuitBreaker:
    breaker = CircuitBreaker(failures=3, cool_down=5.0, probes=probes)
    for _ in range(3):
        assert breaker.allow(0.0)
        breaker.record(False, 0.0)
    assert breaker.state is State.OPEN
    return breaker


def test_it_opens_only_after_failures_in_a_row() -> None:
    breaker = CircuitBreaker(failures=3)
    for ok in (False, False, True, False, False):
        breaker.record(ok, 0.0)
    assert breaker.state is State.CLOSED
    breaker.record(False, 0.0)
    assert breaker.state is State.OPEN


def test_open_it_refuses_until_the_cool_down_is_over() -> None:
    breaker = opened()
    assert not breaker.allow(4.999)
    assert breaker.allow(5.0)


@pytest.mark.parametrize("probes", [1, 2, 5])
def test_half_open_admits_exactly_its_probes(probes: int) -> None:
    breaker = opened(probes)
    assert sum(breaker.allow(6.0) for _ in range(20)) == probes
    for _ in range(probes):
        assert breaker.state is State.HALF_OPEN
        breaker.record(True, 6.5)
    assert breaker.state is State.CLOSED


def test_one_failed_probe_outweighs_those_that_went_well() -> None:
    breaker = opened(probes=3)
    assert all(breaker.allow(6.0) for _ in range(3))
    breaker.record(True, 6.5)
    breaker.record(False, 6.6)
    breaker.record(True, 6.7)
    assert breaker.state is State.OPEN


def test_a_failed_probe_opens_it_for_another_cool_down() -> None:
    breaker = opened()
    assert breaker.allow(6.0)
    breaker.record(False, 6.5)
    assert not breaker.allow(11.0)
    assert breaker.allow(11.5)


def test_a_probe_that_never_reports_does_not_wedge_it() -> None:
    breaker = opened()
    assert breaker.allow(6.0)
    assert not breaker.allow(7.0)
    assert breaker.allow(11.0)


def test_asking_whether_it_is_ready_uses_up_no_probe() -> None:
    breaker = opened()
    assert all(breaker.ready(6.0) for _ in range(5))
    assert not breaker.ready(4.0)
    assert breaker.allow(6.0)


def test_a_second_round_of_probes_waits_a_cool_down_after_the_last_probe() -> None:
    """Two probes far apart: the second has its time to report before others follow."""
    breaker = opened(probes=2)
    assert [breaker.allow(t) for t in (5.0, 9.9, 10.0, 14.8, 14.9)] == [True, True, False, False, True]


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.floats(0, 3), st.sampled_from(["allow", "allow", "allow", "ok", "fail"])), max_size=120),
)
def test_while_it_is_not_closed_no_cool_down_sees_more_than_its_probes(
    probes: int, story: list[tuple[float, str]]
) -> None:
    breaker, now, probed = CircuitBreaker(failures=2, cool_down=5.0, probes=probes), 0.0, list[float]()
    for gap, what in story:
        now += gap
        if what != "allow":
            breaker.record(what == "ok", now)
        elif breaker.allow(now) and breaker.state is State.HALF_OPEN:
            probed.append(now)
        if breaker.state is State.CLOSED:
            probed.clear()
        assert sum(now - t < 4.999 for t in probed) <= probes


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.sampled_from(["allow", "ok", "fail"])), max_size=80))
def test_whatever_happened_it_lets_a_call_through_after_two_cool_downs(story: list[tuple[float, str]]) -> None:
    """Also on a clock that jumped back and forth."""
    breaker = CircuitBreaker(failures=2, cool_down=5.0)
    now = 0.0
    for now, what in story:
        if what == "allow":
            breaker.allow(now)
        else:
            breaker.record(what == "ok", now)
    breaker.allow(now)
    assert breaker.allow(now + 5.0) or breaker.allow(now + 10.0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"failures": 0}, "failures is 0; it takes a whole number from 1 up"),
        ({"probes": 1.5}, "probes is 1.5; it takes a whole number from 1 up"),
        ({"cool_down": 0}, "cool_down is 0; it takes seconds above 0"),
        ({"cool_down": float("inf")}, "cool_down is inf; it takes seconds above 0"),
    ],
)
def test_a_bad_setting_is_told_in_one_sentence(change: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        CircuitBreaker(**change)
