"""What can go wrong before a query runs, told in one sentence."""

from __future__ import annotations


class PostgresError(RuntimeError):
    """There is no PostgreSQL to be had; the message says what is in the way and how to mend it."""
