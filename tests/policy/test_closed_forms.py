"""The closed forms, against each other and against the numbers the course quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.closed_forms import harmonic, key_rows, layered, settled_concurrency


@pytest.mark.parametrize(
    ("failure", "calls", "failed"), [(0.05, 1.0526, 0.0), (0.5, 2.0, 0.0), (0.9, 9.42, 0.0581), (1.0, 27.0, 1.0)]
)
def test_three_layers_of_three_tries(failure: float, calls: float, failed: float) -> None:
    load = layered(failure, [3, 3, 3])
    assert load.calls == pytest.approx(calls, abs=0.005)
    assert load.failure == pytest.approx(failed, abs=0.0001)


def test_one_layer_of_three_hides_nearly_every_failure_for_a_few_per_cent() -> None:
    load = layered(0.05, [3, 1, 1])
    assert load.calls == pytest.approx(1.0525)
    assert load.failure == pytest.approx(0.000125)


@given(st.floats(0, 0.999), st.integers(1, 5), st.integers(1, 4))
def test_equal_layers_are_one_loop_of_all_their_tries(failure: float, tries: int, layers: int) -> None:
    """Layers of n tries behave like one loop of n**layers: (1 - p**N) / (1 - p) calls, p**N failures."""
    load, tries_in_all = layered(failure, [tries] * layers), tries**layers
    assert load.calls == pytest.approx((1 - failure**tries_in_all) / (1 - failure))
    assert load.failure == pytest.approx(failure**tries_in_all)


@pytest.mark.parametrize(("failure", "tries"), [(1.5, [3]), (-0.1, [3]), (0.5, []), (0.5, [0])])
def test_what_is_no_probability_or_no_try_is_refused(failure: float, tries: list[int]) -> None:
    with pytest.raises(ValueError, match="it takes"):
        layered(failure, tries)


@given(st.floats(0, 0.999), st.integers(0, 20))
def test_retries_at_one_layer_trade_load_for_success(failure: float, retries: int) -> None:
    """N retries at failure p: success 1 - p**(N+1), load (1 - p**(N+1)) / (1 - p)."""
    load = layered(failure, [retries + 1])
    assert 1 - load.failure == pytest.approx(1 - failure ** (retries + 1))
    assert load.calls == pytest.approx((1 - load.failure) / (1 - failure))


@given(st.floats(0, 1), st.permutations([1, 2, 3, 4]))
def test_the_share_of_failures_does_not_depend_on_where_the_retries_are(failure: float, tries: list[int]) -> None:
    assert layered(failure, tries).failure == pytest.approx(failure**24)


def test_a_thousand_refused_calls_send_seven_and_a_half() -> None:
    assert harmonic(1000) == pytest.approx(7.485, abs=0.001)


def test_a_day_of_two_thousand_writes_a_second() -> None:
    """At 1,000 bytes a row 172.8 GB."""
    assert key_rows(2000, 24) == 172_800_000
    assert key_rows(2000, 24) * 1000 == 172.8e9


@pytest.mark.parametrize(("per_second", "in_flight"), [(40, 66.67), (60, 150.0), (100, float("inf"))])
def test_where_a_server_that_slows_with_load_settles(per_second: float, in_flight: float) -> None:
    assert settled_concurrency(per_second) == pytest.approx(in_flight, abs=0.01)
