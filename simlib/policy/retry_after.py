"""The server's hint how long to stay away: the Retry-After header."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_SECONDS = re.compile(r"[0-9]+")
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTH = f"(?P<month>{'|'.join(MONTHS)})"
_TIME = r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9]|60)"
_DATES = (
    re.compile(rf"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),  # the form to send
    re.compile(rf"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),  # RFC 850
    re.compile(rf"{_DAY} {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),  # as C's asctime writes it
)


def parse_retry_after(value: str | None, now: datetime | None) -> float | None:
    """Seconds to wait, from 0 up; None where the header gives no hint one can use.

    The value is whole seconds or an HTTP date in any of RFC 9110's three forms, all of them UTC; `now` is an aware
    datetime, and where it is None a date is no hint. A date in the past means now: 0. Anything else (a sign, a
    fraction, a unit, prose) is no hint, rather than a guess. Seconds beyond any float are `inf`. Raises ValueError
    for a `now` without a time zone. Source: RFC 9110, 10.2.3 and 5.6.7.
    """
    if now is not None and now.utcoffset() is None:
        raise ValueError(f"now is {now!r}, without a time zone; it takes an aware datetime, such as datetime.now(UTC).")
    text = (value or "").strip(" \t")
    if _SECONDS.fullmatch(text):
        return float(text)
    if now is None:
        return None
    date = _date(text, now.astimezone(UTC).year)
    return None if date is None else max(0.0, (date - now).total_seconds())


def _date(text: str, this_year: int) -> datetime | None:
    found = next((match for form in _DATES if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    year = int(found["year"])
    if len(found["year"]) == 2:  # the year with these digits that is at most 50 years ahead (RFC 9110, 5.6.7)
        year = this_year - 49 + (year - this_year + 49) % 100
    try:
        day = datetime(year, 1 + MONTHS.index(found["month"]), int(found["day"]), tzinfo=UTC)
        return day + timedelta(hours=int(found["hour"]), minutes=int(found["minute"]), seconds=int(found["second"]))
    except (ValueError, OverflowError):  # the 31st of February; a leap second at the end of the year 9999
        return None
