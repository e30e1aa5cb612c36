"""A provider that keeps no keys: what is left then, from the best to the last.

A reference of our own that the provider refuses to charge twice is as good as a key. Without one, look first: it closes
the gap after a silence, not that between two who look in the same moment. Whatever slips through, a reconciliation
finds: it compares their books with ours. And where an effect is rare and dear, nobody tries again by himself: after a
silence the payment is doubtful until a person has looked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from simlib.live.provider_client import Provider, ProviderError, ProviderTimeout, ProviderUnavailable
from simlib.live.recovery_points import downstream
from simlib.table import Table

Conn = psycopg.Connection[Any]

BEGIN = "insert into provider_calls (reference) values (%s) on conflict (reference) do nothing"
LOOK = "select charge_id, settled from provider_calls where reference = %s"
HEARD = "update provider_calls set charge_id = %s where reference = %s"
FORGET = "delete from provider_calls where reference = %s"
SETTLE = "update provider_calls set charge_id = %s, settled = true where reference = %s and charge_id is null"
DOUBTFUL = "select reference from provider_calls where charge_id is null and not settled order by begun_at, reference"
OURS = "select account_id, key, count(*) from charges where key is not null group by account_id, key"
UNFINISHED = "select account_id, key from payment_keys where recovery_point <> 'done'"


@dataclass(frozen=True)
class LooksFirst:
    """Charges only if the provider's books hold no charge with this reference; give it to `pay_external`."""

    provider: Provider

    def charge(self, key: str, cents: int) -> str:
        """The charge that is there already, or a new one."""
        found = self.provider.find(key)
        return found.id if found else self.provider.charge(key, cents)


@dataclass(frozen=True)
class AsksAPerson:
    """Asks the provider once; after a silence, or a 500, a person must say what happened (`settle`).

    That it will ask is committed before it does, so a crash in between leaves a doubtful payment, not a second charge.
    `connect` gives a connection in autocommit mode.
    """

    provider: Provider
    connect: Callable[[], Conn]

    def charge(self, key: str, cents: int) -> str:
        """The charge's id; ProviderUnavailable while a person has not looked yet."""
        with self.connect() as conn:
            if conn.execute(BEGIN, [key]).rowcount == 0:
                return self._known(conn, key, cents)
            try:
                charge = self.provider.charge(key, cents)
            except ProviderError as error:
                if not _may_have_charged(error):
                    conn.execute(FORGET, [key])
                raise
            conn.execute(HEARD, [charge, key])
            return charge

    def _known(self, conn: Conn, key: str, cents: int) -> str:
        row = conn.execute(LOOK, [key]).fetchone()
        charge, settled = row if row else (None, True)
        if charge is not None:
            return charge
        if not settled:
            raise ProviderUnavailable(f"Nobody knows whether {key} was charged; a person will check.")
        conn.execute(FORGET, [key])  # a person found that it was not
        return self.charge(key, cents)


def _may_have_charged(error: ProviderError) -> bool:
    """A silence, and an answer that it broke at work; a plain no leaves nothing doubtful."""
    return isinstance(error, ProviderTimeout) or (isinstance(error, ProviderUnavailable) and error.begun)


def doubtful(conn: Conn) -> list[str]:
    """The references of payments that a person must look at, oldest first."""
    return [reference for (reference,) in conn.execute(DOUBTFUL)]


def settle(conn: Conn, reference: str, charge_id: str | None) -> None:
    """What a person has found: the charge's id, or None when there is none; the next retry goes on from there.

    ValueError where nothing is doubtful about this reference.
    """
    if conn.execute(SETTLE, [charge_id, reference]).rowcount != 1:
        raise ValueError(
            f"Nothing is doubtful about {reference!r}; doubtful are {', '.join(doubtful(conn)) or 'none'}."
        )


def reconcile(conn: Conn, provider: Provider) -> Table:
    """Where the provider's books and ours differ, by reference: what is there and what has to be done."""
    theirs = Counter(charge.reference for charge in provider.charges())
    ours = {downstream(account, key): count for account, key, count in conn.execute(OURS)}
    open_keys = {downstream(account, key) for account, key in conn.execute(UNFINISHED)}
    rows = []
    for reference in sorted({*theirs, *ours} - {None}, key=str):
        at_theirs, at_ours = theirs[reference], ours.get(str(reference), 0)
        if at_theirs != at_ours:
            rows.append((reference, at_theirs, at_ours, _todo(at_theirs, at_ours, reference in open_keys)))
    return Table(("reference", "theirs", "ours", "what to do"), tuple(rows))


def _todo(theirs: int, ours: int, still_open: bool) -> str:
    if theirs > 1:
        return f"charged {theirs} times: refund {theirs - max(ours, 1)}"
    if theirs and still_open:
        return "charged, and our key is not done: finish it"
    if theirs:
        return "charged, and unknown to us: refund it, or find whose it is"
    return "in our books, and not charged: ask them"
