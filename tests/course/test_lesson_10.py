"""The exercises of lesson 10: what passes, and which story the rest is told."""

from __future__ import annotations

from typing import Any

from simlib.course.check import check


def gigabytes(writes: float, hours: float, row: float, drop: bool) -> float:
    return writes * 3600 * (hours + (24 if drop else 0)) * row / 1e9


def receive(conn: Any, event_id: str, payload: Any) -> None:
    with conn.transaction():
        new = conn.execute(
            "insert into processed_messages (consumer, message_id) values ('mine', %s) on conflict do nothing",
            [event_id],
        ).rowcount
        if new:
            conn.execute(
                "update wallets set balance_cents = balance_cents + %s where id = %s",
                [payload["cents"], payload["wallet"]],
            )


NIGHTLY = """select not exists (select from charges where key is null or order_id is null)
and not exists (select from charges group by account_id, key having count(*) > 1)"""


def test_right_answers() -> None:
    for exercise, answer in (("10.1", gigabytes), ("10.2", receive), ("10.3", NIGHTLY)):
        result = check(exercise, answer)
        assert result.passed, result


def test_a_day_kept_too_short_is_told() -> None:
    says = check("10.1", lambda w, h, r, d: w * 3600 * h * r / 1e9).says
    assert "days dropped" in says
    assert "stays until" in says


def test_a_receiver_without_an_inbox_is_told() -> None:
    def add(conn: Any, event_id: str, payload: Any) -> None:
        conn.execute("update wallets set balance_cents = balance_cents + %s", [payload["cents"]])

    assert "balance of 1300" in check("10.2", add).says


def test_a_note_in_a_transaction_of_its_own_is_told_as_a_story() -> None:
    def note_first(conn: Any, event_id: str, payload: Any) -> None:
        new = conn.execute(
            "insert into processed_messages (consumer, message_id) values ('mine', %s) on conflict do nothing",
            [event_id],
        ).rowcount
        if new:
            conn.execute("update wallets set balance_cents = balance_cents + %s", [payload["cents"]])

    says = check("10.2", note_first).says
    assert "schedules go wrong" in says


def test_nightly_checks_that_miss_something_are_told_what() -> None:
    keys = "select not exists (select from charges group by account_id, key having count(*) > 1)"
    assert "a charge without an order" in check("10.3", keys).says
    unscoped = NIGHTLY.replace("account_id, key", "key")
    assert "two accounts" in check("10.3", unscoped).says
    assert "PostgreSQL says" in check("10.3", "select wrong").says
    assert "in quotes" in check("10.3", 5).says


def test_an_unanswered_exercise_waits() -> None:
    assert "waiting" in check("10.1", ...).says
