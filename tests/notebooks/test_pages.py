"""The list of lessons is as `make pages` makes it, and every link in it leads somewhere."""

from __future__ import annotations

import re

import nbformat
import pytest

from simlib.files import NOTEBOOKS
from tests.notebooks.pages import contents

TEXTS = {path.name: path for path in (*NOTEBOOKS.glob("*.md"), *NOTEBOOKS.glob("*.ipynb"))}


def test_the_list_of_lessons_is_up_to_date() -> None:
    assert (NOTEBOOKS / "README.md").read_text(encoding="utf-8") == contents(), "run `make pages`"


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_links_lead_somewhere(name: str) -> None:
    path = TEXTS[name]
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert target.startswith("https://") or (NOTEBOOKS / target).exists(), f"{name} links {target}"
