"""Pictures side by side: a title and the number that matters over each, one sentence and a legend under all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simlib.views import theme
from simlib.views.scene import Group, Item, Mark, Scene, Text, Tick

HEAD = 44  # height of the titles
FOOT = 26  # height of one line under the pictures
BETWEEN = 32

LEGEND = (
    ("dot", "request", "request"),
    ("diamond", "request", "retry"),
    ("square", "good", "effect"),
    ("ring", "good", "replayed answer"),
    ("cross", "bad", "lost"),
)
"""Shape, ink and word of the marks in every payment story."""


@dataclass(frozen=True)
class Panel:
    """A picture with its title and the number that matters, good or not."""

    scene: Scene
    title: str = ""
    headline: str = ""
    good: bool = True


def beside(panels: Sequence[Panel], *, note: str = "") -> Scene:
    """The panels in one row; `note` says what is the same and what differs. The marks that are used are explained."""
    items: list[Item] = []
    x = 0.0
    tall = max(p.scene.height for p in panels)
    size = min(_fit(p) for p in panels)
    head = HEAD if any(p.title or p.headline for p in panels) else 0
    for panel in panels:
        wide = panel.scene.width
        if panel.title:
            items.append(Text(x + 4, 30, panel.title, "text", theme.TITLE, bold=True))
        if panel.headline:
            ink = "good" if panel.good else "bad"
            items.append(Text(x + wide - 4, 31, panel.headline, ink, size, "end", bold=True))
        items.append(Group(x, head, panel.scene.items))
        x += wide + BETWEEN
    width = x - BETWEEN
    foot, height = _foot(_legend(panels), note, width, head + tall + 16)
    return Scene(width, height, (*items, *foot), _alt(panels, note), _clock(panels))


def _fit(panel: Panel) -> float:
    """The headline as large as its panel allows beside the title."""
    room = panel.scene.width - theme.width(panel.title, theme.TITLE, bold=True) - 30
    need = theme.width(panel.headline, theme.HEADLINE, bold=True)
    return theme.HEADLINE if need <= room else max(theme.TITLE, theme.HEADLINE * room / need)


def _legend(panels: Sequence[Panel]) -> list[tuple[str, str, str]]:
    """The entries whose marks are in the pictures."""
    used = {item.shape for p in panels for item in p.scene.flat() if isinstance(item, Mark)}
    return [entry for entry in LEGEND if entry[0] in used]


def _foot(legend: Sequence[tuple[str, str, str]], note: str, width: float, y: float) -> tuple[list[Item], float]:
    """The legend on the left and the sentence on the right; on two lines where one is too short."""
    items: list[Item] = []
    x = 4.0
    for shape, ink, word in legend:
        items.append(Mark(x + 6, y - 4.5, shape, ink, 10))
        items.append(Text(x + 16, y, word, "muted", theme.LABEL))
        x += 16 + theme.width(word, theme.LABEL) + 16
    if not note:
        return items, y + (10 if legend else -10)
    if legend and x + theme.width(note, theme.LABEL) > width:
        y += FOOT
        items.append(Text(4, y, note, "muted", theme.LABEL))
    else:
        items.append(Text(width - 4, y, note, "muted", theme.LABEL, "end"))
    return items, y + 10


def _alt(panels: Sequence[Panel], note: str) -> str:
    said = [f"{p.title}: {p.headline}" if p.title and p.headline else p.title or p.headline for p in panels]
    first = "; ".join(filter(None, said))
    told = " ".join(f"{p.title}: {p.scene.alt}" if len(panels) > 1 else p.scene.alt for p in panels)
    return " ".join(filter(None, (f"{first}." if first else "", note, told)))


def _clock(panels: Sequence[Panel]) -> tuple[Tick, ...]:
    """The panels' clocks as one; what happens on one side only is told with the side's title."""
    beats: dict[float, list[tuple[Panel, Tick]]] = {}
    for panel in panels:
        for tick in panel.scene.clock:
            beats.setdefault(tick.moment, []).append((panel, tick))
    ticks: list[Tick] = []
    for moment in sorted(beats):
        told = beats[moment]
        words = dict.fromkeys(t.words for _, t in told)
        if len(words) == 1 and len(told) == len(panels):
            line = told[0][1].words
        else:
            line = "; ".join(f"{p.title}: {t.words}" if p.title else t.words for p, t in told)
        ticks.append(Tick(moment, told[0][1].seconds, line))
    return tuple(ticks)
