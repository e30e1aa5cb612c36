"""Means with their intervals, one row each: what a sweep found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simlib.views import theme
from simlib.views.axes import number, round_top, ticks
from simlib.views.scene import Item, Line, Mark, Scene, Text

ROW = 26  # height of one row
FOOT = 44  # below the rows: ticks and label


@dataclass(frozen=True)
class Mean:
    """One row: its name, the mean, and the interval from `low` to `high`."""

    name: str
    value: float
    low: float
    high: float


def means(rows: Sequence[Mean], label: str, width: float = theme.PANEL) -> Scene:
    """A dot for each mean on a common axis from 0, its interval as a bar through it, its number at the right."""
    left = max((theme.width(row.name, theme.LABEL) for row in rows), default=0) + 16
    right = width - max((theme.width(number(row.value), theme.LABEL, bold=True) for row in rows), default=0) - 18
    top = round_top(max((row.high for row in rows), default=1.0))
    floor = 8 + ROW * len(rows)

    def x(value: float) -> float:
        return left + min(max(value / top, 0.0), 1.0) * (right - left)

    items: list[Item] = [Line(left, 4, left, floor, "muted", 1), Line(left, floor, right, floor, "muted", 1)]
    for value in ticks(top):
        items.append(Line(x(value), floor, x(value), floor + 4, "muted", 1))
        items.append(Text(x(value), floor + 18, number(value), "muted", theme.LABEL, "middle"))
    items.append(Text((left + right) / 2, floor + FOOT - 8, label, "muted", theme.LABEL, "middle"))
    for i, row in enumerate(rows):
        y = 8 + ROW * (i + 0.5)
        items.append(Text(left - 8, y + 4.5, row.name, "muted", theme.LABEL, "end"))
        items.append(Line(x(row.low), y, x(row.high), y, "request", 3))
        items.append(Mark(x(row.value), y, "dot", "request", 10))
        items.append(Text(right + 10, y + 4.5, number(row.value), "text", theme.LABEL, bold=True))
    said = "; ".join(f"{r.name} {number(r.value)} ({number(r.low)} to {number(r.high)})" for r in rows)
    return Scene(width, floor + FOOT, tuple(items), f"Means of {label} with 95% intervals: {said}.")
