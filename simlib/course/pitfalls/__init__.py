"""What goes wrong in practice, each beside what goes right: run, not told."""

from __future__ import annotations

import html

from simlib.course.pitfalls.keys import KEYS
from simlib.course.pitfalls.leases import LEASES
from simlib.course.pitfalls.messages import MESSAGES
from simlib.course.pitfalls.pair import Pitfall
from simlib.course.pitfalls.retries import RETRIES
from simlib.table import Table

PITFALLS: tuple[Pitfall, ...] = (*KEYS, *LEASES, *MESSAGES, *RETRIES)


class Pair:
    """A pitfall that has been run: the wrong way and the right way, side by side."""

    def __init__(self, pitfall: Pitfall) -> None:
        self.pitfall = pitfall
        self.wrong, self.right = pitfall.wrong(), pitfall.right()

    def __repr__(self) -> str:
        p = self.pitfall
        ways = (("wrong", p.does, self.wrong), ("right", p.instead, self.right))
        told = "".join(f"\n  {way}: {does}\n    {found.says}" for way, does, found in ways)
        return f"{p.name} (lesson {p.lesson}){told}"

    def _repr_html_(self) -> str:
        p = self.pitfall
        cells = (("✗ wrong", p.does, self.wrong.says), ("✓ right", p.instead, self.right.says))
        columns = "".join(
            f'<div style="flex:1;min-width:16em"><strong>{html.escape(head)}</strong><br>{html.escape(does)}'
            f"<pre>{html.escape(says)}</pre></div>"
            for head, does, says in cells
        )
        title = f"<strong>{html.escape(p.name)}</strong> (lesson {p.lesson})"
        return f'<div>{title}<div style="display:flex;gap:2em;flex-wrap:wrap">{columns}</div></div>'


def pitfalls() -> Table:
    """All pitfalls: name, what people do, and the lesson that shows why not."""
    return Table(("pitfall", "what people do", "lesson"), tuple((p.name, p.does, p.lesson) for p in PITFALLS))


def pitfall(name: str) -> Pair:
    """Run one pitfall, wrong and right; ValueError names those there are."""
    known = {p.name: p for p in PITFALLS}
    if name not in known:
        raise ValueError(f"There is no pitfall {name!r}; there are {', '.join(known)}.")
    return Pair(known[name])
