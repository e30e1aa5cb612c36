"""Who told whom what, and when: the sequence diagram of any trace, simulated or real.

Time runs down. Steps are spread in their order so that each can be read: what takes longer stands further
apart, but a long silence does not squeeze the rest, and the seconds on the left say what the distances only
hint at. Diagrams made together share their clock, so what happens under the same luck stands side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from simlib.trace import Trace
from simlib.views import theme
from simlib.views.beats import Beat, beats
from simlib.views.looks import LOOKS, Namer, Row, plural, rows, seconds
from simlib.views.scene import Box, Item, Line, Mark, Scene, Text, Tick

ORDER = (
    "customer",
    "phone",
    "client",
    "gateway",
    "network",
    "service",
    "server",
    "relay",
    "broker",
    "consumer",
)
LAST = ("database", "provider")

TOP = 28  # where the lanes begin, below their names
LEFT, RIGHT = 72, 48  # beside the first and the last lane
GAP = 9  # between two steps, at least
SLANT = 16  # how far a message falls on its way, at least
STRETCH = 34  # what a long time adds to a gap, at most

Extent = tuple[float, float, float, float]


def diagram(
    trace: Trace,
    *,
    lanes: Sequence[str] | None = None,
    requests: Iterable[int] | None = None,
    words: Mapping[str, str] | None = None,
    timed: bool = True,
) -> Scene:
    """The sequence diagram of one trace. See `diagrams`."""
    return diagrams([trace], lanes=lanes, requests=requests, words=words, timed=timed)[0]


def diagrams(
    traces: Sequence[Trace],
    *,
    lanes: Sequence[str] | None = None,
    requests: Iterable[int] | None = None,
    words: Mapping[str, str] | None = None,
    timed: bool = True,
) -> list[Scene]:
    """Sequence diagrams with the same lanes and one clock, one for each trace.

    `lanes` in order from the left (by default those that take part); `requests`: only these intents (30 steps
    read well, more grow tall); `words`: event to template, for a story that speaks of other things than
    charges; `timed`: whether seconds stand at the left.
    """
    wanted = None if requests is None else list(requests)
    told = [rows(trace, wanted) for trace in traces]
    shown = tuple(lanes) if lanes else lanes_of([row for each in told for row in each])
    panels = [_Panel(each, shown, Namer(each, words)) for each in told]
    bottom = _place(panels)
    return [panel.scene(bottom, timed=timed and i == 0) for i, panel in enumerate(panels)]


def lanes_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The lanes that take part, in their usual order; unknown ones stand between the network and the
    database.
    """
    seen = dict.fromkeys(name for row in rows for name in (row.actor, row.peer) if name)
    usual = {name: i for i, name in enumerate(ORDER)} | {name: len(ORDER) + i for i, name in enumerate(LAST)}
    return tuple(sorted(seen, key=lambda name: usual.get(name, len(ORDER) - 0.5)))


def telling(trace: Trace) -> int:
    """The request whose story is worth telling: most effects, then most happenings; 0 in an empty trace."""
    best, chosen = (0, 0), 0
    seen: dict[int, list[int]] = {}
    for request, kind in zip(trace.column("request").tolist(), trace.column("kind").tolist(), strict=True):
        if request >= 0:
            tally = seen.setdefault(request, [0, 0])
            tally[0] += trace.kinds[kind][1] == "effect"
            tally[1] += 1
    for request, (effects, happenings) in seen.items():
        if (effects, happenings) > best:
            best, chosen = (effects, happenings), request
    return chosen


@dataclass
class _Label:
    """Words beside a beat: where they begin, from the beat's own place, and the mark that leads them in."""

    x: float
    dy: float
    text: str
    ink: str
    anchor: str = "start"
    shape: str = ""

    def extent(self) -> Extent:
        wide = theme.width(self.text, theme.LABEL) + (16 if self.shape else 0)
        left = self.x - wide if self.anchor == "end" else self.x
        return left - 3, left + wide + 3, self.dy - 12, self.dy + 7


