"""Recovery points in the simulator: each measure is needed, and each has a story in which it is missed."""

from __future__ import annotations

import pytest

from simlib.scenarios.recovery_points import TROUBLES, RecoveryPoints


def outcome(**knobs: object) -> tuple[float, float, float]:
    counts = RecoveryPoints(**knobs).run().counts  # type: ignore[arg-type]
    return counts["charges"], counts["receipts"], counts["answered"]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_with_everything_on_there_is_one_charge_one_receipt_and_an_answer(trouble: str) -> None:
    assert outcome(trouble=trouble) == (1, 1, 1)
    assert RecoveryPoints(trouble=trouble).run().counts["done"] == 1


def test_without_the_fence_a_late_worker_sends_the_receipt_again() -> None:
    assert outcome(trouble="slow after charge", fenced=False) == (1, 2, 1)


def test_without_a_key_downstream_the_one_who_takes_over_charges_again() -> None:
    assert outcome(trouble="dies after charge", downstream=False) == (2, 1, 1)


def test_a_lease_that_does_not_end_keeps_everybody_away_for_ever() -> None:
    assert outcome(trouble="dies after charge", ends=False) == (1, 0, 0)
    assert "never has an answer" in RecoveryPoints(trouble="dies after charge", ends=False).run().text


def test_while_the_lease_holds_a_retry_is_told_409() -> None:
    run = RecoveryPoints(trouble="dies after lease").run()
    assert run.trace.count("refuse") >= 1
    assert run.trace.count("take_over") == 1


def test_the_late_worker_is_told_that_its_lease_is_lost() -> None:
    assert RecoveryPoints(trouble="slow after charge").run().trace.count("fence") == 1


def test_a_recovery_point_is_not_gone_through_twice() -> None:
    """Dead in the last transaction: the point `charged` stands, so the provider is not even asked again."""
    run = RecoveryPoints(trouble="dies before commit").run()
    assert run.trace.count("effect", "replay", actor="provider") == 1
