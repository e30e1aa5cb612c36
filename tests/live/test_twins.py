"""The simulated store explored like the real one: for every piece with a simulated twin the verdict is the same."""

from __future__ import annotations

import pytest

from simlib.live import museum
from tests.live import twin_museum
from tests.live.twin_search import ANSWERED, FREE, PROMISE, broken

OF_POSTGRESQL = {"lock_released_before_commit", "upsert_that_works_again", "serializable_without_a_retry"}
"""They break on advisory locks, on what an upsert returns and on 40001, none of which the simulator has."""


def test_every_piece_that_can_have_a_twin_has_one() -> None:
    assert set(twin_museum.BROKEN) == set(museum.BROKEN) - OF_POSTGRESQL


@pytest.mark.parametrize("name", sorted(twin_museum.BROKEN))
def test_a_broken_one_is_broken_in_both_worlds(name: str) -> None:
    """And in the same way: it breaks its promise, or leaves a key that never gets an answer, here as there."""
    piece, exhibit = twin_museum.BROKEN[name], museum.BROKEN[name]
    assert (piece.crashes, piece.losses, piece.expiries) == (exhibit.crashes, exhibit.losses, exhibit.expiries)
    schedules, found = broken(piece)
    real = set(exhibit.explore().violations)
    assert found == {what if what in (ANSWERED, FREE) else PROMISE for what in real}
    assert schedules > 0
    assert found


@pytest.mark.parametrize(
    "piece", twin_museum.RIGHT, ids=lambda p: f"{p.twin.__name__}-{p.crashes}{p.losses}{p.expiries}"
)
def test_a_right_one_survives_in_both_worlds(piece: twin_museum.Piece) -> None:
    schedules, found = broken(piece)
    assert found == set()
    assert schedules > 3
    same = [e for e in museum.RIGHT if (e.name, e.losses) == (piece.twin.__name__, piece.losses)]
    assert same
    assert all(e.explore().violating == 0 for e in same)
