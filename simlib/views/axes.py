"""The frame of a figure: where a number stands on the page, and the ticks that say so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simlib.views import theme
from simlib.views.scene import Item, Line, Text

LEFT, RIGHT, TOP, BOTTOM = 62, 22, 14, 46  # beside the plot; the sides hold ticks and labels

_TIME_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400)


@dataclass(frozen=True)
class Frame:
    """A plot of `width` by `height` pixels, axes included, for x from `low` to `high` and y from 0 to `top`."""

    width: float
    height: float
    low: float
    high: float
    top: float
    log: bool = False

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def floor(self) -> float:
        return self.height - BOTTOM

    def x(self, value: float) -> float:
        """Pixels from the left of the picture."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        return LEFT + (value - low) / ((high - low) or 1) * (self.right - LEFT)

    def y(self, value: float) -> float:
        """Pixels from the top of the picture."""
        return self.floor - value / (self.top or 1) * (self.floor - TOP)

    def path(self, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
        """The points of a curve, held inside the frame at the top."""
        wide = (self.right - LEFT) / ((self.high - self.low) or 1)
        tall = (self.floor - TOP) / (self.top or 1)
        return [
            (LEFT + (x - self.low) * wide, self.floor - min(y, self.top) * tall) for x, y in zip(xs, ys, strict=True)
        ]

    def items(
        self,
        x_label: str,
        y_label: str,
        x_ticks: Sequence[float],
        say: Callable[[float], str] | None = None,
        y_ticks: Sequence[float] | None = None,
    ) -> list[Item]:
        """Both axes with their ticks and labels."""
        say = say or number
        out: list[Item] = [
            Line(LEFT, self.floor, self.right, self.floor, "muted", 1),
            Line(LEFT, TOP - 4, LEFT, self.floor, "muted", 1),
        ]
        for value in x_ticks:
            x = self.x(value)
            out.append(Line(x, self.floor, x, self.floor + 4, "muted", 1))
            out.append(Text(x, self.floor + 18, say(value), "muted", theme.LABEL, "middle"))
        for value in ticks(self.top) if y_ticks is None else y_ticks:
            y = self.y(value)
            out.append(Line(LEFT - 4, y, LEFT, y, "muted", 1))
            out.append(Text(LEFT - 8, y + 4.5, number(value), "muted", theme.LABEL, "end"))
        if x_label:
            out.append(Text((LEFT + self.right) / 2, self.height - 8, x_label, "muted", theme.LABEL, "middle"))
        if y_label:
            out.append(Text(14, (TOP + self.floor) / 2, y_label, "muted", theme.LABEL, "middle", turned=True))
        return out


def number(value: float) -> str:
    """A count as people write it: 2,000; 0.25; 1.2 million."""
    if abs(value) >= 1e9:
        return f"{value / 1e9:.3g} billion"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.3g} million"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def ticks(top: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to `top`, at most `most` steps."""
    if top <= 0 or not math.isfinite(top):
        return [0.0]
    rough = top / most
    scale = 10 ** math.floor(math.log10(rough))
    step = next(s * scale for s in (1, 2, 2.5, 5, 10) if s * scale >= rough * (1 - 1e-9))
    return [i * step for i in range(int(top / step + 1e-9) + 1)]


def time_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round times from `low` to `high`, in seconds."""
    span = high - low
    step = next((s for s in _TIME_STEPS if span / s <= most), max(span / most, 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, int(high / step + 1e-9) + 1)]


def round_top(largest: float) -> float:
    """The end of an axis that holds this number with some air above it."""
    if largest <= 0 or not math.isfinite(largest):
        return 1.0
    step = ticks(largest)[-1] / max(1, len(ticks(largest)) - 1) if len(ticks(largest)) > 1 else largest
    return math.ceil(largest * 1.04 / step * 2) / 2 * step
