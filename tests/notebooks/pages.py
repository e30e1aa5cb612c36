"""`make pages`: write the glossary's page and the list of lessons, and link each term where its lesson first uses it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nbformat

from simlib.course.glossary import PAGE, linked, page, terms
from simlib.course.lessons import link
from simlib.files import DATA, NOTEBOOKS

HEAD = """# The lessons

Open them with `make lab`, or `simlib lab 05` for one. They can be read here too: their pictures and numbers are saved.
Words that are explained are links into the [glossary](glossary.md); one way to solve each exercise is in
[solutions](solutions); for teachers there is [teaching](teaching.md).
Text and pictures are CC BY 4.0, code is MIT (see `LICENSE`).
"""


def link_terms() -> None:
    """Set the links of the glossary into the lessons; says which term its lesson does not use."""
    for lesson in sorted({t.lesson for t in terms()}):
        path = NOTEBOOKS / link(lesson)
        notebook = nbformat.read(path, as_version=4)
        told = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        there = "\n".join(cell.source for cell in told)
        missing = [t for t in terms() if t.lesson == lesson and f"{PAGE}#{t.anchor} " not in there]
        if missing:
            for cell in told:
                cell.source = linked(cell.source, missing)
            nbformat.write(notebook, path)
        for term in missing:
            print(f"{path.name} does not use {term.name!r}")


def contents() -> str:
    """`notebooks/README.md`: the lessons with their sizes, and where each part of the subject is."""
    lessons = "\n".join(_line(path) for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")))
    sections = tomllib.loads((DATA / "sections.toml").read_text(encoding="utf-8"))["section"]
    table = "\n".join(
        f"| {s['name']} | {s['teaches']} | {', '.join(f'[{n}]({link(n)})' for n in s['where'])} | {s['shown']} |"
        for s in sections
    )
    return (
        f"{HEAD}\n| lesson | minutes | words | cells | of them code |\n|---|---|---|---|---|\n{lessons}\n\n"
        f"## What is where\n\n| part | what it teaches | lesson | shown by |\n|---|---|---|---|\n{table}\n"
    )


def _line(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    told = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    title = re.search(r"^# (.*)$", told, re.MULTILINE)
    minutes = re.search(r"\*\*Time:\*\* (\d+) minutes", told)
    assert title, path
    assert minutes, path
    prose = re.sub(r"\]\([^)]*\)", "]", told)
    words = len(re.findall(r"[^\W\d_]+", prose))
    code = sum(cell.cell_type == "code" for cell in cells)
    return f"| [{title[1]}]({path.name}) | {minutes[1]} | {words} | {len(cells)} | {code} |"


def main() -> None:
    (NOTEBOOKS / PAGE).write_text(page(), encoding="utf-8")
    link_terms()
    (NOTEBOOKS / "README.md").write_text(contents(), encoding="utf-8")


if __name__ == "__main__":
    main()
