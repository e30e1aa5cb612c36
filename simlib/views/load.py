"""Figures over time: how load, useful answers or errors went, against what the system can bear.

Every curve carries its name beside it, in its ink and with its dash; a shaded window says in a word what was
wrong then; a dashed level says what the system can do. Figures to be compared are drawn with the same `top`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from simlib.views import theme
from simlib.views.axes import LEFT, TOP, Frame, number, round_top, time_ticks
from simlib.views.looks import seconds
from simlib.views.scene import Area, Box, Curve, Item, Line, Scene, Text

HEIGHT = 310

Extent = tuple[float, float, float, float]


@dataclass(frozen=True)
class Series:
    """One curve: its name and its values, one for each time. `low` and `high` bound a band around it, when
    given.
    """

    name: str
    values: Sequence[float]
    ink: str = "request"
    dash: str = "solid"
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Window:
    """A time in which something was wrong, from `start` to `end` in seconds: `slow for 15 s`."""

    start: float
    end: float
    words: str


@dataclass(frozen=True)
class Level:
    """A number that matters for all of the time: `capacity`."""

    value: float
    words: str


def over_time(
    times: Sequence[float],
    series: Sequence[Series],
    *,
    windows: Sequence[Window] = (),
    levels: Sequence[Level] = (),
    x_label: str = "seconds",
    y_label: str = "",
    top: float | None = None,
    stepped: bool = False,
    width: float = theme.PANEL,
    height: float = HEIGHT,
) -> Scene:
    """Curves over time.

    `times` in seconds, ascending; `stepped` holds each value until the next time, as counts per interval want
    it; `top` ends the y axis (default: what these values need; see `top_of` for figures side by side).
    """
    times = [float(t) for t in times]
    if not times:
        return Scene(
            width, height, (Text(width / 2, height / 2, "nothing to show", "muted", anchor="middle"),), "No data."
        )
    end = times[-1] + (times[-1] - times[-2] if stepped and len(times) > 1 else 0)
    frame = Frame(width, height, times[0], end, top or top_of(series, levels))
    items: list[Item] = []
    taken: list[Extent] = []
    for window in windows:
        items += _window(frame, window, taken)
    items += frame.items(x_label, y_label, time_ticks(times[0], end))
    for level in levels:
        items += _level(frame, level, taken)
    ruled = [[(float(x), frame.y(level.value)) for x in range(LEFT, int(width), 8)] for level in levels]
    drawn = [_points(frame, times, s.values, end if stepped else None) for s in series]
    for one, points in zip(series, drawn, strict=True):
        if len(one.low):
            there = _points(frame, times, one.high, end if stepped else None)
            back = _points(frame, times, one.low, end if stepped else None)
            items.append(Area((*there, *reversed(back)), one.ink, 0.18))
        items.append(Curve(points, one.ink, 2.2, one.dash))
    for one, points in zip(series, drawn, strict=True):
        items.append(_name(frame, one, points, (*drawn, *ruled), taken))
    return Scene(width, height, tuple(items), _alt(times, end, series, windows, levels, y_label))


def top_of(series: Sequence[Series], levels: Sequence[Level] = ()) -> float:
    """A round end of the y axis that holds all these curves and levels; give it to figures that stand side by
    side.
    """
    values = [float(v) for s in series for v in (*s.values, *s.high)]
    return round_top(max((*values, *(level.value for level in levels)), default=1.0))


def _points(
    frame: Frame, times: Sequence[float], values: Sequence[float], end: float | None
) -> list[tuple[float, float]]:
    plain = [float(v) for v in values]
    if end is None:
        return frame.path(times, plain)
    edges = [*times, end]
    xs = [x for pair in itertools.pairwise(edges) for x in pair]
    return frame.path(xs, [v for v in plain for _ in range(2)])


def _window(frame: Frame, window: Window, taken: list[Extent]) -> list[Item]:
    x0, x1 = frame.x(max(window.start, frame.low)), frame.x(min(window.end, frame.high))
    wide = theme.width(window.words, theme.LABEL)
    middle = min(max((x0 + x1) / 2, LEFT + 4 + wide / 2), frame.right - wide / 2)
    taken.append((middle - wide / 2, middle + wide / 2, TOP - 6, TOP + 12))
    return [
        Box(x0, TOP - 4, max(2.0, x1 - x0), frame.floor - TOP + 4, "amber", 0.18),
        Text(middle, TOP + 8, window.words, "wait", theme.LABEL, "middle"),
    ]


def _level(frame: Frame, level: Level, taken: list[Extent]) -> list[Item]:
    y = frame.y(level.value)
    words = f"{level.words} {number(level.value)}"
    taken.append((frame.right - theme.width(words, theme.LABEL), frame.right, y - 20, y + 2))
    return [
        Line(LEFT, y, frame.right, y, "text", 1.4, "dashed"),
        Text(frame.right - 4, y - 7, words, "text", theme.LABEL, "end"),
    ]


def _name(
    frame: Frame,
    one: Series,
    points: Sequence[tuple[float, float]],
    drawn: Sequence[Sequence[tuple[float, float]]],
    taken: list[Extent],
) -> Text:
    """The curve's name where it is near its curve and clear of all others."""
    wide = theme.width(one.name, theme.LABEL, bold=True)
    best: tuple[float, Extent] | None = None
    for share in (0.62, 0.72, 0.52, 0.8, 0.42, 0.32, 0.2, 0.05):
        x0 = min(LEFT + 6 + share * (frame.right - LEFT), frame.right - wide - 4)
        near = [y for x, y in points if x0 - 4 <= x <= x0 + wide + 4] or [_at(points, x0 + wide / 2)]
        for y in (min(near) - 8, max(near) + 17):
            extent = (x0, x0 + wide, y - 12, y + 3)
            cost = _crowd(extent, drawn, taken) + (100 if y - 12 < TOP - 8 or y > frame.floor - 2 else 0)
            if best is None or cost < best[0]:
                best = (cost, extent)
        if best is not None and best[0] == 0:
            break
    assert best is not None
    extent = best[1]
    taken.append(extent)
    return Text(extent[0], extent[3] - 3, one.name, one.ink, theme.LABEL, bold=True)


def _at(points: Sequence[tuple[float, float]], x: float) -> float:
    return min(points, key=lambda p: abs(p[0] - x))[1]


def _crowd(extent: Extent, drawn: Sequence[Sequence[tuple[float, float]]], taken: Sequence[Extent]) -> float:
    x0, x1, top, bottom = extent
    over = sum(40 for a, b, c, d in taken if a < x1 and x0 < b and c < bottom and top < d)
    return over + sum(1 for points in drawn for x, y in points if x0 - 2 <= x <= x1 + 2 and top <= y <= bottom)


def _alt(
    times: Sequence[float],
    end: float,
    series: Sequence[Series],
    windows: Sequence[Window],
    levels: Sequence[Level],
    y_label: str,
) -> str:
    said = [f"{y_label or 'Figures'} over time, from {seconds(times[0])} to {seconds(end)}"]
    for one in series:
        low, high, last = min(one.values), max(one.values), one.values[-1]
        said.append(f"{one.name}: {number(low)} to {number(high)}, at the end {number(last)}")
    said += [f"{level.words}: {number(level.value)}" for level in levels]
    said += [f"{w.words}, from {seconds(w.start)} to {seconds(w.end)}" for w in windows]
    return ". ".join(said) + "."
