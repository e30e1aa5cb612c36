"""The completer: finishes payments whose worker died and whose client never came back.

A retry finishes an abandoned key, and nobody has to retry: the phone may be off. So a job looks for such keys once in a
while and does what the retry would have done, under a lease like everybody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from simlib.live.provider_client import Provider
from simlib.live.recovery_points import LEASE_SECONDS, pay_external

OLD_SECONDS = 60.0  # over any retry of a client that still waits

ABANDONED = """
select account_id, key, amount_cents, currency, request_hash from payment_keys
where recovery_point <> 'done' and (locked_until is null or locked_until < clock_timestamp())
  and created_at < clock_timestamp() - make_interval(secs => %s)
order by created_at limit %s"""


@dataclass(frozen=True)
class Completed:
    """A key that was taken up, and the code of the answer that came of it: 201 or 402 are final, the others not yet."""

    account_id: int
    key: str
    code: int

    @property
    def final(self) -> bool:
        return self.code in (201, 402)


def complete(
    conn: psycopg.Connection[Any],
    provider: Provider,
    *,
    older: float = OLD_SECONDS,
    limit: int = 100,
    lease: float = LEASE_SECONDS,
) -> list[Completed]:
    """Take up keys that nobody works on and that began more than `older` seconds ago, the oldest first.

    A key whose provider still does not answer is left as it is, for the next time. Two completers at once do no harm:
    each key has one lease.
    """
    found = conn.execute(ABANDONED, [older, limit]).fetchall()
    done = []
    for account_id, key, cents, currency, fingerprint in found:
        answer = pay_external(
            conn, provider, account_id, key, cents, currency=currency, fingerprint=fingerprint, lease=lease
        )
        done.append(Completed(account_id, key, answer.code))
    return done
