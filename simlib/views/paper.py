"""A Scene on paper: a matplotlib figure, and the PNG that a saved notebook shows where no widget runs."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon, Rectangle
from matplotlib.patheffects import withStroke
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from simlib.views import theme
from simlib.views.scene import DASHES, Area, Box, Curve, Group, Item, Line, Mark, Scene, Text
from simlib.views.shapes import OUTLINES, arrow_head

DOTS = 100  # a scene's pixels to one inch of paper
SHARP = 2  # dots of the PNG to one pixel of the scene, for high-density screens and print
POINT = 72 / DOTS  # a pixel in points, matplotlib's unit for widths and sizes

Place = tuple[float, float]


class Drawing(Figure):
    """A figure that carries its description: `alt` says the numbers and the story. Notebooks show it as a
    picture.
    """

    alt: str = ""

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        return bundle(self.png(), self.alt, int(self.get_figwidth() * DOTS))

    def png(self) -> bytes:
        """The figure as PNG, its description in the metadata."""
        canvas = FigureCanvasAgg(self)
        canvas.draw()
        flat = Image.fromarray(np.asarray(canvas.buffer_rgba()))
        out = io.BytesIO()
        few = flat.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(out, "PNG", pnginfo=_described(self.alt), dpi=(DOTS * SHARP, DOTS * SHARP))
        return out.getvalue()


def paint(scene: Scene) -> Drawing:
    """The scene as a matplotlib figure of its own (pyplot does not know it), in the light theme's colours."""
    figure = Drawing(figsize=(scene.width / DOTS, scene.height / DOTS), dpi=DOTS * SHARP)
    figure.alt = scene.alt
    figure.set_facecolor(_ink("page"))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    _paint(scene.items, axes, (0.0, 0.0))
    return figure


def png(scene: Scene) -> bytes:
    """The scene as PNG, two dots a pixel, its description in the metadata."""
    return paint(scene).png()


def bundle(picture: bytes, alt: str, width: int, text: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a notebook keeps of a picture: its PNG with alt text and shown `width`, and plain text (alt if not
    given).
    """
    return (
        {"text/plain": alt if text is None else text, "image/png": picture},
        {"image/png": {"alt": alt, "width": width}},
    )


def _described(alt: str) -> PngInfo:
    info = PngInfo()
    info.add_itxt("Description", alt)
    return info


def _paint(items: Sequence[Item], axes: Axes, at: Place) -> None:
    for item in items:
        _PAINTERS[type(item)](item, axes, at)


def _group(item: Group, axes: Axes, at: Place) -> None:
    _paint(item.items, axes, (at[0] + item.x, at[1] + item.y))


def _line(item: Line, axes: Axes, at: Place) -> None:
    x, y = at
    _stroke(axes, [(x + item.x1, y + item.y1), (x + item.x2, y + item.y2)], item.ink, item.width, item.dash)
    if item.arrow:
        _fill(axes, arrow_head(x + item.x1, y + item.y1, x + item.x2, y + item.y2), item.ink)


def _curve(item: Curve, axes: Axes, at: Place) -> None:
    _stroke(axes, [(at[0] + x, at[1] + y) for x, y in item.points], item.ink, item.width, item.dash)


def _area(item: Area, axes: Axes, at: Place) -> None:
    _fill(axes, [(at[0] + x, at[1] + y) for x, y in item.points], item.ink, item.opacity)


def _box(item: Box, axes: Axes, at: Place) -> None:
    corner = (at[0] + item.x, at[1] + item.y)
    patch = Rectangle(corner, item.width, item.height, facecolor=_ink(item.ink), alpha=item.opacity, linewidth=0)
    _on_top(axes, patch)


def _mark(item: Mark, axes: Axes, at: Place) -> None:
    outline, size = OUTLINES[item.shape], item.size
    x, y = at[0] + item.x, at[1] + item.y
    stroke = max(1.6, size / 6)
    look = {
        "facecolor": _ink(item.ink if outline.filled else "page"),
        "edgecolor": _ink(item.ink),
        "linewidth": 0 if outline.filled else stroke * POINT,
    }
    if outline.round:
        _on_top(axes, Circle((x, y), size / 2, **look))
        return
    for points in outline.strokes:
        placed = [(x + px * size, y + py * size) for px, py in points]
        if outline.closed:
            _on_top(axes, Polygon(placed, closed=True, **look))
        else:
            _stroke(axes, placed, item.ink, stroke, "solid", round_caps=True)


def _text(item: Text, axes: Axes, at: Place) -> None:
    written = axes.text(
        at[0] + item.x,
        at[1] + item.y,
        item.text.replace("$", r"\$"),
        color=_ink(item.ink),
        fontsize=item.size * POINT,
        fontfamily=theme.FONT,
        fontweight="bold" if item.bold else "normal",
        rotation=90 if item.turned else 0,
        rotation_mode="anchor",
        horizontalalignment={"start": "left", "middle": "center", "end": "right"}[item.anchor],
        verticalalignment="baseline",
    )
    written.set_path_effects([withStroke(linewidth=4 * POINT, foreground=_ink("page"))])
    written.set_zorder(_next(axes))


_PAINTERS: dict[type, Callable[[Any, Axes, Place], None]] = {
    Line: _line,
    Curve: _curve,
    Area: _area,
    Box: _box,
    Mark: _mark,
    Text: _text,
    Group: _group,
}


def _stroke(axes: Axes, points: list[Place], ink: str, width: float, dash: str, *, round_caps: bool = False) -> None:
    line = Line2D([p[0] for p in points], [p[1] for p in points], color=_ink(ink), linewidth=width * POINT)
    if DASHES[dash]:
        line.set_linestyle((0, tuple(d / width for d in DASHES[dash])))
    line.set_solid_capstyle("round" if round_caps else "butt")
    line.set_zorder(_next(axes))
    axes.add_line(line)


def _fill(axes: Axes, points: Sequence[Place], ink: str, opacity: float = 1.0) -> None:
    _on_top(axes, Polygon(list(points), closed=True, facecolor=_ink(ink), alpha=opacity, linewidth=0))


def _on_top(axes: Axes, patch: Any) -> None:
    patch.set_zorder(_next(axes))
    axes.add_patch(patch)


def _next(axes: Axes) -> int:
    """Later items lie above earlier ones, whatever their kind."""
    return 1 + len(axes.lines) + len(axes.patches) + len(axes.texts)


def _ink(name: str) -> str:
    return theme.INKS[name].light
