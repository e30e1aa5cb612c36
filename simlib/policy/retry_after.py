"""The server's hint how long to stay away: the Retry-After header."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_DATE = re.compile(r"(?:[A-Z][a-z]+,? .* GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4})", re.ASCII)


def parse_retry_after(value: str | None, now: datetime | None) -> float | None:
    """Seconds to wait, from 0 up; None where the header gives no hint one can use.

    The value is whole seconds or an HTTP date in any of RFC 9110's three forms, all of them UTC; `now` is an aware
    datetime, and where it is None a date is no hint. A date in the past means now: 0. Anything else (a sign, a
    fraction, a unit, prose) is no hint, rather than a guess. Source: RFC 9110, 10.2.3 and 5.6.7.
    """
    text = (value or "").strip(" \t")
    if _SECONDS.fullmatch(text):
        return float(text)
    if now is None or not _DATE.fullmatch(text):
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return max(0.0, (date - now).total_seconds())
