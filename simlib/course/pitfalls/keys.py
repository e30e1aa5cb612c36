"""Pitfalls of the key itself: who makes it, for what, and who claims it."""

from __future__ import annotations

from typing import Any

from simlib.course.pitfalls.pair import Finding, Pitfall, broken, on_postgres, one, sound
from simlib.live.daily_keys import DAY, drop_days, make_days, pay_by_day
from simlib.live.forgetting import LONG_AGO
from simlib.live.one_transaction import pay
from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.five_cases import FiveCases
from simlib.views.looks import plural


def _attempts(per_attempt: bool) -> Finding:
    run = FiveCases(second="a retry, later", per_attempt=per_attempt).run()
    return Finding(f"{plural(run.counts['charges'], 'charge')} for one purchase", run.counts["charges"] == 1)


def _no_key(keys: bool) -> Finding:
    counts = DoubleTap(keys=keys, reply_loss=0.1, purchases=500).run().counts
    return Finding(f"{counts['duplicates']} duplicates in 500 purchases", counts["duplicates"] == 0)


def _intents(*keys: str) -> Any:
    def buy_twice(conn: Any) -> Finding:
        for key in keys:
            pay(conn, 1, key, 5000)
        charges = one(conn, "select count(*) from charges")
        return Finding(f"two purchases, {charges} paid for", charges == 2)

    return on_postgres(buy_twice)


def _body(kind: str) -> Any:
    saved = '{"charge_id": 7, "amount": 1e2}'

    def read_back(conn: Any) -> Finding:
        again = one(conn, f"select (%s::{kind})::text", saved)
        return Finding(f"{saved} comes back as {again}", again == saved)

    return on_postgres(read_back)


def _refusals(remembered: bool) -> Any:
    """A handler that refuses a bad amount; one of them saves its no under the key."""

    def mend(conn: Any) -> Finding:
        kept: dict[str, int] = {}

        def handler(key: str, cents: int) -> int:
            if key in kept:
                return kept[key]
            try:
                code = pay(conn, 1, key, cents).code
            except ValueError:
                code = 400
                if not remembered:
                    return code
            kept[key] = code
            return code

        first, second = handler("k", -5), handler("k", 500)
        return Finding(f"first {first}, mended and sent again {second}", second == 201)

    return on_postgres(mend)


def _window(days_later: int) -> Any:
    def come_back(conn: Any) -> Finding:
        make_days(conn, LONG_AGO, days_later + 2)
        pay_by_day(conn, 1, "k", 5000, today=LONG_AGO)
        drop_days(conn, LONG_AGO + days_later * DAY)
        pay_by_day(conn, 1, "k", 5000, today=LONG_AGO + days_later * DAY)
        charges = one(conn, "select count(*) from charges")
        return Finding(f"a retry {plural(days_later, 'day')} later: {plural(charges, 'charge')}", charges == 1)

    return on_postgres(come_back)


KEYS = (
    Pitfall(
        "no key at all",
        "00",
        "retry a payment as it is",
        "give it a key",
        lambda: _no_key(False),
        lambda: _no_key(True),
    ),
    Pitfall(
        "key per attempt",
        "04",
        "make a new key in the retry loop",
        "make the key once, before the loop",
        lambda: _attempts(True),
        lambda: _attempts(False),
    ),
    Pitfall(
        "key from the content",
        "04",
        "hash the request to get the key",
        "a random key for each intent",
        broken("key_from_the_content"),
        _intents("monday", "tuesday"),
    ),
    Pitfall(
        "one key for two intents",
        "04",
        "keep the key when the customer buys again",
        "a new intent gets a new key, even if it looks the same",
        _intents("cart-7", "cart-7"),
        _intents("cart-7", "cart-8"),
    ),
    Pitfall(
        "check, then insert",
        "05",
        "select the key, and work if it is not there",
        "insert it, and let the index decide",
        broken("check_then_insert"),
        sound(0),
    ),
    Pitfall(
        "claim in a transaction of its own",
        "05",
        "commit the claim, then work",
        "claim, work and answer in one transaction",
        broken("claim_then_work"),
        sound(0),
    ),
    Pitfall(
        "lock released before the commit",
        "05",
        "an advisory lock around the work, not around its commit",
        "let the row's own lock hold until the commit",
        broken("lock_released_before_commit"),
        sound(0),
    ),
    Pitfall(
        "upsert that works again",
        "05",
        "ON CONFLICT DO UPDATE, then the work",
        "ON CONFLICT DO NOTHING, and look whether a row went in",
        broken("upsert_that_works_again"),
        sound(0),
    ),
    Pitfall(
        "serializable without a retry",
        "05",
        "choose SERIALIZABLE and call it done",
        "run the transaction again on 40001",
        broken("serializable_without_a_retry"),
        sound(0),
    ),
    Pitfall(
        "key not scoped to the account",
        "04",
        "a unique index on the key alone",
        "the account is part of the key",
        broken("key_not_scoped"),
        sound(0),
    ),
    Pitfall(
        "request not compared",
        "04",
        "answer a known key whatever came with it",
        "keep a fingerprint of the request; 422 if it differs",
        broken("fingerprint_not_checked"),
        sound(1),
    ),
    Pitfall(
        "jsonb for the saved answer",
        "04",
        "save the body as jsonb",
        "save the bytes as they went out, as text",
        _body("jsonb"),
        _body("text"),
    ),
    Pitfall(
        "validation errors saved",
        "04",
        "save a 400 under the key",
        "save nothing of what was refused before any work",
        _refusals(True),
        _refusals(False),
    ),
    Pitfall(
        "keys kept too short",
        "10",
        "forget keys before the last retry",
        "a window longer than any client retries",
        _window(2),
        _window(1),
    ),
)