@dataclass
class _Panel:
    """One trace on its lanes while its steps find their places."""

    rows: list[Row]
    lanes: tuple[str, ...]
    name: Namer
    beats: list[Beat] = field(init=False)
    taken: list[Extent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.beats = beats([r for r in self.rows if r.actor in self.lanes])
        self.width = max(theme.PANEL if len(self.lanes) > 2 else 400, LEFT + RIGHT + 123 * (len(self.lanes) - 1))
        step = (self.width - LEFT - RIGHT) / max(1, len(self.lanes) - 1)
        self.x = {lane: LEFT + i * step for i, lane in enumerate(self.lanes)}
        self.replayed = {(r.request, r.attempt) for r in self.rows if r.event == "replay"}
        self.labels = {id(beat): self._label(beat) for beat in self.beats}

    def needs(self, beat: Beat, y: float) -> float:
        """The first place from y down where the beat's words and line are clear of what stands already."""
        for earlier in (beat.start, beat.calls):
            if earlier is not None:
                y = max(y, earlier.y + SLANT)
        for x0, x1, top, _ in self._extents(beat):
            for left, right, _, bottom in self.taken[-16:]:
                if x0 < right and left < x1 and y + top < bottom:
                    y = bottom - top
        return y

    def settle(self, beat: Beat, y: float) -> None:
        beat.y = y
        self.taken += [(x0, x1, y + top, y + bottom) for x0, x1, top, bottom in self._extents(beat)]

    def _extents(self, beat: Beat) -> list[Extent]:
        found: list[Extent] = []
        label = self.labels[id(beat)]
        if label is not None:
            found.append(label.extent())
        row, x = beat.first, self.x[beat.first.actor]
        if beat.lands is not None and row.peer in self.x:
            found.append((min(x, self.x[row.peer]), max(x, self.x[row.peer]), -1, 3))
        if self._marked(beat):
            found.append((x - 8, x + 8, -9, 9))
        return found

    def _marked(self, beat: Beat) -> bool:
        look = LOOKS[beat.first.event]
        return not look.flies and beat.first.event not in ("arrive", "receive")

    def _label(self, beat: Beat) -> _Label | None:
        row, chief = beat.first, beat.chief
        look = LOOKS[row.event]
        x = self.x[row.actor]
        if row.event in ("arrive", "receive") or (row.event == "reply" and beat.lands and self._lost(beat.lands)):
            return None
        text = ", ".join(filter(None, dict.fromkeys(map(self.name, beat.rows))))
        if look.flies and row.peer in self.x and row.peer != row.actor:
            return self._message(beat, text)
        ink = "muted" if chief.event in ("timeout", "backoff", "wait") else "text"
        if row.event == "lose":
            from_right = beat.start is not None and self.x[beat.start.first.actor] > x
            return _Label(x - 14, 4, text, "text", "end") if from_right else _Label(x + 14, 4, text, "text")
        wide = theme.width(text, theme.LABEL)
        if x + 14 + wide > self.width and x - 14 > wide:
            return _Label(x - 14, 17 if beat.calls else 4, text, ink, "end")
        return _Label(x + 14, 4, text, ink)

    def _message(self, beat: Beat, text: str) -> _Label:
        row = beat.first
        x, there = self.x[row.actor], self.x[row.peer]
        shape = LOOKS[row.event].shape
        if row.event == "send" and row.attempt > 1:
            shape = "diamond"
        if row.event == "reply" and (row.request, row.attempt) in self.replayed:
            text, shape = f"{text}, replayed", "ring"
        if there > x:
            return _Label(x + 26, -6, text, "text", shape=shape)
        return _Label(x - 26, -6, text, "text", "end", shape)

    def _lost(self, beat: Beat) -> bool:
        return beat.first.event == "lose"

    def scene(self, bottom: float, timed: bool) -> Scene:
        items: list[Item] = []
        for lane, x in self.x.items():
            if lane == "network":
                items.append(Box(x - 5, TOP, 10, bottom - TOP, "band"))
            else:
                items.append(Line(x, TOP, x, bottom, "rule"))
            items.append(Text(x, 14, lane, "muted", theme.LABEL, "middle"))
        for draw in (self._waits, self._lines, self._marks, self._words):
            for beat in self.beats:
                items += draw(beat, bottom)
        if timed:
            items += self._seconds()
        clock = [Tick(b.y, b.first.time, self._told(b)) for b in self.beats]
        return Scene(self.width, bottom + 6, tuple(items), self._alt(), tuple(clock))

    def _told(self, beat: Beat) -> str:
        """The beat in words, for those who follow the clock."""
        row = beat.first
        to = f" to {row.peer}" if LOOKS[row.event].flies and row.peer else ""
        return f"{row.actor}{to}: {', '.join(map(self.name, beat.rows))}"

    def _waits(self, beat: Beat, bottom: float) -> list[Item]:
        row, x = beat.first, self.x[beat.first.actor]
        found: list[Item] = []
        if beat.since is not None:
            since = beat.since
            faint = 0.45 if any(r.event == "backoff" for r in since.rows) else 1.0
            found.append(Box(x - 3, since.y, 6, beat.y - since.y, "amber", faint, since.y, beat.y))
        if any(r.event == "crash" for r in beat.rows):
            back = next((b.y for b in self.beats if b.y > beat.y and b.first.actor == row.actor), bottom)
            found.append(Box(x - 2, beat.y, 4, back - beat.y, "page", time=beat.y))
            found.append(Line(x, beat.y, x, back, "bad", 1.6, "dotted", time=beat.y, until=back))
        return found

    def _lines(self, beat: Beat, bottom: float) -> list[Item]:
        row, x = beat.first, self.x[beat.first.actor]
        found: list[Item] = []
        if beat.calls is not None:
            at = beat.calls
            dash = "dashed" if row.attempt > 1 else "solid"
            near = x - 8 if x > self.x[at.first.actor] else x + 8
            shape = "diamond" if row.attempt > 1 else "dot"
            found.append(
                Line(self.x[at.first.actor], at.y, near, beat.y, "request", 2, dash, True, shape, at.y, beat.y)
            )
        if beat.start is not None:
            found.append(self._flight(beat.start, beat, x))
        return found

    def _flight(self, start: Beat, end: Beat, x: float) -> Line:
        row = start.first
        look = LOOKS[row.event]
        lost = self._lost(end)
        ink, shape, dash = look.ink, look.shape, look.dash
        if row.event == "reply":
            ink = "muted" if lost else "good" if row.ok else "other"
            shape = "ring" if (row.request, row.attempt) in self.replayed else "dot"
        elif row.event == "send" and row.attempt > 1:
            shape, dash = "diamond", "dashed"
        x1, y1, x2, y2 = self.x[row.actor], start.y, x, end.y
        if lost:
            reach = max(0.0, 1 - 10 / max(1.0, abs(x2 - x1)))
            x2, y2 = x1 + (x2 - x1) * reach, y1 + (y2 - y1) * reach
        return Line(x1, y1, x2, y2, ink, 2, dash, not lost, shape, start.y, end.y)

    def _marks(self, beat: Beat, bottom: float) -> list[Item]:
        if not self._marked(beat):
            return []
        row, x = beat.chief, self.x[beat.first.actor]
        look = LOOKS[row.event]
        ink = "bad" if row.n > 1 else look.ink
        size = {"tick": 10.0, "bar": 10.0, "burst": 18.0}.get(look.shape, 13.0)
        return [Mark(x, beat.y, look.shape, ink, size, beat.y)]

    def _words(self, beat: Beat, bottom: float) -> list[Item]:
        label = self.labels[id(beat)]
        if label is None or not label.text:
            return []
        x, y = label.x, beat.y + label.dy
        if not label.shape:
            return [Text(x, y, label.text, label.ink, theme.LABEL, label.anchor, time=beat.y)]
        if label.anchor == "end":
            x -= theme.width(label.text, theme.LABEL) + 16
        ink = LOOKS[beat.first.event].ink
        mark = Mark(x + 5, y - 4.5, label.shape, ink, 10, beat.y)
        return [mark, Text(x + 16, y, label.text, label.ink, theme.LABEL, time=beat.y)]

    def _seconds(self) -> list[Item]:
        """The times on the left, where there is room for them, in one unit."""
        if not self.beats:
            return []
        unit, by, places = _unit(self.beats[-1].first.time)
        found: list[Item] = []
        last_y, last_text = 0.0, ""
        for beat in self.beats:
            text = f"{beat.first.time / by:.{places}f} {unit}"
            if text != last_text and beat.y - last_y >= 15:
                found.append(Text(LEFT - 18, beat.y + 4, text, "muted", theme.SMALL, "end"))
                last_y, last_text = beat.y, text
        return found

    def _alt(self) -> str:
        """Its numbers, then its story."""
        if not self.rows:
            return "Sequence diagram of a run in which nothing happened."
        tally = {e: sum(r.event == e for r in self.rows) for e in LOOKS}
        parts = [plural(tally["send"], "try")] if tally["send"] else []
        parts += [plural(tally["effect"], self.name.effect)]
        parts += [f"{plural(tally['lose'], 'message')} lost"] if tally["lose"] else []
        parts += [f"{plural(tally['replay'], 'answer')} replayed"] if tally["replay"] else []
        steps = [
            f"{b.first.actor} {', '.join(map(self.name, b.rows))}" for b in self.beats if b.first.event != "arrive"
        ]
        more = f" and {len(steps) - 16} steps more" if len(steps) > 16 else ""
        took = seconds(self.rows[-1].time - self.rows[0].time)
        lanes = ", ".join(self.lanes)
        return (
            f"Sequence diagram: {', '.join(parts)} in {took}. Lanes {lanes}. In order: {'; '.join(steps[:16])}{more}."
        )


def _place(panels: Sequence[_Panel]) -> float:
    """Give every beat its y, the same for what happens at the same moment in each panel; returns the lanes'
    end.
    """
    times = [b.first.time for p in panels for b in p.beats]
    span = (max(times) - min(times)) if times else 0.0
    y, now, first = TOP + 12.0, min(times, default=0.0), True
    for step in _merged([p.beats for p in panels]):
        time = next(b.first.time for b in step if b is not None)
        gap = 0.0 if first else GAP + STRETCH * min(1.0, (time - now) / (0.2 * span) if span else 0.0)
        y += gap
        for panel, beat in zip(panels, step, strict=True):
            if beat is not None:
                y = max(y, panel.needs(beat, y))
        for panel, beat in zip(panels, step, strict=True):
            if beat is not None:
                panel.settle(beat, y)
        now, first = time, False
    lowest = max((bottom for p in panels for _, _, _, bottom in p.taken), default=y)
    return max(y, lowest) + 12


def _merged(stories: Sequence[list[Beat]]) -> list[list[Beat | None]]:
    """The stories' beats in order of time, counterparts of the same moment together."""
    at = [0] * len(stories)
    steps: list[list[Beat | None]] = []
    while any(i < len(s) for i, s in zip(at, stories, strict=True)):
        heads = [s[i] if i < len(s) else None for i, s in zip(at, stories, strict=True)]
        now = min(h.first.time for h in heads if h is not None)
        due = [h if h is not None and h.first.time == now else None for h in heads]
        lead = next(
            (
                h
                for h in due
                if h is not None and not any(_comes(h, s, i + 1) for s, i in zip(stories, at, strict=True))
            ),
            next(h for h in due if h is not None),
        )
        step = [h if h is not None and h.twin == lead.twin else None for h in due]
        steps.append(step)
        at = [i + (h is not None) for i, h in zip(at, step, strict=True)]
    return steps


def _comes(beat: Beat, story: list[Beat], start: int) -> bool:
    """Whether a counterpart of the beat still comes in the story at the same moment, so that it should wait
    for it.
    """
    for other in story[start:]:
        if other.first.time != beat.first.time:
            return False
        if other.twin == beat.twin:
            return True
    return False


def _unit(longest: float) -> tuple[str, float, int]:
    if longest < 0.5:
        return "ms", 0.001, 0 if longest >= 0.02 else 1
    if longest < 1000:
        return "s", 1.0, 2 if longest < 10 else 1
    return "h", 3600.0, 2
