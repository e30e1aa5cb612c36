"""The museum on the simulated key store: each broken version that needs nothing of PostgreSQL's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simlib.policy.verdict import Verdict
from simlib.world.keys import Keys, Row
from tests.live.twins import Ask, Books, Twin, asked, pay_external_twin, pay_twin

LEASE = 30.0


@dataclass
class World:
    """What a schedule starts with: the key table, the books, another store, a broker, a courier, two wallets."""

    keys: Keys
    books: Books = field(default_factory=Books)
    marks: set[str] = field(default_factory=set)
    wallets: dict[int, int] = field(default_factory=lambda: {1: 0, 2: 0})
    acked: bool = False
    parcels: int = 0
    serial: itertools.count[int] = field(default_factory=itertools.count)


@dataclass(frozen=True)
class Piece:
    """A twin, what its sessions ask for, the trouble it is to be seen in, and what must hold in the end."""

    twin: Callable[[World, Any], Twin]
    asks: Sequence[Any]
    holds: Callable[[World, list[int]], bool]
    crashes: int = 0
    losses: int = 0
    expiries: int = 0
    rules: dict[str, bool] = field(default_factory=dict)

    def world(self) -> World:
        return World(Keys(**self.rules))


def one_charge(world: World, codes: list[int]) -> bool:
    return len(world.books.charges) == 1


def one_everywhere(world: World, codes: list[int]) -> bool:
    books = world.books
    return len(books.charges) == len(books.receipts) == len(books.provider) == 1


def one_is_told_422(world: World, codes: list[int]) -> bool:
    return sorted(codes) == [201, 422]


def credited(world: World, codes: list[int]) -> bool:
    return world.wallets[1] == 500


def always(world: World, codes: list[int]) -> bool:
    return True


# The right ones, and those that only a rule is missing of.


def pay(world: World, ask: Ask) -> Twin:
    return pay_twin(world.keys, world.books, 0.0, ask)


def pay_external(world: World, ask: Ask) -> Twin:
    return pay_external_twin(world.keys, world.books, 0.0, ask, LEASE)


def key_per_attempt(world: World, ask: Ask) -> Twin:
    return pay(world, Ask(ask.account, f"k{next(world.serial)}", ask.cents))


def key_from_the_content(world: World, ask: Ask) -> Twin:
    return pay(world, Ask(ask.account, str(ask.cents), ask.cents))


# Claims.


def check_then_insert(world: World, ask: Ask) -> Twin:
    name = f"{ask.account}:{ask.key}"
    yield "looked"
    if world.keys.find(0.0, ask.account, ask.key):
        return 201, True
    yield "charged"
    yield "inserted"
    world.books.charges.append(name)
    _, row = world.keys.claim(0.0, ask.account, ask.key, str(ask.cents))
    row.answer = 201
    return 201, False


def claim_then_work(world: World, ask: Ask) -> Twin:
    yield "claim"
    verdict, row = world.keys.claim(0.0, ask.account, ask.key, str(ask.cents))
    yield "work"
    if verdict is not Verdict.NEW:
        return row.answer or 409, True
    world.books.charges.append(row.name)
    row.answer = 201
    return 201, False


# Leases.


def _leased(world: World, ask: Ask, **wrong: Any) -> Twin:
    """The way through a provider in one phase, with what the broken versions do otherwise."""
    keys = world.keys
    yield "start"
    verdict, row = keys.claim(0.0, ask.account, ask.key, str(ask.cents))
    yield "read"
    if verdict is Verdict.MISMATCH:
        return 422, False
    if row.answer is not None:
        return row.answer, True
    yield "take"
    token = keys.lease(0.0, row, LEASE)
    if token is None:
        return 409, False
    return (yield from _charge_and_end(world, row, token, **wrong))


def _charge_and_end(
    world: World,
    row: Row,
    token: int,
    *,
    frees: bool = True,
    saves: int = 0,
    parcel: bool = False,
    fenced: bool = True,
) -> Twin:
    """Ask the provider and write down what came of it, under this lease."""
    keys, books = world.keys, world.books
    told = yield from asked(books, row.name)
    if told != 201:
        yield "error"
        if saves:
            keys.finish(row, token, saves)
            return saves, False
        if frees:
            keys.free(row, token)
        return told, False
    if parcel:
        yield "courier"
        world.parcels += 1
    yield "end"
    if not keys.finish(row, token if fenced else row.token, 201):
        return 409, False
    books.charges.append(row.name)
    books.receipts.append(row.name)
    return 201, False


def lease_without_a_token(world: World, ask: Ask) -> Twin:
    return _leased(world, ask)


def lease_kept_on_error(world: World, ask: Ask) -> Twin:
    return _leased(world, ask, frees=False)


def last_write_not_fenced(world: World, ask: Ask) -> Twin:
    return _leased(world, ask, fenced=False)


def two_calls_in_one_phase(world: World, ask: Ask) -> Twin:
    return _leased(world, ask, parcel=True)


def saved_500(world: World, ask: Ask) -> Twin:
    return _leased(world, ask, saves=500)


def fingerprint_after_the_lease(world: World, ask: Ask) -> Twin:
    keys = world.keys
    yield "start"
    _, row = keys.claim(0.0, ask.account, ask.key, str(ask.cents))
    yield "take"
    token = keys.lease(0.0, row, LEASE)
    yield "read"
    if row.fingerprint != str(ask.cents):
        return 422, False
    if token is None:
        return (row.answer, True) if row.answer is not None else (409, False)
    if row.answer is not None:
        keys.free(row, token)
        return row.answer, True
    return (yield from _charge_and_end(world, row, token))


def replay_takes_the_lease(world: World, ask: Ask) -> Twin:
    keys = world.keys
    yield "start"
    _, row = keys.claim(0.0, ask.account, ask.key, str(ask.cents))
    yield "take"
    token = keys.lease(0.0, row, LEASE)
    if token is None:
        return 409, False
    if row.answer is not None:
        return row.answer, True
    return (yield from _charge_and_end(world, row, token))


# Consumers.


def mark_elsewhere_before(world: World, ask: str) -> Twin:
    yield "mark"
    new = ask not in world.marks
    world.marks.add(ask)
    yield "effect"
    if new:
        world.wallets[1] += 500
    return 0, False


def mark_elsewhere_after(world: World, ask: str) -> Twin:
    yield "look"
    new = ask not in world.marks
    yield "effect"
    if new:
        world.wallets[1] += 500
    yield "mark"
    world.marks.add(ask)
    return 0, False


def _consume(world: World, ask: str, *, early: bool) -> Twin:
    yield "take"
    if world.acked:
        return 0, False
    if early:
        yield "ack"
        world.acked = True
    yield "commit"
    if ask not in world.marks:
        world.marks.add(ask)
        world.wallets[1] += 500
    yield "ack"
    world.acked = True
    return 0, False


def ack_before_commit(world: World, ask: str) -> Twin:
    return _consume(world, ask, early=True)


def in_one_transaction(world: World, ask: str) -> Twin:
    return _consume(world, ask, early=False)


def inbox_by(name: Callable[[Any], str]) -> Callable[[World, Any], Twin]:
    """An inbox that knows a delivery (consumer, wallet, number, event) by this name."""

    def twin(world: World, ask: Any) -> Twin:
        yield "commit"
        if name(ask) not in world.marks:
            world.marks.add(name(ask))
            world.wallets[ask[1]] += 500
        return 0, False

    return twin


TWICE, ONCE = [Ask()] * 2, [Ask()]
MIXED = [Ask(), Ask(cents=7000)]
MESSAGE = ["evt-1"]

BROKEN: dict[str, Piece] = {
    "check_then_insert": Piece(check_then_insert, TWICE, one_charge),
    "claim_then_work": Piece(claim_then_work, TWICE, one_charge, crashes=1),
    "key_not_scoped": Piece(
        pay, [Ask(), Ask(account=2)], lambda world, _: len(world.books.charges) == 2, rules={"scoped": False}
    ),
    "fingerprint_not_checked": Piece(pay, MIXED, one_is_told_422, rules={"compared": False}),
    "key_per_attempt": Piece(key_per_attempt, ONCE, one_charge, losses=1),
    "key_from_the_content": Piece(
        key_from_the_content, [Ask(key="Monday"), Ask(key="Tuesday")], lambda world, _: len(world.books.charges) == 2
    ),
    "fingerprint_after_the_lease": Piece(fingerprint_after_the_lease, MIXED, always, losses=1),
    "lease_without_a_token": Piece(lease_without_a_token, TWICE, one_everywhere, expiries=1, rules={"fenced": False}),
    "lease_kept_on_error": Piece(lease_kept_on_error, ONCE, one_everywhere, losses=1),
    "last_write_not_fenced": Piece(last_write_not_fenced, TWICE, one_everywhere, expiries=1),
    "two_calls_in_one_phase": Piece(two_calls_in_one_phase, ONCE, lambda world, _: world.parcels == 1, crashes=1),
    "saved_500": Piece(saved_500, ONCE, always, losses=1),
    "replay_takes_the_lease": Piece(replay_takes_the_lease, TWICE, one_everywhere),
    "mark_elsewhere_before": Piece(mark_elsewhere_before, MESSAGE, credited, crashes=1),
    "mark_elsewhere_after": Piece(mark_elsewhere_after, MESSAGE, credited, crashes=1),
    "ack_before_commit": Piece(ack_before_commit, MESSAGE, credited, crashes=1),
    "inbox_without_the_consumer": Piece(
        inbox_by(lambda d: d[3]),
        [("mail", 1, 1, "evt-1"), ("points", 2, 1, "evt-1")],
        lambda world, _: set(world.wallets.values()) == {500},
    ),
    "brokers_id": Piece(
        inbox_by(lambda d: f"{d[0]} {d[2]}"), [("wallet", 1, 1, "evt-1"), ("wallet", 1, 2, "evt-1")], credited
    ),
}
"""The broken ones by the name they have in the museum."""

RIGHT: list[Piece] = [
    Piece(pay, TWICE, one_charge, crashes=1),
    Piece(pay, MIXED, one_is_told_422, losses=1),
    Piece(pay_external, TWICE, one_everywhere, expiries=1),
    Piece(pay_external, TWICE, one_everywhere, losses=1),
    Piece(in_one_transaction, MESSAGE * 2, credited, crashes=1),
]
"""The right ones, in the same troubles as there."""
