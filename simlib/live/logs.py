"""The log of the HTTP app: every line says which account, key and try it is about, without being asked to."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from simlib.live.tape import NOBODY, Try

log = logging.getLogger("simlib.live.http")

LONGEST = 80  # characters of a key that are shown: an unusable one may be of any length

_current: ContextVar[tuple[int | None, Try]] = ContextVar("current", default=(None, NOBODY))


class _Named(logging.Filter):
    """Puts account, key and try before the message, and on the record for handlers that write JSON."""

    def filter(self, record: logging.LogRecord) -> bool:
        account, about = _current.get()
        key = None if about.key is None else about.key[:LONGEST]
        record.account, record.key, record.attempt = account, key, about.attempt
        said = record.getMessage()
        record.msg, record.args = "account=%s key=%a attempt=%s %s", (account, key, about.attempt, said)
        return True


log.addFilter(_Named())


@contextmanager
def about_request(about: Try, account: int | None = None) -> Iterator[None]:
    """Every line logged inside, by whatever code, is about this request."""
    token = _current.set((account, about))
    try:
        yield
    finally:
        _current.reset(token)
