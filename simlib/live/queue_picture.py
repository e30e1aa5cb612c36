"""Sessions that wait for one another, as a picture: who works stands on the right, who waits for them on the left."""

from __future__ import annotations

from collections.abc import Sequence

from simlib.live.watch import Session, whom
from simlib.views import theme
from simlib.views.looks import plural
from simlib.views.scene import Box, Item, Line, Mark, Scene, Text

WIDTH = 540.0
BOX = 170.0  # width of a session's box
HIGH = 36.0
ROW = 48.0
TOP = 34.0


def scene(seen: Sequence[Session]) -> Scene:
    """One box a session, an arrow from each that waits to whom it waits for. Sessions are numbered from 1."""
    number = {s.pid: i for i, s in enumerate(seen, 1)}
    waiters = [s for s in seen if whom(s, number)]
    workers = [s for s in seen if s not in waiters]
    rows = max(len(waiters), len(workers), 1)
    places = {s.pid: (0.0, _middle(i, len(waiters), rows)) for i, s in enumerate(waiters)}
    places |= {s.pid: (WIDTH - BOX, _middle(i, len(workers), rows)) for i, s in enumerate(workers)}
    items: list[Item] = [
        Text(0, 18, "waits", "muted", theme.LABEL),
        Text(WIDTH - BOX, 18, "works", "muted", theme.LABEL),
    ]
    for session in waiters:
        items += [_arrow(places[session.pid], places[pid]) for pid in session.blockers if pid in places]
    for session in seen:
        items += _box(places[session.pid], number[session.pid], waits=session in waiters)
    return Scene(WIDTH, TOP + rows * ROW, tuple(items), _alt(seen, waiters, number))


def _middle(i: int, count: int, rows: int) -> float:
    """Where the middle of the i-th of `count` boxes stands, spread over all rows."""
    return TOP + ROW * (rows * (i + 0.5) / count)


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> Line:
    return Line(start[0] + BOX, start[1], end[0] - 4, end[1], "wait", 1.6, "dashed", arrow=True)


def _box(place: tuple[float, float], number: int, *, waits: bool) -> list[Item]:
    x, y = place
    mark = Mark(x + 18, y, "bar" if waits else "square", "wait" if waits else "good")
    words = Text(x + 34, y + 4.5, f"session {number}", bold=not waits)
    return [Box(x, y - HIGH / 2, BOX, HIGH), mark, words]


def _alt(seen: Sequence[Session], waiters: Sequence[Session], number: dict[int, int]) -> str:
    if not seen:
        return "No session is at work."
    queues: dict[str, list[str]] = {}
    for session in waiters:
        queues.setdefault(whom(session, number), []).append(str(number[session.pid]))
    words = [plural(len(seen), "session")]
    words += [
        f"{_these(names)} {'wait' if len(names) > 1 else 'waits'} for {_these(holders.split(', '))}"
        for holders, names in queues.items()
    ]
    return f"{'; '.join(words if waiters else [*words, 'nobody waits for another'])}."


def _these(names: Sequence[str]) -> str:
    *most, last = names
    return f"sessions {', '.join(most)} and {last}" if most else f"session {last}"
