"""Every number in a lesson's prose comes from a cell of that lesson, from `data/`, or is named with its source."""

from __future__ import annotations

import re
import tomllib

import nbformat
import pytest

from simlib.course.lessons import link
from simlib.files import DATA, NOTEBOOKS
from tests.notebooks.saved import texts

NUMBER = re.compile(r"(?<![\w.#/])\d[\d,]*(?:\.\d+)?(?!\w)")
NOT_PROSE = (
    re.compile(r"```.*?```|`[^`]*`", re.DOTALL),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"^# .*$|\*\*Time:\*\* \d+ minutes", re.MULTILINE),
    re.compile(r"^\*\*\d\.\*\*", re.MULTILINE),
    re.compile(r"\[\d\d · [^\]]*\]|[Ll]essons? \d\d|\d\d · "),
)
SAID = tomllib.loads((DATA / "prose.toml").read_text(encoding="utf-8"))["said"]
LESSONS = [f"{n:02}" for n in range(13)]


def prose_of(source: str) -> str:
    """Markdown without code, targets of links, title, time, the exercises' numbers and the lessons' own."""
    for other in NOT_PROSE:
        source = other.sub("", source)
    return source


def numbers(text: str) -> set[str]:
    return {number.replace(",", "").rstrip(".") for number in NUMBER.findall(text)}


def without_a_source(lesson: str) -> set[str]:
    """Numbers in the prose of a lesson that no cell of it has, neither in its code nor in its output."""
    cells = nbformat.read(NOTEBOOKS / link(lesson), as_version=4).cells
    told = set().union(*(numbers(prose_of(c.source)) for c in cells if c.cell_type == "markdown"))
    shown = " ".join(
        text
        for c in cells
        if c.cell_type == "code"
        for text in (c.source, *(t for output in c.outputs for t in texts(output)))
    )
    return told - set(re.findall(r"\d+(?:\.\d+)?", shown.replace(",", "").replace("_", "")))


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_number_is_made_up(lesson: str) -> None:
    named = {number for row in SAID if row["lesson"] == lesson for number in row["numbers"]}
    assert without_a_source(lesson) == named, "let a cell compute it, or name its source in data/prose.toml"


def test_the_search_finds_a_number_that_nobody_computed() -> None:
    assert numbers(prose_of("It makes 1,234 calls in 0.5 s, and 27 in [lesson 05](05.ipynb); `x = 9`.")) == {
        "1234",
        "0.5",
        "27",
    }
    assert numbers(prose_of("# 05 · Title\n**Time:** 20 minutes\n**1.** Do this, see [06 · Points](06.ipynb)")) == set()


def test_every_source_is_said() -> None:
    assert all(len(row["source"]) > 20 for row in SAID)
