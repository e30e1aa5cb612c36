"""The event log that both worlds write, and the SQL over it.

A simulated run and a real one record the same rows, so one picture, one count and one invariant serve both.

======== ============ ====================================================================================
column   type         meaning
======== ============ ====================================================================================
time     double, s    seconds since the run began
actor    text         who did it: the lane it is drawn on (`phone`, `server`, `database`, ...)
event    text         what happened: one of `EVENTS`
request  bigint       the intent it belongs to (one purchase, one message), counted from 0; null if none
key      text         the idempotency key it carried; null if none
attempt  smallint     which try of that request, from 1; 0 where tries make no sense
peer     text         the other end: whom a message goes to, or came from; null if none
status   text         the answer (`201`), the reason (`deadline`), or which message was lost (`reply`)
value    double       a quantity: seconds waited, cents charged, a balance; null if none
======== ============ ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simlib import arrow
from simlib.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

Column = npt.NDArray[Any]

EVENTS: dict[str, str] = {
    "send": "a try leaves its sender for `peer`",
    "lose": "a message vanishes on the way to `peer`; status says `request` or `reply`",
    "arrive": "a request reaches the actor, from `peer`",
    "claim": "a key is new: the actor now owns it",
    "wait": "a duplicate waits for the one that holds its key",
    "effect": "the work happens: the thing that must not happen twice; value is its size",
    "undo": "an effect is taken back: a refund; value is its size",
    "save": "the answer is kept beside its key",
    "replay": "a saved answer is served again instead of the work",
    "refuse": "a request is turned away; status says with which answer",
    "reply": "an answer leaves the actor for `peer`",
    "receive": "an answer reaches the actor, from `peer`",
    "timeout": "the actor stops waiting for this try's answer",
    "backoff": "the actor waits `value` seconds before its next try",
    "give_up": "the actor stops trying; status says why",
    "crash": "the actor dies; what it had not committed is gone",
    "lease": "the actor takes a permission that ends by itself after `value` seconds",
    "take_over": "the actor takes a lease that had run out on `peer`",
    "fence": "a late write of an old lease holder is refused",
    "copy": "a message is duplicated, or a row is replicated, towards `peer`",
    "expire": "a key, lease or message outlives its time and goes",
    "publish": "a message is handed to the broker",
    "deliver": "the broker hands a message to `peer`",
    "ack": "a consumer confirms a message",
    "nack": "a consumer hands a message back",
    "redeliver": "the broker hands out a message again",
    "skip": "a duplicate is recognised and left alone",
    "open": "a breaker opens, or a fault begins",
    "close": "a breaker closes, or a fault ends",
    "probe": "a half-open breaker lets one call through",
}

INVARIANTS: dict[str, str] = {
    "at most one charge per key": (
        "select count(*) = 0 from (select account_id, key from charges where key is not null "
        "group by account_id, key having count(*) > 1) as twice"
    ),
    "at most one charge per intent": (
        "select count(*) = 0 from (select intent from charges where intent is not null "
        "group by intent having count(*) > 1) as twice"
    ),
    "every charge has its key": "select count(*) = 0 from charges where key is null",
}
"""Name to one SQL text that answers true where the promise holds.

