"""How each event of a trace looks and what it is called, as data: the grammar of every sequence diagram.

Words are templates: `{n}` counts the effects of one intent, `{status}`, `{peer}`, `{key}` and `{amount}` are
the row's own, `{seconds}` is its value read as a duration, `{which}` tells intents apart where there are
several. What a row does not have is left out. A story may use its own words: `words={"effect": "shipment
{n}"}`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from simlib.trace import Trace


@dataclass(frozen=True)
class Look:
    """The mark, its ink and its words. `flies`: it leaves for its peer; `lands`: it ends a flight.

    `rank` says which mark stands for several events in one place at one moment; the higher one wins.
    """

    shape: str
    ink: str
    words: str
    dash: str = "solid"
    flies: bool = False
    lands: bool = False
    rank: int = 0


LOOKS: dict[str, Look] = {
    "send": Look("dot", "request", "pay {amount} {key} {which}", flies=True),
    "publish": Look("dot", "request", "publish {which}", flies=True),
    "deliver": Look("dot", "request", "deliver {which}", flies=True),
    "redeliver": Look("diamond", "request", "deliver again {which}", dash="dashed", flies=True),
    "reply": Look("", "good", "{status}", flies=True),
    "ack": Look("tick", "good", "ack", dash="dotted", flies=True),
    "nack": Look("bar", "bad", "nack {status}", dash="dotted", flies=True),
    "copy": Look("dot", "other", "copy {status}", dash="dashdot", flies=True),
    "arrive": Look("", "request", "request arrives", lands=True),
    "receive": Look("", "good", "answer {status} arrives", lands=True),
    "lose": Look("cross", "bad", "{status} lost", lands=True, rank=9),
    "claim": Look("tick", "text", "key is new", rank=2),
    "wait": Look("bar", "wait", "waits for the first", rank=3),
    "effect": Look("square", "good", "charge {n}", rank=8),
    "undo": Look("hollow", "good", "refund", rank=8),
    "save": Look("tick", "text", "answer saved", rank=1),
    "replay": Look("ring", "good", "key known: saved answer", rank=7),
    "refuse": Look("stop", "other", "refused: {status}", rank=6),
    "timeout": Look("bar", "wait", "no answer in time", rank=4),
    "backoff": Look("bar", "wait", "waits {seconds}, then tries again", rank=3),
    "give_up": Look("stop", "bad", "gives up: {status}", rank=6),
    "crash": Look("burst", "bad", "crashes {status}", rank=9),
    "lease": Look("hollow", "wait", "lease for {seconds}", rank=4),
    "take_over": Look("triangle", "other", "takes over from {peer}", rank=5),
    "fence": Look("stop", "other", "late write refused", rank=6),
    "expire": Look("hollow", "wait", "{status} expires", rank=4),
    "skip": Look("ring", "good", "known: skipped", rank=7),
    "open": Look("burst", "bad", "{status} opens", rank=5),
    "close": Look("tick", "good", "{status} closes", rank=5),
    "probe": Look("triangle", "request", "lets one through", rank=5),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One event of a trace, read out. `n` counts the effects of its intent so far; 0 for other events."""

    time: float
    actor: str
    event: str
    request: int
    attempt: int
    peer: str
    status: str
    key: str | None
    value: float
    n: int = 0

    @property
    def ok(self) -> bool:
        """Whether an answer is a good one; a row without a number as its status counts as good."""
        return not self.status[:1].isdigit() or self.status.startswith(("1", "2"))


def rows(trace: Trace, requests: Iterable[int] | None = None) -> list[Row]:
    """The trace's events in order of time, of some requests or of all."""
    at = np.arange(len(trace))
    if requests is not None:
        at = np.flatnonzero(np.isin(trace.column("request"), list(requests)))
    columns = [trace.column(name)[at].tolist() for name in ("time", "kind", "request", "attempt", "key", "value")]
    done: dict[int, int] = {}
    out: list[Row] = []
    for time, kind, request, attempt, key, value in zip(*columns, strict=True):
        actor, event, peer, status = trace.kinds[kind]
        n = 0
        if event == "effect":
            n = done[request] = done.get(request, 0) + 1
        out.append(Row(time, actor, event, request, attempt, peer, status, trace.key_name(key), value, n))
    return out


class Namer:
    """Says what a row is called, in a story's words; it knows the keys and amounts of the whole trace."""

    def __init__(self, rows: Iterable[Row], words: Mapping[str, str] | None = None) -> None:
        self._words = {event: look.words for event, look in LOOKS.items()} | dict(words or {})
        rows = list(rows)
        self._keys = short_keys({r.key for r in rows if r.key})
        self._several = len({r.request for r in rows if r.request >= 0}) > 1
        self._amounts = {r.request: r.value for r in rows if r.event == "effect"}

    @property
    def effect(self) -> str:
        """What one effect is called: `charge`."""
        return self._words["effect"].split("{")[0].strip() or "effect"

    def __call__(self, row: Row) -> str:
        cents = row.value if row.event not in ("backoff", "lease") else math.nan
        if math.isnan(cents):
            cents = self._amounts.get(row.request, math.nan)
        text = self._words[row.event].format(
            n=row.n,
            status=row.status,
            peer=row.peer,
            key=f"key {self._keys[row.key]}" if row.key else "",
            amount=amount(cents),
            seconds=seconds(row.value),
            which=f"#{row.request + 1}" if self._several and row.request >= 0 else "",
        )
        return re.sub(r"[:\s]+$|(?<=\s)\s+|\s+(?=,)|^\s+", "", text)


def seconds(value: float) -> str:
    """A duration as people say it: `20 ms`, `0.4 s`, `24 h`; nothing for nan."""
    if math.isnan(value):
        return ""
    if value != 0 and abs(value) < 0.1:
        return f"{value * 1000:.2g} ms"
    if abs(value) < 7200:
        return f"{value:.3g} s" if abs(value) < 1000 else f"{value:.0f} s"
    return f"{value / 3600:.3g} h"


def amount(cents: float) -> str:
    """Cents as euros: `€50`, `€12.50`; nothing for nan."""
    if math.isnan(cents):
        return ""
    return f"€{cents / 100:,.0f}" if cents % 100 == 0 else f"€{cents / 100:,.2f}"


def short_keys(keys: set[str]) -> dict[str, str]:
    """Each key by its shortest beginning, four characters or more, that tells it from the others."""
    for length in range(4, 12):
        if len({k[:length] for k in keys}) == len(keys):
            return {k: k if len(k) <= 6 else k[:length] for k in keys}
    return {k: k if len(k) <= 16 else k[:15] + "…" for k in keys}


def plural(count: float, noun: str) -> str:
    """`1 charge`, `2 charges`, `3 tries`."""
    ends = noun if count == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,.0f} {ends}"
