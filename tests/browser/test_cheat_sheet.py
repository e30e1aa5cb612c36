"""The cheat sheet prints on one page of A4."""

from __future__ import annotations

import re
from typing import Any

from simlib.course.cheat_sheet import FILE, cheat_sheet


def test_it_is_one_printed_page(browser: Any) -> None:
    page = browser.new_page()
    page.goto(FILE.as_uri())
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", pdf)) == 1


def test_in_a_notebook_it_is_the_same_text() -> None:
    shown = cheat_sheet()._repr_html_()
    assert "<h2>Three outcomes</h2>" in shown
    assert "@page" in shown
    assert "the cheat sheet: Three outcomes" in repr(cheat_sheet())
