"""A picture as data: what is drawn where, in which ink, and when it appears.

Diagrams and figures make Scenes; two painters read them (`svg` for the screen, `paper` for print), so a
picture is written once. Lengths are CSS pixels, y runs down. Inks are names in `theme.INKS`.

An item's `time` is its moment: the place on the scene's own clock at which it appears when the scene is
played (None: it is always there). `until` is when it is finished: a message has arrived, a wait is over. What
moment is how many seconds into the run is in `Scene.clock`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

DASHES: dict[str, tuple[float, ...]] = {
    "solid": (),
    "dashed": (6, 3),
    "dotted": (1.5, 3),
    "dashdot": (8, 3, 1.5, 3),
}
SHAPES = ("dot", "ring", "diamond", "square", "hollow", "cross", "bar", "triangle", "burst", "stop", "tick")


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line, with an arrow head at its end or without. `rider` is the shape that travels along it."""

    x1: float
    y1: float
    x2: float
    y2: float
    ink: str = "text"
    width: float = 1.6
    dash: str = "solid"
    arrow: bool = False
    rider: str = ""
    time: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through many points."""

    points: Sequence[tuple[float, float]]
    ink: str = "text"
    width: float = 2.0
    dash: str = "solid"


@dataclass(frozen=True, slots=True)
class Area:
    """A filled shape with these corners."""

    points: Sequence[tuple[float, float]]
    ink: str = "band"
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Box:
    """A filled upright rectangle; one with a time grows down until it is finished."""

    x: float
    y: float
    width: float
    height: float
    ink: str = "band"
    opacity: float = 1.0
    time: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """One of `SHAPES`, centred at a point; `size` is its width."""

    x: float
    y: float
    shape: str
    ink: str = "text"
    size: float = 13.0
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Words on a baseline. `anchor` says which end of them stands at x: start, middle or end. `turned`: read
    upwards.
    """

    x: float
    y: float
    text: str
    ink: str = "text"
    size: float = 13.0
    anchor: str = "start"
    bold: bool = False
    turned: bool = False
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Items moved together by (x, y)."""

    x: float
    y: float
    items: Sequence[Item]


Item = Line | Curve | Area | Box | Mark | Text | Group


@dataclass(frozen=True, slots=True)
class Tick:
    """One beat of a scene's clock: at `moment` the run is `seconds` old, and `words` say what happens."""

    moment: float
    seconds: float
    words: str = ""


@dataclass(frozen=True)
class Scene:
    """A whole picture. `alt` says its numbers and its story to those who do not see it."""

    width: float
    height: float
    items: Sequence[Item]
    alt: str
    clock: Sequence[Tick] = field(default=())

    def flat(self) -> Iterator[Item]:
        """All items in order of drawing, groups opened (their inner places stay relative to the group)."""
        return _flat(self.items)

    @property
    def words(self) -> list[str]:
        """Every text in the picture, in order of drawing."""
        return [i.text for i in self.flat() if isinstance(i, Text)]


def _flat(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Group):
            yield from _flat(item.items)
        else:
            yield item
