"""The rows of a key table, moment by moment: for stories in which two callers meet between claim and answer.

`KeyStore` is the one for crowds, where claim, effect and answer are a single moment. Here each of them is a moment of
its own, so that a caller may wait, die or come too late in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from simlib.policy.verdict import Verdict, verdict


@dataclass(eq=False)
class Row:
    """A key's row. `token` says whose the lease is, `until` when it ends; `answer` is there once it is finished."""

    name: str
    fingerprint: str
    since: float = 0.0
    point: str = "started"
    token: int = 0
    until: float = -inf
    answer: int | None = None

    @property
    def finished(self) -> bool:
        return self.answer is not None


class Keys:
    """A table of keys; each rule can be switched off, to see what it was for.

    `scoped`: a key belongs to its account. `compared`: a known key's request is compared with the first one's.
    `ends`: a lease ends by itself. `fenced`: a write names the lease it was made under. `keep`: seconds after which a
    finished key is forgotten.
    """

    def __init__(
        self, *, scoped: bool = True, compared: bool = True, ends: bool = True, fenced: bool = True, keep: float = inf
    ) -> None:
        self.rows: dict[str, Row] = {}
        self._scoped = scoped
        self._compared = compared
        self._ends = ends
        self._fenced = fenced
        self._keep = keep
        self._tokens = 0

    def find(self, now: float, account: int, key: str) -> Row | None:
        """The key's row, unless there is none or it has been kept for long enough."""
        row = self.rows.get(self._name(account, key))
        return None if row is not None and row.finished and now - row.since > self._keep else row

    def claim(self, now: float, account: int, key: str, fingerprint: str) -> tuple[Verdict, Row]:
        """Make the key's row if there is none; the verdict says what the request is, and the row is its key's."""
        fingerprint = fingerprint if self._compared else ""
        row = self.find(now, account, key)
        found = verdict(row, fingerprint)
        if row is None:
            name = self._name(account, key)
            row = self.rows[name] = Row(name, fingerprint, now)
        return found, row

    def roll_back(self, row: Row) -> None:
        """Take a claim back, as the end of a transaction that was not committed does."""
        del self.rows[row.name]

    def lease(self, now: float, row: Row, seconds: float) -> int | None:
        """Take the row's lease; its token, or None where another's has not ended yet."""
        if row.until > now:
            return None
        self._tokens += 1
        row.token = self._tokens
        row.until = now + seconds if self._ends else inf
        return row.token

    def may_write(self, row: Row, token: int) -> bool:
        """Whether the lease is still the one with this token; without the fence nobody asks."""
        return not self._fenced or row.token == token

    def write(self, row: Row, token: int, point: str) -> bool:
        """Move the row on; False, and nothing written, if it is fenced and the lease is another's by now."""
        if not self.may_write(row, token):
            return False
        row.point = point
        return True

    def finish(self, row: Row, token: int, answer: int) -> bool:
        """Save the answer and give the lease back, under the same condition as `write`."""
        if not self.write(row, token, "done"):
            return False
        row.answer = answer
        self.free(row, token)
        return True

    def free(self, row: Row, token: int) -> None:
        """Give the lease back, if it is still one's own or if nobody looks."""
        if self.may_write(row, token):
            row.token, row.until = 0, -inf

    def _name(self, account: int, key: str) -> str:
        return f"{account}:{key}" if self._scoped else key
