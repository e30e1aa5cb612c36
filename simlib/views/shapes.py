"""The outline of each mark, once for both painters: polygons and strokes around (0, 0), one unit across."""

from __future__ import annotations

import math
from dataclasses import dataclass

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Outline:
    """A closed shape (filled, or drawn as a ring) or open strokes. A round one is a circle of half a unit."""

    strokes: tuple[Points, ...] = ()
    filled: bool = True
    closed: bool = True
    round: bool = False


def _burst(rays: int) -> Points:
    radii = (0.62, 0.3)
    return tuple(
        (radii[i % 2] * math.sin(math.pi * i / rays), -radii[i % 2] * math.cos(math.pi * i / rays))
        for i in range(2 * rays)
    )


_SQUARE: Points = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
_OCTAGON: Points = tuple(
    (0.56 * math.cos(a), 0.56 * math.sin(a)) for a in (math.pi * (2 * i + 1) / 8 for i in range(8))
)

OUTLINES: dict[str, Outline] = {
    "dot": Outline(round=True),
    "ring": Outline(round=True, filled=False),
    "diamond": Outline(strokes=(((0, -0.62), (0.5, 0), (0, 0.62), (-0.5, 0)),)),
    "square": Outline(strokes=(_SQUARE,)),
    "hollow": Outline(strokes=(_SQUARE,), filled=False),
    "cross": Outline(strokes=(((-0.5, -0.5), (0.5, 0.5)), ((-0.5, 0.5), (0.5, -0.5))), filled=False, closed=False),
    "bar": Outline(strokes=(((-0.6, 0), (0.6, 0)),), filled=False, closed=False),
    "triangle": Outline(strokes=(((0, -0.55), (0.55, 0.45), (-0.55, 0.45)),)),
    "burst": Outline(strokes=(_burst(8),)),
    "stop": Outline(strokes=(_OCTAGON,), filled=False),
    "tick": Outline(strokes=(((-0.45, 0.05), (-0.1, 0.4), (0.5, -0.4)),), filled=False, closed=False),
}

ARROW: Points = ((0, 0), (-9, -4), (-9, 4))
"""An arrow head in pixels, its tip at (0, 0), flying to the right."""


def arrow_head(x1: float, y1: float, x2: float, y2: float) -> Points:
    """The arrow head at the end of a line."""
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    c, s = (x2 - x1) / length, (y2 - y1) / length
    return tuple((x2 + c * x - s * y, y2 + s * x + c * y) for x, y in ARROW)
