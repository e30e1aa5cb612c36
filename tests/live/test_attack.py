"""`attack`: the right ones survive it, and each wrong one fails where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from simlib import live
from simlib.live.attacking import ATTACKS, attack
from simlib.live.museum import claims, leases
from simlib.live.search.tree import Budget

pytestmark = pytest.mark.usefixtures("server")

QUICK = Budget(schedules=60, seconds=5)


def failed(fn: Any) -> set[str]:
    return {row.attack for row in attack(fn, budget=QUICK).rows if row.result == "failed"}


def test_pay_survives_every_attack() -> None:
    board = attack(live.pay)
    assert board.passed
    assert [row.attack for row in board.rows] == list(ATTACKS)
    assert {row.attack: row.result for row in board.rows}["leases that run out"] == "not applicable"
    assert not any("budget" in row.says for row in board.rows), "nothing was cut"


def test_pay_external_survives_every_attack() -> None:
    board = attack(live.pay_external, budget=QUICK)
    assert board.passed, board
    assert any("the budget was spent" in row.says for row in board.rows), "and where a search was cut it says so"


@pytest.mark.parametrize(
    ("fn", "where"),
    [
        (claims.check_then_insert, {"20 at once", "2 sessions, READ COMMITTED", "the winner is killed"}),
        (claims.claim_then_work, {"a crash at every statement"}),
        (claims.key_not_scoped, {"the same key, another account"}),
        (claims.fingerprint_not_checked, {"the same key, another amount"}),
        (claims.serializable_without_a_retry, {"2 sessions, SERIALIZABLE"}),
        (leases.lease_without_a_token, {"leases that run out"}),
        (leases.lease_kept_on_error, {"the caller hangs up"}),
        (leases.saved_500, {"the caller hangs up"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_wrong_one_fails_where_it_is_wrong(fn: Any, where: set[str]) -> None:
    assert where <= failed(fn)


def test_a_row_that_failed_by_a_schedule_has_its_story() -> None:
    board = attack(claims.check_then_insert, budget=QUICK)
    assert not board.passed
    assert board.story.code in repr(board)
    assert "✗ FAILED" in repr(board), "to be read without colour"


def test_a_function_that_always_raises_fails_everywhere_it_can() -> None:
    def broken(conn: Any, account_id: int, key: str, amount_cents: int) -> None:
        raise ValueError("no")

    assert "it raised ValueError: no" in repr(attack(broken, budget=QUICK))


def test_what_is_no_function_is_told() -> None:
    with pytest.raises(ValueError, match="give the function itself"):
        attack(None)  # type: ignore[arg-type]
