"""`pay` and `pay_external` once more, on the simulated key store: each a generator that stops at every point.

Whoever drives one lets it go on (`next`), lets its worker die (`close`) or leaves it standing; at `PROVIDER`,
`send(False)` means that the provider's answer gets lost. What a twin returns is the status of its answer and whether it
is a replay.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from simlib.policy.verdict import Verdict
from simlib.world.keys import Keys

WAITS, PROVIDER = "waits", "provider"
FINAL = {"ok": 201, "decline": 402}

Told = tuple[int, bool]
Twin = Generator[str, bool | None, Told]


@dataclass(frozen=True)
class Ask:
    """A request, and what the provider will do if it is asked: ok, decline, unavailable, charge-then-drop."""

    account: int = 1
    key: str = "k"
    cents: int = 5000
    fate: str = "ok"


@dataclass
class Books:
    """What has happened: our charges, receipts, and the provider's books and keys."""

    charges: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    provider: list[str] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)

    def charge(self, name: str, fate: str) -> int:
        """The provider's answer: 201 or 402, kept with the key; 503 where it has none now, 504 where it is lost."""
        if fate == "unavailable":
            return 503
        if name not in self.kept:
            self.kept[name] = FINAL.get(fate, 201)
            if self.kept[name] == 201:
                self.provider.append(name)
            if fate == "charge-then-drop":
                return 504
        return self.kept[name]


def pay_twin(keys: Keys, books: Books, now: float, ask: Ask) -> Twin:
    """One transaction: a duplicate waits for its end."""
    yield "begin"
    while True:
        verdict, row = keys.claim(now, ask.account, ask.key, str(ask.cents))
        if verdict is not Verdict.RUNNING and not (verdict is Verdict.MISMATCH and not row.finished):
            break
        yield WAITS  # whatever it asks for: PostgreSQL does not show a row that is not committed
    if verdict is Verdict.MISMATCH:
        return 422, False
    if verdict is Verdict.REPLAY:
        return row.answer or 0, True
    try:
        yield "claimed"
        yield "charged"
        yield "saved"
    except GeneratorExit:
        keys.roll_back(row)
        raise
    books.charges.append(row.name)
    row.answer = 201
    return 201, False


def asked(books: Books, name: str, fate: str = "ok") -> Generator[str, bool | None, int]:
    """Ask the provider: its status, or 504 for an answer that gets lost."""
    heard = yield PROVIDER
    told = books.charge(name, fate)
    return 504 if heard is False else told


def pay_external_twin(keys: Keys, books: Books, now: float, ask: Ask, lease: float = 30.0) -> Twin:
    """Recovery points: a duplicate is told 409, and what was reached stays reached."""
    yield "begin"
    verdict, row = keys.claim(now, ask.account, ask.key, str(ask.cents))
    yield "after-claim"
    if verdict is Verdict.MISMATCH:
        return 422, False
    if row.answer is not None:
        return row.answer, True
    token = keys.lease(now, row, lease)
    if token is None:
        return 409, False
    yield "after-lease"
    if row.point == "started":
        told = yield from asked(books, row.name, ask.fate)
        if told == 402:
            return (402, False) if keys.finish(row, token, 402) else (409, False)
        if told != 201:
            keys.free(row, token)
            return told, False
        yield "after-charge"
        if not keys.write(row, token, "charged"):
            return 409, False
        yield "after-charged"
    if not keys.may_write(row, token):
        return 409, False
    yield "before-commit"
    if not keys.finish(row, token, 201):  # PostgreSQL has the row locked here; a model that locks nothing asks again
        return 409, False
    books.charges.append(row.name)
    books.receipts.append(row.name)
    yield "after-commit"
    return 201, False
