"""A Scene as SVG: sharp at any size, follows the page's theme, read aloud by screen readers, played by the
player.

What the player needs stands in data attributes: `data-t` (the moment an item appears), `data-u` (when it is
finished) and `data-rider` (the shape that travels along a line).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from simlib.views import theme
from simlib.views.scene import DASHES, Area, Box, Curve, Group, Item, Line, Mark, Scene, Text
from simlib.views.shapes import OUTLINES, arrow_head

_INK = {name: theme.css_colour(name) for name in theme.INKS}
_DASH = {
    name: f' stroke-dasharray="{" ".join(f"{d:g}" for d in dash)}"' if dash else "" for name, dash in DASHES.items()
}
_HALO = f'stroke="{_INK["page"]}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'


def paint(scene: Scene) -> str:
    """The scene as one `<svg>` element, as wide as its place allows."""
    alt = escape(scene.alt)
    title = escape(scene.alt.split(". ")[0].rstrip("."))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {scene.width:g} {scene.height:g}" width="100%" '
        f'role="img" aria-label={quoteattr(scene.alt)} font-family="{theme.FONTS}" fill="none">'
        f"<title>{title}</title><desc>{alt}</desc>"
    )
    out = [head]
    _paint(scene.items, out.append)
    out.append("</svg>")
    return "".join(out)


def _paint(items: Sequence[Item], put: Callable[[str], Any]) -> None:
    for item in items:
        _PAINTERS[type(item)](item, put)


def _group(item: Group, put: Callable[[str], Any]) -> None:
    put(f'<g transform="translate({item.x:g} {item.y:g})">')
    _paint(item.items, put)
    put("</g>")


def _line(item: Line, put: Callable[[str], Any]) -> None:
    rider = f' data-rider="{item.rider}"' if item.rider else ""
    put(
        f'<line x1="{item.x1:.1f}" y1="{item.y1:.1f}" x2="{item.x2:.1f}" y2="{item.y2:.1f}" '
        f'stroke="{_INK[item.ink]}" stroke-width="{item.width:g}"{_DASH[item.dash]}'
        f"{_times(item.time, item.until)}{rider}/>"
    )
    if item.arrow:
        head = _points(arrow_head(item.x1, item.y1, item.x2, item.y2))
        end = item.time if item.until is None else item.until
        put(f'<polygon points="{head}" fill="{_INK[item.ink]}"{_times(end)}/>')


def _curve(item: Curve, put: Callable[[str], Any]) -> None:
    put(
        f'<polyline points="{_points(item.points)}" stroke="{_INK[item.ink]}" stroke-width="{item.width:g}" '
        f'stroke-linejoin="round"{_DASH[item.dash]}/>'
    )


def _area(item: Area, put: Callable[[str], Any]) -> None:
    put(f'<polygon points="{_points(item.points)}" fill="{_INK[item.ink]}"{_opacity(item.opacity)}/>')


def _box(item: Box, put: Callable[[str], Any]) -> None:
    put(
        f'<rect x="{item.x:.1f}" y="{item.y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" '
        f'fill="{_INK[item.ink]}"{_opacity(item.opacity)}{_times(item.time, item.until)}/>'
    )


def _mark(item: Mark, put: Callable[[str], Any]) -> None:
    outline, ink, size = OUTLINES[item.shape], _INK[item.ink], item.size
    if outline.filled:
        look = f'fill="{ink}"'
    else:
        inside = f' fill="{_INK["page"]}"' if outline.closed else ""
        look = f'stroke="{ink}" stroke-width="{_stroke(size):g}" stroke-linecap="round"{inside}'
    look += _times(item.time)
    if outline.round:
        put(f'<circle cx="{item.x:.1f}" cy="{item.y:.1f}" r="{size / 2:g}" {look}/>')
        return
    close = "Z" if outline.closed else ""
    path = "".join(
        "M" + "L".join(f"{item.x + x * size:.1f} {item.y + y * size:.1f}" for x, y in stroke) + close
        for stroke in outline.strokes
    )
    put(f'<path d="{path}" {look}/>')


def _text(item: Text, put: Callable[[str], Any]) -> None:
    anchor = "" if item.anchor == "start" else f' text-anchor="{item.anchor}"'
    bold = ' font-weight="700"' if item.bold else ""
    turned = f' transform="rotate(-90 {item.x:.1f} {item.y:.1f})"' if item.turned else ""
    put(
        f'<text x="{item.x:.1f}" y="{item.y:.1f}" fill="{_INK[item.ink]}" font-size="{item.size:g}"'
        f"{anchor}{bold}{turned} {_HALO}{_times(item.time)}>{escape(item.text)}</text>"
    )


_PAINTERS: dict[type, Callable[[Any, Callable[[str], Any]], None]] = {
    Line: _line,
    Curve: _curve,
    Area: _area,
    Box: _box,
    Mark: _mark,
    Text: _text,
    Group: _group,
}


def _stroke(size: float) -> float:
    return max(1.6, size / 6)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{opacity:g}"'


def _times(time: float | None, until: float | None = None) -> str:
    if time is None:
        return ""
    return f' data-t="{time:g}"' if until is None else f' data-t="{time:g}" data-u="{until:g}"'
