"""One effect at most, whatever goes wrong, as long as four conditions hold; and none of the four can be spared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib.scenarios.four_conditions import LAST_RETRY, FourConditions

TROUBLE = {
    "loss": st.floats(0, 1),
    "delay": st.floats(0, 5),
    "crash": st.floats(0, 1),
    "restart": st.floats(0, 1),
    "purchases": st.integers(1, 30),
    "window": st.floats(LAST_RETRY, 172_800),
}


@settings(max_examples=150)
@given(trouble=st.fixed_dictionaries(TROUBLE), seed=st.integers(0, 2**32))
def test_at_most_one_charge_and_no_success_without_one(trouble: dict[str, Any], seed: int) -> None:
    counts = FourConditions(**trouble).run(seed).counts
    assert counts["duplicates"] == 0
    assert counts["told_and_not_charged"] == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "dropped", [{"per_attempt": True}, {"saved": False}, {"mark": "after the effect"}, {"window": 2.0}], ids=str
)
def test_each_condition_dropped_charges_twice(dropped: dict[str, Any], seed: int) -> None:
    assert FourConditions(**dropped).run(seed).counts["duplicates"] > 0


def test_a_mark_before_the_effect_tells_people_they_paid_who_did_not() -> None:
    counts = FourConditions(mark="before the effect").run().counts
    assert counts["told_and_not_charged"] > 0
    assert counts["duplicates"] == 0


def test_without_trouble_nothing_is_needed() -> None:
    """Why a missing condition is not seen in a test that goes well."""
    calm = {"loss": 0.0, "crash": 0.0, "restart": 0.0, "delay": 0.0}
    run = FourConditions(per_attempt=True, saved=False, mark="after the effect", window=1.0, **calm).run()
    assert (run.counts["duplicates"], run.counts["charges"]) == (0, 50)
    assert run.text.endswith("50 purchases, 50 charges, 0 duplicates, 0 told they had paid and not charged")
