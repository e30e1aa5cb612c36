"""The museum: broken versions that people ship, and the right ones beside them; `explore` tells each one's story."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simlib.live import exploring as search
from simlib.live.museum import claims, consumers, leases
from simlib.live.museum.parts import Broker, Courier, Delivery, Store
from simlib.live.one_transaction import pay
from simlib.live.recovery_points import pay_external
from simlib.live.search.bank import Bank
from simlib.live.search.judge import Invariant

TWICE = [(1, "k", 5000)] * 2
ONCE = [(1, "k", 5000)]
WALLET = "insert into wallets (id) values (1), (2)"
CREDITED = "select balance_cents = 500 from wallets where id = 1"
PARTS: Mapping[str, Callable[[], Any]] = {"provider": Bank, "store": Store, "broker": Broker, "courier": Courier}


def one_charge(conn: Any, provider: Any) -> bool:
    """The provider has charged once, and our books and the receipts say the same."""
    counts = conn.execute("select (select count(*) from charges), (select count(*) from outbox)").fetchone()
    return len(provider.charges()) == 1 and counts == (1, 1)


def one_parcel(conn: Any, courier: Any) -> bool:
    """One parcel went out."""
    return len(courier.sent()) == 1


def one_is_told_422(conn: Any, answers: Sequence[Any]) -> bool:
    """Of two requests with one key and different amounts, one is told so."""
    return sorted(answer.code for answer in answers) == [201, 422]


@dataclass(frozen=True)
class Exhibit:
    """A function, and in which trouble it is to be seen. `right`: it survives everything."""

    fn: Callable[..., Any]
    args: Sequence[tuple[Any, ...]]
    invariant: Invariant = search.ONE_CHARGE
    crashes: int = 0
    losses: int = 0
    expiries: int = 0
    seed: str = ""
    right: bool = False
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.fn.__name__)

    @property
    def source(self) -> str:
        """Its code, as it was shipped."""
        return inspect.getsource(self.fn)

    def explore(self, **how: Any) -> search.Report:
        """Every schedule of it."""
        return search.explore(
            self.fn,
            len(self.args),
            args=self.args,
            crashes=self.crashes,
            losses=self.losses,
            expiries=self.expiries,
            invariant=self.invariant,
            seed=self.seed,
            parts=PARTS,
            **how,
        )


def _two_purchases() -> Exhibit:
    args = [(1, 5000, "Monday"), (1, 5000, "Tuesday")]
    return Exhibit(claims.key_from_the_content, args, "select count(*) = 2 from charges")


_ALL = (
    Exhibit(claims.check_then_insert, TWICE),
    Exhibit(claims.claim_then_work, TWICE, crashes=1),
    Exhibit(
        claims.key_not_scoped,
        [(1, "k", 5000), (2, "k", 5000)],
        "select count(distinct account_id) = 2 from charges",
    ),
    Exhibit(claims.fingerprint_not_checked, [(1, "k", 5000), (1, "k", 7000)], one_is_told_422),
    Exhibit(claims.key_per_attempt, [(1, 5000)], losses=1),
    _two_purchases(),
    Exhibit(claims.lock_released_before_commit, TWICE),
    Exhibit(claims.upsert_that_works_again, TWICE),
    Exhibit(claims.serializable_without_a_retry, TWICE),
    Exhibit(leases.fingerprint_after_the_lease, [(1, "k", 5000), (1, "k", 7000)], "select true", losses=1),
    Exhibit(leases.lease_without_a_token, TWICE, one_charge, expiries=1),
    Exhibit(leases.lease_kept_on_error, ONCE, one_charge, losses=1),
    Exhibit(leases.last_write_not_fenced, TWICE, one_charge, expiries=1),
    Exhibit(leases.two_calls_in_one_phase, ONCE, one_parcel, crashes=1),
    Exhibit(leases.saved_500, ONCE, "select true", losses=1),
    Exhibit(leases.replay_takes_the_lease, TWICE, one_charge),
    Exhibit(consumers.mark_elsewhere_before, [()], CREDITED, crashes=1, seed=WALLET),
    Exhibit(consumers.mark_elsewhere_after, [()], CREDITED, crashes=1, seed=WALLET),
    Exhibit(consumers.ack_before_commit, [()], CREDITED, crashes=1, seed=WALLET),
    Exhibit(
        consumers.inbox_without_the_consumer,
        [("mail", 1), ("points", 2)],
        "select bool_and(balance_cents = 500) from wallets",
        seed=WALLET,
    ),
    Exhibit(consumers.brokers_id, [(Delivery(1, "evt-1", 500),), (Delivery(2, "evt-1", 500),)], CREDITED, seed=WALLET),
    Exhibit(pay, TWICE, crashes=1, right=True),
    Exhibit(pay, [(1, "k", 5000), (1, "k", 7000)], one_is_told_422, losses=1, right=True),
    Exhibit(pay_external, TWICE, one_charge, expiries=1, right=True),
    Exhibit(pay_external, TWICE, one_charge, losses=1, right=True),
    Exhibit(consumers.in_one_transaction, [()] * 2, CREDITED, crashes=1, seed=WALLET, right=True),
)

BROKEN: Mapping[str, Exhibit] = {e.name: e for e in _ALL if not e.right}
"""The broken ones, by name."""

RIGHT: Sequence[Exhibit] = tuple(e for e in _ALL if e.right)
"""The right ones, in several kinds of trouble."""
