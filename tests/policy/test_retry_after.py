"""Retry-After: a number of seconds, a date, or no hint at all; never a negative wait, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.retry_after import parse_retry_after

NOON = datetime(2026, 10, 21, 7, 27, 30, tzinfo=UTC)
DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2),
        ("0", 0),
        (" 2 ", 2),
        ("60", 60),
        ("007", 7),
        ("99999999999999999999", 1e20),
        ("9" * 5000, float("inf")),
    ],
)
def test_whole_seconds(header: str, seconds: float) -> None:
    assert parse_retry_after(header, None) == seconds


@pytest.mark.parametrize(
    ("header", "now", "seconds"),
    [
        (DATE, NOON, 30),
        (DATE, NOON + timedelta(seconds=90), 0),
        ("Wednesday, 21-Oct-26 07:28:00 GMT", NOON + timedelta(seconds=29), 1),
        ("Sun Mar  1 12:00:30 2026", datetime(2026, 3, 1, 12, tzinfo=UTC), 30),
        (DATE, NOON.astimezone(timezone(timedelta(hours=-5))), 30),
        ("Wed, 21 Oct 2026 07:27:60 GMT", NOON, 30),
        ("Saturday, 21-Oct-75 07:27:30 GMT", NOON, (datetime(2075, 10, 21) - datetime(2026, 10, 21)).days * 86400),
        ("Friday, 21-Oct-77 07:27:30 GMT", NOON, 0),
    ],
    ids=[
        "in the future",
        "in the past means now",
        "with the short year",
        "as C writes it, UTC",
        "now in another zone",
        "a leap second",
        "49 years ahead",
        "51 years ahead is long ago",
    ],
)
def test_a_date_is_utc_in_each_of_its_three_forms(header: str, now: datetime, seconds: float) -> None:
    assert parse_retry_after(header, now) == seconds


NO_HINT = ["-5", "+5", "1.5", "soon", "1e3", "1m0s", "٣", "2,3", "0x10", "NaN", "2026-10-21T07:28:00Z"]
NO_DATE = [
    "Wed, 99 Oct 2026 07:28:00 GMT",
    "Wed, 21 Oct 2026 07:28:00",
    "Wed, 21 Oct 2026 07:28:00 +0200",
    "Wed, 21 Oct 2026 07:28:00 +0200 GMT",
    "Wed, 21 Oct 2026 25:28:00 GMT",
    "21 Oct 2026 07:28:00 GMT",
    "wed, 21 oct 2026 07:28:00 gmt",
    "Fri, 31 Dec 9999 23:59:60 GMT",
]


@pytest.mark.parametrize("header", [None, "", "   ", *NO_HINT, *NO_DATE])
def test_anything_else_is_no_hint(header: str | None) -> None:
    assert parse_retry_after(header, NOON) is None


def test_without_a_clock_a_date_is_no_hint() -> None:
    assert parse_retry_after(DATE, None) is None


def test_a_now_without_a_zone_is_refused_whatever_the_header() -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        parse_retry_after("2", datetime(2026, 10, 21))


@pytest.mark.parametrize(
    "written",
    [partial(format_datetime, usegmt=True), lambda date: f"{date:%A, %d-%b-%y %H:%M:%S GMT}", datetime.ctime],
    ids=["RFC 9110", "RFC 850", "asctime"],
)
@given(ahead=st.integers(-(10**9), 10**9))
def test_a_date_comes_back_as_the_seconds_it_was_made_from(written: Callable[[datetime], str], ahead: int) -> None:
    """Within 31 years either way, in every form, whole seconds survive."""
    assert parse_retry_after(written(NOON + timedelta(seconds=ahead)), NOON) == max(0, ahead)


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{2,6} [0-9:]{4,8} GMT"))
def test_no_text_crashes_it_or_gives_a_negative_wait(header: str) -> None:
    wait = parse_retry_after(header, NOON)
    assert wait is None or wait >= 0.0
