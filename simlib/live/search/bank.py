"""A card provider for thousands of schedules: it keeps keys as the HTTP one does, in this process, for one schedule."""

from __future__ import annotations

from dataclasses import dataclass

from simlib.live.provider_client import ProviderTimeout


@dataclass(frozen=True)
class BankCharge:
    """A row of its books."""

    id: str
    amount_cents: int
    reference: str | None


class Bank:
    """A provider whose `charge` is atomic. With `keys=False` it has no idempotency support: every call charges.

    `no_answer` is what a caller is told whose answer gets lost on the way back.
    """

    no_answer = ProviderTimeout

    def __init__(self, *, keys: bool = True) -> None:
        self._keys = keys
        self._known: dict[str, str] = {}
        self._books: list[BankCharge] = []

    def charge(self, key: str, cents: int, timeout: float = 10.0, *, reference: str | None = None) -> str:
        """Charge the card, once for each key."""
        if self._keys and key in self._known:
            return self._known[key]
        made = BankCharge(f"ch_{len(self._books) + 1}", cents, reference or key)
        self._books.append(made)
        self._known[key] = made.id
        return made.id

    async def charge_async(self, key: str, cents: int, timeout: float = 10.0, *, reference: str | None = None) -> str:
        """`charge` for asyncio."""
        return self.charge(key, cents, timeout, reference=reference)

    def find(self, reference: str) -> BankCharge | None:
        """The first charge that carries this reference."""
        return next((c for c in self._books if c.reference == reference), None)

    def charges(self) -> list[BankCharge]:
        """All charges, in the order they were made."""
        return list(self._books)