DuckDB runs it over a trace (where `charges` is a view of the effects), PostgreSQL over the lesson's tables.
"""

NONE = -1  # the code of "no request", "no key"
WIDTH = 6  # entries a row takes in `Recorder.rows`
NAN = float("nan")


class Recorder:
    """The log while a run writes it: one flat list, six entries a row.

    Hot code asks once for a `kind` (actor, event, peer and status as one number) and then extends `rows`
    with `(time, kind, request, attempt, key, value)`; everybody else calls `add`.
    Key codes are any integers; `key_name` turns one into text when a trace is read.
    """

    __slots__ = ("_keys", "_kinds", "key_name", "rows")

    def __init__(self, key_name: Callable[[int], str] | None = None) -> None:
        self.rows: list[Any] = []
        self._kinds: dict[tuple[str, str, str, str], int] = {}
        self._keys: dict[str, int] = {}
        self.key_name = key_name

    def kind(self, actor: str, event: str, peer: str = "", status: str = "") -> int:
        """The number that stands for this combination in `rows`; ValueError for an event not in `EVENTS`."""
        if event not in EVENTS:
            raise ValueError(f"{event!r} is not an event; the events are {', '.join(EVENTS)}.")
        return self._kinds.setdefault((actor, event, peer, status), len(self._kinds))

    def key(self, text: str | None) -> int:
        """The code of a key given as text."""
        return NONE if text is None else self._keys.setdefault(text, len(self._keys))

    def add(
        self,
        time: float,
        actor: str,
        event: str,
        *,
        request: int = NONE,
        key: str | None = None,
        attempt: int = 0,
        peer: str = "",
        status: str = "",
        value: float = NAN,
    ) -> None:
        """Record one event; times are seconds."""
        kind = self.kind(actor, event, peer, str(status))
        self.rows.extend((time, kind, request, attempt, self.key(key), value))

    def freeze(self) -> Trace:
        """What has been recorded so far, as columns in order of time (equal times keep their order)."""
        rows = self.rows
        time = np.array(rows[0::WIDTH], dtype=np.float64)
        columns = {
            "time": time,
            "kind": np.array(rows[1::WIDTH], dtype=np.int32),
            "request": np.array(rows[2::WIDTH], dtype=np.int64),
            "attempt": np.array(rows[3::WIDTH], dtype=np.int16),
            "key": np.array(rows[4::WIDTH], dtype=np.int64),
            "value": np.array(rows[5::WIDTH], dtype=np.float64),
        }
        if len(time) and np.any(np.diff(time) < 0):
            order = np.argsort(time, kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
        names = list(self._keys)
        return Trace(columns, tuple(self._kinds), self.key_name or names.__getitem__)


class Trace:
    """A finished log. Columns are made when first asked for; `sql` is for people, `count` for speed."""

    def __init__(
        self,
        columns: dict[str, Column],
        kinds: Sequence[tuple[str, str, str, str]],
        key_name: Callable[[int], str],
    ) -> None:
        self._columns = columns
        self._kinds = tuple(kinds)
        self._key_name = key_name

    def __len__(self) -> int:
        return len(self._columns["time"])

    def __repr__(self) -> str:
        return f"Trace of {len(self):,} events"

    @property
    def kinds(self) -> tuple[tuple[str, str, str, str], ...]:
        """The combinations (actor, event, peer, status) that `column("kind")` counts."""
        return self._kinds

    def column(self, name: str) -> Column:
        """A raw column: time, kind, request, attempt, key (codes, -1 for none) or value (nan for none)."""
        return self._columns[name]

    def key_name(self, code: int) -> str | None:
        """The text of a key's code; None for no key."""
        return None if code == NONE else self._key_name(code)

    def where(self, *events: str, actor: str | None = None, status: str | None = None) -> Column:
        """A mask of the rows of these events (of one actor, with one status)."""
        chosen = [
            i
            for i, (a, e, _, s) in enumerate(self._kinds)
            if e in events and actor in (None, a) and status in (None, s)
        ]
        return np.isin(self._columns["kind"], chosen)

    def count(self, *events: str, actor: str | None = None, status: str | None = None) -> int:
        """How many rows `where` marks."""
        return int(np.count_nonzero(self.where(*events, actor=actor, status=status)))

    def to_arrow(self) -> pa.Table:
        """The trace as an Arrow table with the columns of this module's table, names dictionary-encoded."""
        return self._arrow

    @cached_property
    def _arrow(self) -> pa.Table:
        return arrow.events(self._columns, self._kinds, self.key_name)

    def sql(self, text: str) -> Table:
        """Run SQL (DuckDB's dialect) over the tables `events` and `charges`; returns a `Table`.

        `charges` holds one row an effect: intent, account_id, key, amount_cents, time.
        """
        return arrow.query(text, tables={"events": self._arrow})

    def holds(self, invariant: str) -> bool:
        """Whether an invariant (a name in `INVARIANTS`, or SQL giving one true or false) holds of this trace."""
        return bool(self.sql(INVARIANTS.get(invariant, invariant)).scalar())

    def write(self, path: str | Path) -> None:
        """Write the trace as Parquet: the columns of this module's table, zstd-compressed."""
        arrow.write(self._arrow, path)

    @classmethod
    def read(cls, path: str | Path) -> Trace:
        """The trace that `write` wrote."""
        return cls.from_arrow(arrow.read(path))

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Trace:
        """A trace from an Arrow table with these columns; the way back from `to_arrow`."""
        recorder = Recorder()
        for time, actor, event, request, key, attempt, peer, status, value in arrow.rows(table):
            recorder.add(
                time,
                actor,
                event,
                request=NONE if request is None else request,
                key=key,
                attempt=attempt,
                peer=peer or "",
                status=status or "",
                value=NAN if value is None else value,
            )
        return recorder.freeze()
