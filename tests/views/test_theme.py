"""Colours can be read on light and dark pages, and no two meanings look alike."""

from __future__ import annotations

import pytest

from simlib.views.theme import INKS, contrast, stylesheet, width

READ = [name for name, ink in INKS.items() if ink.reads]


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("behind", ["page", "band"])
def test_text_stands_out_from_a_light_page(name: str, behind: str) -> None:
    assert contrast(INKS[name].light, INKS[behind].light) >= (4.5 if behind == "page" else 4.0)


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("behind", ["page", "band"])
def test_text_stands_out_from_a_dark_page(name: str, behind: str) -> None:
    assert contrast(INKS[name].dark, INKS[behind].dark) >= 4.5


def test_the_stylesheet_gives_every_ink_a_light_and_a_dark_value() -> None:
    css = stylesheet()
    for name, ink in INKS.items():
        assert css.count(f"--sl-{name}:") == 2
        assert ink.light in css
        assert ink.dark in css


def test_wider_words_are_taken_to_be_wider() -> None:
    assert width("illicit", 13) < width("WOMBAT", 13) < width("WOMBAT", 13, bold=True) < width("WOMBAT", 26)
