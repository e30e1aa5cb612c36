"""Whose request it is: the account that a bearer token stands for."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

LESSON_TOKENS = {"token-of-account-1": 1, "token-of-account-2": 2}
"""For lessons on loopback. A service hands its own tokens in."""


class Accounts:
    """The accounts and their tokens. Only hashes are held, and every one is compared, in constant time."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self._known = [(_hash(token), account) for token, account in tokens.items()]

    def of(self, authorization: str | None) -> int | None:
        """The account that an Authorization header stands for; None for none, whatever is wrong with it."""
        scheme, _, token = (authorization or "").partition(" ")
        shown = _hash(token.strip())
        found: int | None = None
        for known, account in self._known:
            if hmac.compare_digest(known, shown):
                found = account
        return found if scheme.lower() == "bearer" else None


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
