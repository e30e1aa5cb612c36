"""A schedule told: as text, as the common sequence diagram, and as a test to paste."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simlib.live.search.moves import CRASH, LATE, LOSE, UNHEARD, encode, letter
from simlib.live.search.play import Happened
from simlib.live.search.tree import Ended
from simlib.live.search.turns import Answer, Crashed
from simlib.trace import Recorder, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG = 66  # characters of a statement that are shown
EFFECT = re.compile(r"insert\s+into\s+charges\b", re.IGNORECASE)
CLAIM = re.compile(r"insert\s+into\s+(idempotency_keys|payment_keys|processed_messages)\b", re.IGNORECASE)
GIST = re.compile(r"(insert|update|delete|select)\b(?:.*?\b(?:into|from|update)\b)?\s+(\w+)", re.IGNORECASE | re.DOTALL)
READS = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
WORDS = {
    "send": "{status}",
    "arrive": "",
    "claim": "{status}",
    "save": "{status}",
    "effect": "charge {n}",
    "wait": "waits for {status}",
    "crash": "dies here",
    "receive": "{status}",
    "expire": "leases run out",
    "lose": "{status}",
    "timeout": "{status}",
}
"""What the events of a schedule are called in its diagram."""


@dataclass(frozen=True)
class Story:
    """One schedule of a function. `code` brings it back; `broke` is what did not hold, with what was seen."""

    code: str
    broke: Mapping[str, str]
    steps: tuple[str, ...]
    trace: Trace
    test: str

    @property
    def text(self) -> str:
        """The schedule, a line each step, and how it ended."""
        ends = [f"=> {name}: {seen}" for name, seen in self.broke.items()] or ["=> everything holds"]
        return "\n".join([f"schedule {self.code}", *self.steps, *ends])

    def diagram(self) -> Figure:
        """The schedule as a sequence diagram, each session on a lane of its own beside the database."""
        from simlib.views import diagram
        from simlib.views.paper import paint

        return paint(diagram.diagram(self.trace, words=WORDS, timed=False))

    def _repr_html_(self) -> str:
        from simlib.views import diagram, svg

        scene = diagram.diagram(self.trace, words=WORDS, timed=False)
        return f"<pre>{_escaped(self.text)}</pre>{svg.paint(scene)}"

    def __repr__(self) -> str:
        return self.text


def tell(ended: Ended, test: str) -> Story:
    """The story of a schedule that was played."""
    return Story(encode(ended.moves), ended.broke, tuple(_lines(ended)), _trace(ended), test)


def _lines(ended: Ended) -> list[str]:
    lines: list[str] = []
    for step in ended.story:
        who = letter(step.move.session) if step.move.session >= 0 else "-"
        lines.append(f"{who}: {_what(step)}")
        lines += [f"{letter(i)}: goes on" for i in step.woken]
        lines += [f"{letter(i)}: is told {_told(answer)}" for i, _, answer in step.answers if not answer.crashed]
    return lines


def _what(step: Happened) -> str:
    match step.move.kind:
        case "late":
            return "time passes: leases run out"
        case "crash":
            return (
                f"dies before {_short(step.point.text)}; it is tried again" if step.point else "dies; it is tried again"
            )
        case "lose":
            return "its answer is lost; it is tried again"
        case "unheard":
            return f"{_short(step.point.text)}, and the answer is lost" if step.point else "hears nothing"
    assert step.point is not None
    said = _short(step.point.text)
    if step.waits:
        return f"{said} -> waits for {', '.join(letter(i) for i in step.waits)}"
    return f"{said}{_rows(step)}"


def _rows(step: Happened) -> str:
    assert step.point is not None
    if step.rows < 0 or step.point.kind != "sql":
        return ""
    return f" -> {step.rows} row{'' if step.rows == 1 else 's'}"


def _told(answer: Answer) -> str:
    if isinstance(answer.error, Crashed):
        return "nothing"
    if answer.error is not None:
        return type(answer.error).__name__
    code = getattr(answer.value, "code", None)
    if code is None:
        return repr(answer.value)
    return f"{code}{', replayed' if getattr(answer.value, 'replayed', False) else ''}"


def _trace(ended: Ended) -> Trace:
    """The moves as event rows: a move is a second, each session an actor, and all of them are tries of one intent."""
    recorder = Recorder()

    def add(time: float, actor: str, event: str, *, attempt: int, peer: str = "", status: str = "") -> None:
        recorder.add(time, actor, event, request=0, attempt=attempt, peer=peer, status=status)

    for moment, step in enumerate(ended.story):
        i, now = step.move.session, float(moment)
        who = f"session {letter(i)}" if i >= 0 else "database"
        kind = step.move.kind
        if kind == LATE:
            add(now, "database", "expire", attempt=1)
        elif kind in (CRASH, LOSE):
            add(now, who, "crash" if kind == CRASH else "timeout", attempt=i + 1, status="answer lost, tries again")
        elif step.point is not None:
            peer = "database" if step.point.kind != "part" else step.point.text.split(".")[0]
            add(now, who, "send", attempt=i + 1, peer=peer, status=_gist(step.point.text))
            if step.waits:
                status = ", ".join(letter(w) for w in step.waits)
                add(now + 0.4, peer, "wait", attempt=i + 1, status=status)
            elif event := _event(step):
                add(now + 0.4, peer, event, attempt=i + 1, status=_seen(step))
            if kind == UNHEARD:
                add(now + 0.5, who, "timeout", attempt=i + 1, status="hears nothing")
        for j, _, answer in step.answers:
            if not answer.crashed:
                add(now + 0.6, f"session {letter(j)}", "save", attempt=j + 1, status=f"told {_told(answer)}")
    return recorder.freeze()


def _event(step: Happened) -> str | None:
    assert step.point is not None
    text = step.point.text
    if step.point.kind == "part":
        return "effect" if ".charge" in text else "save"
    if step.point.kind != "sql":
        return None
    if step.rows > 0 and EFFECT.match(text):
        return "effect"
    return "claim" if step.rows > 0 and CLAIM.match(text) else "save"


def _seen(step: Happened) -> str:
    assert step.point is not None
    if step.point.kind == "part" or step.rows < 0:
        return ""
    rows = f"{step.rows} row{'' if step.rows == 1 else 's'}"
    return f"{rows} found" if READS.match(step.point.text) else rows


def _gist(text: str) -> str:
    """A statement in a few words: what it does to which table."""
    found = GIST.match(text)
    if found is None:
        return _short(text, 28)
    verb, table = found[1].lower(), found[2]
    return f"{verb} {table}{' for update' if verb == 'select' and ' for update' in text.lower() else ''}"


def _short(text: str, long: int = LONG) -> str:
    return text if len(text) <= long else f"{text[: long - 1]}…"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def test_of(name: str, code: str, how: Mapping[str, Any]) -> str:
    """A test that fails as long as the schedule breaks anything, to be pasted beside the function."""
    given = "".join(f", {key}={value!r}" for key, value in how.items() if value is not None)
    return (
        f"def test_{name}_survives_{code.replace('~', 'l').replace('?', 'u')}() -> None:\n"
        f"    story = sl.live.replay({name}, {code!r}{given})\n"
        f"    assert not story.broke, story.text\n"
    )
