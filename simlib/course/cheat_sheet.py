"""The course on one page: to be read in a notebook, and printed."""

from __future__ import annotations

import re
from pathlib import Path

from simlib.files import DATA

FILE = DATA / "cheat_sheet.html"


class CheatSheet:
    """The page; a notebook shows it. `path` is the file, to be opened in a browser and printed on one sheet of A4."""

    path: Path = FILE

    def __repr__(self) -> str:
        headings = re.findall(r"<h2>(.*?)</h2>", FILE.read_text(encoding="utf-8"))
        return f"the cheat sheet: {', '.join(headings)}"

    def _repr_html_(self) -> str:
        text = FILE.read_text(encoding="utf-8")
        style, body = (
            re.search(r"<style>.*?</style>", text, re.DOTALL),
            re.search(r"<body.*?>(.*)</body>", text, re.DOTALL),
        )
        assert style
        assert body
        return f'{style[0]}<div class="cheat">{body[1]}</div>'


def cheat_sheet() -> CheatSheet:
    """The course on one page."""
    return CheatSheet()
