"""Which operations are idempotent, and which of those give the same reply."""

from __future__ import annotations

import pytest

from simlib.scenarios.operations import OPERATIONS, Operations

IDEMPOTENT = {
    "set the quantity to 3": (200, 200, 200),
    "store top-up t-1": (201, 200, 200),
    "remove it from the cart": (204, 404, 404),
    "ship if it is paid": (200, 409, 409),
    "add 500 if version is 6": (200, 412, 412),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_after_the_first_time_an_idempotent_one_changes_nothing(operation: str) -> None:
    counts = Operations(operation=operation, times=3).run().counts
    assert counts["changes"] == (1 if operation in IDEMPOTENT else 3)


@pytest.mark.parametrize("operation", IDEMPOTENT)
def test_the_same_effect_is_not_the_same_reply(operation: str) -> None:
    counts = Operations(operation=operation, times=3).run().counts
    assert tuple(counts[f"reply {i}"] for i in (1, 2, 3)) == IDEMPOTENT[operation]


def test_once_is_once_for_all() -> None:
    assert {Operations(operation=o, times=1).run().counts["changes"] for o in OPERATIONS} == {1}
