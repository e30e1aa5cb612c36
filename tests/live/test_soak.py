"""The soak: whatever was lost, killed and crashed on the way, whoever was told *paid* has paid once."""

from __future__ import annotations

from collections import Counter

import pytest

from simlib import live
from simlib.live.completer import complete
from simlib.live.pg.server import Postgres
from simlib.trace import INVARIANTS
from tests.live.soak import SECONDS, soak

pytestmark = pytest.mark.soak


def test_with_keys_every_success_is_one_charge_and_none_is_two(db: Postgres) -> None:
    with live.provider(shares={"charge-then-drop": 0.05, "slow:0.3": 0.05, "unavailable": 0.03}, process=True) as bank:
        told = soak(db, bank.url, SECONDS, keys=True)
        with db.connect() as conn:
            conn.execute("update payment_keys set locked_until = null")  # as the lease of a killed worker does in time
            while any(not done.final for done in complete(conn, bank, older=0.0)):
                pass
            charges = Counter(cents for (cents,) in conn.execute("select amount_cents from charges").fetchall())
            held = {name: conn.execute(text).fetchone() for name, text in INVARIANTS.items()}  # type: ignore[call-overload]
        books = Counter(charge.amount_cents for charge in bank.charges())
    print(told, f"{charges.total()} charges")
    assert told.restarts == 3
    assert told.kills > SECONDS / 4
    assert len(told.succeeded) > SECONDS
    assert {intent: charges[intent] for intent in told.succeeded if charges[intent] != 1} == {}
    assert {intent: n for intent, n in charges.items() if n > 1} == {}
    assert {cents: n for cents, n in books.items() if n > 1} == {}
    assert set(held.values()) == {(True,)}, held


def test_without_keys_the_same_run_charges_twice(db: Postgres) -> None:
    """So that the check above is one that can fail."""
    with live.provider(shares={"charge-then-drop": 0.05}, process=True) as bank:
        told = soak(db, bank.url, SECONDS / 6, keys=False, restarts=0)
    with db.connect() as conn:
        rows = conn.execute("select amount_cents, count(*) from charges group by 1 having count(*) > 1").fetchall()
    print(told, f"{len(rows)} intents charged more than once")
    assert rows
