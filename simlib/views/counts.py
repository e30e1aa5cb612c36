"""Counts as bars with their numbers, and gaps between events as a histogram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from simlib.views import theme
from simlib.views.axes import LEFT, TOP, Frame, number, round_top
from simlib.views.looks import seconds
from simlib.views.scene import Box, Item, Line, Scene, Text

ROW = 34  # height of one bar with the air around it
THICK = 18


def bars(
    counts: Mapping[str, float],
    *,
    top: float | None = None,
    inks: Mapping[str, str] | None = None,
    width: float = theme.PANEL,
) -> Scene:
    """One horizontal bar for each count, its number at its end.

    `top` is the count that fills the width (give the same to pictures side by side); `inks` says which bars
    are drawn in another ink than that of requests, for example `{"duplicates": "bad"}`.
    """
    inks = inks or {}
    names = max((theme.width(name, theme.LABEL) for name in counts), default=0) + 12
    numbers = max((theme.width(number(v), theme.TITLE, bold=True) for v in counts.values()), default=0) + 14
    full = top or max(counts.values(), default=0) or 1
    room = width - names - numbers
    items: list[Item] = [Line(names, 4, names, 8 + ROW * len(counts), "muted", 1)]
    for i, (name, value) in enumerate(counts.items()):
        y = 8 + ROW * i + ROW / 2
        long = room * max(0.0, min(1.0, value / full))
        ink = inks.get(name, "request")
        items.append(Text(names - 8, y + 4.5, name, "muted", theme.LABEL, "end"))
        items.append(Box(names, y - THICK / 2, long, THICK, ink))
        items.append(Text(names + long + 8, y + 5.5, number(value), ink if value else "muted", theme.TITLE, bold=True))
    alt = f"Bars: {', '.join(f'{name} {number(v)}' for name, v in counts.items())}."
    return Scene(width, 12 + ROW * len(counts), tuple(items), alt)


def histogram(
    gaps: Sequence[float],
    *,
    marks: Mapping[str, float] | None = None,
    label: str = "gap between two effects of one request",
    bins: int = 36,
    low: float = 0.0001,
    high: float = 100.0,
    top: float | None = None,
    ink: str = "request",
    width: float = theme.PANEL,
    height: float = 260,
) -> Scene:
    """How often which gap was seen, on a logarithmic axis from `low` to `high` seconds.

    `marks` names times to tell the gaps by, such as `{"timeout": 2.0}`: retries pile up there, races near 0.
    """
    edges = [low * (high / low) ** (i / bins) for i in range(bins + 1)]
    tally = [0] * bins
    for gap in gaps:
        share = math.log(min(max(float(gap), low), high * 0.9999) / low) / math.log(high / low)
        tally[min(bins - 1, int(share * bins))] += 1
    frame = Frame(width, height, low, high, top or round_top(max(tally)), log=True)
    decades = [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    items = frame.items(label, "how often", decades, seconds)
    for count, (left, right) in zip(tally, pairwise(edges), strict=True):
        if count:
            x0, x1, y = frame.x(left), frame.x(right), frame.y(count)
            items.append(Box(x0 + 0.5, y, x1 - x0 - 1, frame.floor - y, ink))
    for words, at in (marks or {}).items():
        x = frame.x(at)
        items.append(Line(x, TOP - 4, x, frame.floor, "wait", 1.6, "dashed"))
        side = "end" if x > (LEFT + frame.right) / 2 else "start"
        items.append(Text(x - 6 if side == "end" else x + 6, TOP + 8, f"{words} {seconds(at)}", "wait", anchor=side))
    middle = sorted(float(g) for g in gaps)[len(gaps) // 2] if len(gaps) else math.nan
    told = f"{len(gaps):,} gaps, the middle one {seconds(middle)}" if len(gaps) else "no gaps"
    said = "".join(f", {words} at {seconds(at)}" for words, at in (marks or {}).items())
    return Scene(width, height, tuple(items), f"Histogram of the {label}: {told}{said}.")
