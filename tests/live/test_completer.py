"""The completer finishes what nobody comes back for, and leaves alone what somebody works on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from simlib.live.completer import Completed, complete
from simlib.live.faults import CrashAt, Crashed
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import RunningProvider
from simlib.live.recovery_points import pay_external

Conn = psycopg.Connection[Any]


def abandon(conn: Conn, bank: RunningProvider, point: str, key: str = "k") -> None:
    """A worker dies at the point, its client never comes back, and time passes."""
    with pytest.raises(Crashed):
        pay_external(conn, bank, 1, key, 5000, faults=CrashAt(point, how="raise"))
    conn.execute("update payment_keys set locked_until = clock_timestamp() - interval '1 second'")


@pytest.mark.parametrize("point", ["after-claim", "after-lease", "after-charge", "after-charged", "before-commit"])
def test_an_abandoned_payment_is_finished_without_its_client(conn: Conn, bank: RunningProvider, point: str) -> None:
    abandon(conn, bank, point)
    assert complete(conn, bank, older=0) == [Completed(1, "k", 201)]
    assert len(bank.charges()) == 1
    assert conn.execute("select recovery_point, response_code from payment_keys").fetchone() == ("done", 201)
    assert pay_external(conn, bank, 1, "k", 5000).replayed, "should the client come back after all"


def test_what_somebody_works_on_is_left_alone(conn: Conn, bank: RunningProvider) -> None:
    with pytest.raises(Crashed):
        pay_external(conn, bank, 1, "k", 5000, faults=CrashAt("after-lease", how="raise"))
    assert complete(conn, bank, older=0) == []


def test_what_has_just_begun_is_left_to_its_client(conn: Conn, bank: RunningProvider) -> None:
    abandon(conn, bank, "after-charge")
    assert complete(conn, bank, older=3600) == []


def test_a_provider_that_is_silent_still_is_asked_again_the_next_time(conn: Conn, bank: RunningProvider) -> None:
    abandon(conn, bank, "after-lease")
    bank.behave("unavailable")
    assert [c.final for c in complete(conn, bank, older=0)] == [False]
    assert [c.final for c in complete(conn, bank, older=0)] == [True]


def test_a_decline_is_final_too(conn: Conn, bank: RunningProvider) -> None:
    abandon(conn, bank, "after-lease")
    bank.behave("decline")
    assert complete(conn, bank, older=0) == [Completed(1, "k", 402)]
    assert complete(conn, bank, older=0) == []


def test_two_completers_at_once_charge_once(db: Postgres, conn: Conn, bank: RunningProvider) -> None:
    for key in ("a", "b", "c"):
        abandon(conn, bank, "after-lease", key)

    def work(_: int) -> None:
        with db.connect() as own:
            complete(own, bank, older=0)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    assert sorted(str(c.reference) for c in bank.charges()) == ["1:a", "1:b", "1:c"]
