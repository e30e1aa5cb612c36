"""A small result table: names of columns and rows, printed well as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SHOWN = 40  # rows printed before the middle is left out


@dataclass(frozen=True)
class Table:
    """Rows with named columns, as SQL returns them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def scalar(self) -> Any:
        """The one value of a table with one row and one column; ValueError for any other shape."""
        if len(self.rows) != 1 or len(self.columns) != 1:
            raise ValueError(f"scalar() needs one row of one column; this has {len(self.rows)} of {len(self.columns)}.")
        return self.rows[0][0]

    def column(self, name: str) -> list[Any]:
        """One column as a list; ValueError names the columns there are."""
        if name not in self.columns:
            raise ValueError(f"no column {name!r}; there are {', '.join(self.columns)}.")
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def __str__(self) -> str:
        rows = [[_cell(v) for v in row] for row in self._shown()]
        widths = [max(len(c), *(len(r[i]) for r in rows)) if rows else len(c) for i, c in enumerate(self.columns)]
        right = [all(isinstance(r[i], int | float | type(None)) for r in self.rows) for i in range(len(self.columns))]

        def line(cells: list[str]) -> str:
            pairs = zip(cells, widths, right, strict=True)
            return "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in pairs).rstrip()

        out = [line(list(self.columns)), "  ".join("-" * w for w in widths), *(line(r) for r in rows)]
        return "\n".join(out + self._left_out())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(c)}</th>' for c in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in row) + "</tr>" for row in self._shown()
        )
        note = "".join(f"<p>{html.escape(n)}</p>" for n in self._left_out())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def _shown(self) -> tuple[tuple[Any, ...], ...]:
        return self.rows[:SHOWN]

    def _left_out(self) -> list[str]:
        more = len(self.rows) - SHOWN
        return [f"… and {more:,} rows more"] if more > 0 else []


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.4g}"
    return str(value)
