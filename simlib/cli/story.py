"""A short trace as a sequence diagram in plain text, for a terminal.

One line an event, one column an actor. A message is an arrow from lane to lane, drawn when it arrives;
a lost one ends in a cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simlib.trace import Trace

SHORT = 60  # events; a longer run is told by its numbers
WIDE = 20  # characters from one lane to the next
_CLOCK = 10  # characters the time takes at the left

_WORDS = {
    "claim": "key is new: claim it",
    "wait": "waits for the key",
    "effect": "CHARGE {money}",
    "save": "saves the answer",
    "undo": "REFUND {money}",
    "copy": "row to {peer}",
    "replay": "replays {status}",
    "refuse": "refuses: {status}",
    "timeout": "times out",
    "backoff": "waits {seconds}",
    "give_up": "gives up: {status}",
}
_USUAL = ("phone", "network", "server", "database")  # the order in which people expect these lanes


def tell(trace: Trace) -> str:
    """The diagram as text."""
    rows: list[dict[str, Any]] = trace.to_arrow().to_pylist()
    lanes = _lanes(rows)
    head = " " * _CLOCK + "".join(name.center(WIDE) for name in lanes)
    return "\n".join(line.rstrip() for line in [head, *(_line(row, rows, lanes) for row in rows)] if line)


def _lanes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Who takes part, the usual ones first and in their usual order."""
    seen = dict.fromkeys(row["actor"] for row in rows)
    return [name for name in _USUAL if name in seen] + [name for name in seen if name not in _USUAL]


def _line(row: dict[str, Any], rows: Sequence[dict[str, Any]], lanes: list[str]) -> str:
    """One event as one line; empty for an event that another line already shows."""
    event, actor = row["event"], row["actor"]
    canvas = list(" " * _CLOCK + "".join("│".center(WIDE) for _ in lanes) + " " * WIDE)
    canvas[: _CLOCK - 2] = f"{row['time']:.3f} s".rjust(_CLOCK - 2)
    if event == "arrive":
        _arrow(canvas, _at(lanes, row["peer"]), _at(lanes, actor), f"try {row['attempt']}")
    elif event == "receive":
        _arrow(canvas, _at(lanes, row["peer"]), _at(lanes, actor), str(row["status"]))
    elif event == "lose":
        _arrow(canvas, _at(lanes, _sender(row, rows)), _at(lanes, actor), "lost", end="✗")
    elif event in ("send", "reply") and _shown_elsewhere(row, rows):
        return ""
    else:
        _mark(canvas, _at(lanes, actor), _words(row))
    return "".join(canvas)


def _arrow(canvas: list[str], start: int, end_at: int, label: str, end: str = "") -> None:
    low, high = sorted((start, end_at))
    canvas[low : high + 1] = "─" * (high - low + 1)
    canvas[start] = "●"
    canvas[end_at] = end or ("▶" if end_at > start else "◀")
    text = f" {label} "
    left = (low + high + 1 - len(text)) // 2
    canvas[left : left + len(text)] = text


def _mark(canvas: list[str], at: int, words: str) -> None:
    text = f"■ {words} "
    canvas[at : at + len(text)] = text


def _words(row: dict[str, Any]) -> str:
    value = row["value"] or 0.0
    event = str(row["event"])
    pattern = _WORDS.get(event, event.replace("_", " "))
    return pattern.format(status=row["status"], money=f"{value / 100:.2f}", seconds=f"{value:.2f} s", peer=row["peer"])


def _at(lanes: list[str], name: str) -> int:
    """The column of a lane's line."""
    return _CLOCK + lanes.index(name) * WIDE + (WIDE - 1) // 2


def _same_try(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return (row["request"], row["attempt"]) == (other["request"], other["attempt"])


def _sender(lost: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    """Who sent the message that was lost."""
    sent = "send" if lost["status"] == "request" else "reply"
    return next((r["actor"] for r in rows if r["event"] == sent and _same_try(r, lost)), lost["actor"])


def _shown_elsewhere(sent: dict[str, Any], rows: Sequence[dict[str, Any]]) -> bool:
    """Whether the end of this message, its arrival or its loss, has a line of its own."""
    end, lost = ("arrive", "request") if sent["event"] == "send" else ("receive", "reply")
    return any(
        _same_try(r, sent) and (r["event"] == end or (r["event"] == "lose" and r["status"] == lost)) for r in rows
    )
