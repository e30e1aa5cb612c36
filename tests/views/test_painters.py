"""Both painters take every kind of item, say the picture's description, and show text as it is."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import matplotlib
import pytest
from PIL import Image

from simlib.views import paper, svg
from simlib.views.scene import DASHES, SHAPES, Area, Box, Curve, Group, Item, Line, Mark, Scene, Text
from simlib.views.shapes import OUTLINES

NS = "{http://www.w3.org/2000/svg}"
ITEMS: dict[str, Item] = {
    "line": Line(1, 2, 90, 40, arrow=True, rider="dot", time=3, until=9),
    **{f"{dash} line": Line(1, 2, 90, 40, dash=dash) for dash in DASHES},
    "curve": Curve(((0, 0), (50, 20), (90, 5)), "good", dash="dashdot"),
    "area": Area(((0, 0), (50, 20), (90, 5)), "amber", 0.2),
    "box": Box(5, 5, 10, 20, "wait", 0.5, time=1, until=2),
    **{shape: Mark(50, 25, shape, "bad", time=4) for shape in SHAPES},
    "text": Text(10, 20, "charge 1", bold=True),
    "turned text": Text(10, 20, "calls", anchor="middle", turned=True),
    "group": Group(10, 10, (Text(0, 0, "inside"), Group(5, 5, (Mark(0, 0, "dot"),)))),
}


def scene(*items: Item, alt: str = "2 charges. Then nothing.") -> Scene:
    return Scene(100, 50, items, alt)


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_the_screen_shows_every_kind_of_item(item: Item) -> None:
    root = ET.fromstring(svg.paint(scene(item)))
    assert len(root) > 2  # besides title and desc there is what was asked for
    assert "nan" not in svg.paint(scene(item))


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_paper_shows_every_kind_of_item(item: Item) -> None:
    blank = paper.png(scene())
    assert paper.png(scene(item)) != blank


def test_every_shape_has_an_outline() -> None:
    assert set(SHAPES) == set(OUTLINES)


def test_text_is_escaped_and_shown_as_it_is() -> None:
    words = 'a < b & "c" $x$ </svg><script>'
    picture = scene(Text(0, 10, words), alt=words)
    root = ET.fromstring(svg.paint(picture))
    assert root.findtext(f"{NS}text") == words
    assert root.findtext(f"{NS}desc") == root.get("aria-label") == words
    assert paper.png(picture)


def test_the_description_is_read_aloud() -> None:
    root = ET.fromstring(svg.paint(scene()))
    assert root.get("role") == "img"
    assert root.findtext(f"{NS}title") == "2 charges"
    assert root.findtext(f"{NS}desc") == "2 charges. Then nothing."


def test_what_has_a_moment_says_so_to_the_player() -> None:
    line, head = ET.fromstring(svg.paint(scene(ITEMS["line"])))[2:]
    assert (line.get("data-t"), line.get("data-u"), line.get("data-rider")) == ("3", "9", "dot")
    assert head.get("data-t") == "9", "the head appears when the message has arrived"


def test_a_moment_of_zero_is_a_moment() -> None:
    mark = ET.fromstring(svg.paint(scene(Mark(1, 1, "dot", time=0))))[2]
    assert mark.get("data-t") == "0"


def test_paper_leaves_pyplot_alone() -> None:
    backend = matplotlib.get_backend()
    figure = paper.paint(scene(*ITEMS.values()))
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []
    assert matplotlib.get_backend() == backend
    assert figure.alt == repr(figure) == "2 charges. Then nothing."


def test_the_png_is_sharp_and_says_what_it_shows() -> None:
    image = Image.open(io.BytesIO(paper.png(replace(scene(), alt="€50, twice"))))
    assert image.size == (200, 100)
    assert image.info["Description"] == "€50, twice"


def test_a_notebook_keeps_picture_words_and_description() -> None:
    data, about = paper.paint(scene())._repr_mimebundle_()
    assert data["text/plain"] == "2 charges. Then nothing."
    assert data["image/png"].startswith(b"\x89PNG")
    assert about["image/png"] == {"alt": "2 charges. Then nothing.", "width": 100}


def test_the_same_scene_gives_the_same_bytes() -> None:
    assert paper.png(scene(*ITEMS.values())) == paper.png(scene(*ITEMS.values()))
