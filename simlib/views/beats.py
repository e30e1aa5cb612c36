"""A trace read as the steps of a story: what happens in one place at one moment, and which message led where.

Floor plan of a diagram: `looks.rows` -> `beats` (who told whom) -> `diagram` (where on the page).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simlib.views.looks import LOOKS, Row

CALLED = frozenset(
    ["claim", "wait", "effect", "save", "replay", "refuse", "lease", "take_over", "fence", "skip", "undo"]
)
"""What a lane does because another one, which took the request in, asked it to."""


@dataclass(eq=False)
class Beat:
    """What happens on one lane at one moment for one try: its rows share a mark and a label.

    `start` is the beat whose message ends here. `calls`: this beat was asked for by the one where the request
    arrived. `since` is where a wait that ends here began. `y` is where it stands on the page; the diagram
    sets it.
    """

    rows: list[Row]
    start: Beat | None = None
    calls: Beat | None = None
    since: Beat | None = None
    lands: Beat | None = None
    y: float = field(default=0.0)

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def chief(self) -> Row:
        """The row whose mark stands for all."""
        return max(self.rows, key=lambda r: LOOKS[r.event].rank)

    @property
    def twin(self) -> tuple[str, int, int, str]:
        """What it has in common with its counterpart under the same luck in another trace."""
        return self.first.actor, self.first.request, self.first.attempt, _role(self.first.event)


def beats(rows: Sequence[Row]) -> list[Beat]:
    """The steps of a story, in order, each tied to the message, the call and the wait that led to it."""
    found: list[Beat] = []
    for row in rows:
        look = LOOKS[row.event]
        last = found[-1] if found else None
        if last and not (look.flies or look.lands) and _together(last.first, row):
            last.rows.append(row)
        else:
            found.append(Beat([row]))
            if look.flies and row.peer:
                _land(row, rows, found)
    _tie_messages(found)
    _tie_calls(found)
    _tie_waits(found)
    return found


def _together(one: Row, other: Row) -> bool:
    look = LOOKS[one.event]
    return (
        not (look.flies or look.lands)
        and one.time == other.time
        and (one.actor, one.request, one.attempt) == (other.actor, other.request, other.attempt)
    )


def _land(row: Row, rows: Sequence[Row], found: list[Beat]) -> None:
    """Give a flight whose end no row tells an end of its own, at once."""
    told = any(LOOKS[r.event].lands and r.time >= row.time and _ends(row, r) for r in rows)
    if not told:
        event = "receive" if row.event == "reply" else "arrive"
        end = Row(row.time, row.peer, event, row.request, row.attempt, row.actor, row.status, row.key, row.value)
        found.append(Beat([end], start=found[-1]))


def _tie_messages(found: list[Beat]) -> None:
    flying: list[Beat] = []
    for beat in found:
        row = beat.first
        look = LOOKS[row.event]
        if look.flies and row.peer:
            flying.append(beat)
        elif look.lands:
            if beat.start is None:
                beat.start = next((b for b in flying if _ends(b.first, row)), None)
            if beat.start is not None:
                beat.start.lands = beat
                flying.remove(beat.start)


def _ends(left: Row, row: Row) -> bool:
    """Whether the message that left by one row can end by the other."""
    if (left.request, left.attempt) != (row.request, row.attempt):
        return False
    if row.event == "lose":
        kind = "request" if left.event == "send" else left.event
        return left.peer == row.peer and row.status in (kind, "message", "")
    return left.peer == row.actor and row.peer in ("", left.actor)


def _tie_calls(found: list[Beat]) -> None:
    """What a lane does for a try was asked for by the lane that took the try in, and has not passed it back yet."""
    took: dict[tuple[int, int], list[Beat]] = {}
    asked: set[tuple[int, str]] = set()
    for beat in found:
        row = beat.first
        inside = took.setdefault((row.request, row.attempt), [])
        at = inside[-1] if inside else None
        if row.event == "arrive":
            inside.append(beat)
        elif row.event == "reply" and len(inside) > 1 and inside[-1].first.actor == row.actor:
            inside.pop()
        elif row.event in CALLED and at and at.first.actor != row.actor and (id(at), row.actor) not in asked:
            asked.add((id(at), row.actor))
            beat.calls = at


def _tie_waits(found: list[Beat]) -> None:
    """A timeout ends the wait since its send; what a lane does next for an intent ends its back-off or its
    wait.
    """
    sent: dict[tuple[str, int, int], Beat] = {}
    held: dict[tuple[str, int], Beat] = {}
    for beat in found:
        row = beat.first
        place = (row.actor, row.request)
        if place in held:
            beat.since = held.pop(place)
        elif row.event == "timeout":
            beat.since = sent.get((*place, row.attempt))
        if row.event == "send":
            sent[*place, row.attempt] = beat
        if any(r.event in ("backoff", "wait") for r in beat.rows):
            held[place] = beat


def _role(event: str) -> str:
    return "work" if event in ("claim", "effect", "replay", "refuse", "wait", "skip", "fence") else event
