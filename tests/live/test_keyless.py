"""A provider without keys: each way out does what it promises, and no more than that."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from simlib.live.faults import CrashAt, Crashed
from simlib.live.keyless import AsksAPerson, LooksFirst, doubtful, reconcile, settle
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import RunningProvider, provider
from simlib.live.recovery_points import pay_external

Conn = psycopg.Connection[Any]


@pytest.fixture
def bank() -> Iterator[RunningProvider]:
    with provider(support="none") as running:
        yield running


def codes(conn: Conn, through: Any, times: int, key: str = "k") -> list[int]:
    return [pay_external(conn, through, 1, key, 5000).code for _ in range(times)]


def test_without_anything_a_retry_after_a_silence_charges_again(conn: Conn, bank: RunningProvider) -> None:
    bank.behave("charge-then-drop")
    assert codes(conn, bank, 3) == [504, 201, 201]
    assert len(bank.charges()) == 2


def test_looking_first_finds_the_charge_after_a_silence(conn: Conn, bank: RunningProvider) -> None:
    bank.behave("charge-then-drop")
    assert codes(conn, LooksFirst(bank), 3) == [504, 201, 201]
    assert len(bank.charges()) == 1


def test_two_who_look_in_the_same_moment_both_charge(bank: RunningProvider) -> None:
    """The gap that looking first leaves, where no lease keeps them apart."""
    bank.behave("slow:0.3", "slow:0.3")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: LooksFirst(bank).charge("1:k", 5000), range(2)))
    assert len(bank.charges()) == 2


def test_after_a_silence_nobody_asks_again_until_a_person_has_looked(
    db: Postgres, conn: Conn, bank: RunningProvider
) -> None:
    careful = AsksAPerson(bank, db.connect)
    bank.behave("charge-then-drop")
    assert codes(conn, careful, 3) == [504, 503, 503]
    assert doubtful(conn) == ["1:k"]
    assert len(bank.charges()) == 1
    settle(conn, "1:k", bank.charges()[0].id)
    assert doubtful(conn) == []
    assert codes(conn, careful, 2) == [201, 201]
    assert len(bank.charges()) == 1


def test_an_answer_that_it_broke_at_work_is_as_doubtful_as_a_silence(
    db: Postgres, conn: Conn, bank: RunningProvider
) -> None:
    """The charge was made before it broke: to try again would make a second one."""
    bank.behave("charge-then-error")
    assert codes(conn, AsksAPerson(bank, db.connect), 3) == [503, 503, 503]
    assert (doubtful(conn), len(bank.charges())) == (["1:k"], 1)


def test_a_person_who_finds_nothing_lets_the_next_retry_charge(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    careful = AsksAPerson(bank, db.connect)
    bank.behave("drop")
    assert codes(conn, careful, 2) == [504, 503]
    settle(conn, "1:k", None)
    assert codes(conn, careful, 2) == [201, 201]
    assert len(bank.charges()) == 1


@pytest.mark.parametrize("point", ["after-lease", "after-charge"])
def test_a_crash_around_the_call_never_charges_twice(
    db: Postgres, conn: Conn, bank: RunningProvider, point: str
) -> None:
    careful = AsksAPerson(bank, db.connect)
    with pytest.raises(Crashed):
        pay_external(conn, careful, 1, "k", 5000, faults=CrashAt(point, how="raise"))
    conn.execute("update payment_keys set locked_until = clock_timestamp()")
    assert codes(conn, careful, 2) == [201, 201]
    assert len(bank.charges()) == 1


def test_a_no_and_a_not_now_leave_nothing_doubtful(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    careful = AsksAPerson(bank, db.connect)
    bank.behave("unavailable", "decline")
    assert codes(conn, careful, 3) == [503, 402, 402]
    assert doubtful(conn) == []


def test_there_must_be_a_doubt_to_settle(conn: Conn) -> None:
    with pytest.raises(ValueError, match=r"Nothing is doubtful about '1:k'; doubtful are none"):
        settle(conn, "1:k", None)


def test_the_books_are_compared(conn: Conn, bank: RunningProvider) -> None:
    """Twice, half done, not ours, and not theirs: each is found and says what to do; what agrees is left out."""
    assert codes(conn, bank, 1, "fine") == [201]
    bank.behave("charge-then-drop")
    assert codes(conn, bank, 2, "twice") == [504, 201]
    bank.behave("charge-then-drop")
    assert codes(conn, bank, 1, "half") == [504]
    bank.charge("9:stray", 100)
    conn.execute("insert into charges (account_id, key, amount_cents) values (1, 'invented', 100)")
    found = {row[0]: row[1:] for row in reconcile(conn, bank)}
    assert found == {
        "1:twice": (2, 1, "charged 2 times: refund 1"),
        "1:half": (1, 0, "charged, and our key is not done: finish it"),
        "9:stray": (1, 0, "charged, and unknown to us: refund it, or find whose it is"),
        "1:invented": (0, 1, "in our books, and not charged: ask them"),
    }
