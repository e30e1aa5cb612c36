"""Lessons that can be read and used by everybody: axe-core finds nothing serious, on paper and on the projector."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from simlib.cli.lessons import lessons
from simlib.files import DATA, NOTEBOOKS
from tests.browser.lesson_page import CELL_WITHIN
from tests.lab import lab

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All lessons as HTML, as `make html` writes them."""
    folder = tmp_path_factory.mktemp("html")
    words = ["--log-level", "WARN", "--to", "html", "--template", "simlib", "--output-dir", str(folder)]
    subprocess.run(
        [sys.executable, "-m", "jupyter", "nbconvert", *words, *map(str, lessons(NOTEBOOKS))],
        env={**os.environ, "JUPYTER_PATH": str(DATA / "present")},
        check=True,
    )
    return folder


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


def found(page: Page) -> list[Any]:
    """What is serious: rule, how often, and the first place."""
    seen = Axe().run(page).response["violations"]
    return [(v["id"], len(v["nodes"]), v["nodes"][0]) for v in seen if v["impact"] in SERIOUS]


@pytest.mark.parametrize("path", lessons(NOTEBOOKS), ids=lambda p: p.stem)
def test_an_exported_lesson_is_complete_and_accessible(pages: Path, page: Page, path: Path) -> None:
    """It asks nobody for anything, shows a picture for every playground, and reads well."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((pages / f"{path.stem}.html").as_uri())
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert found(page) == []
    playgrounds = path.read_text(encoding="utf-8").count("sl.Playground(")
    assert page.locator(".jp-OutputArea-output svg, .jp-OutputArea-output img").count() >= playgrounds


def test_a_presented_lesson_is_accessible(browser: Browser, tmp_path: Path) -> None:
    with lab("00", cwd=tmp_path, home=tmp_path, command="present") as running:
        page = browser.new_page()
        page.goto(running.address)
        page.locator("#loading").wait_for(state="detached", timeout=CELL_WITHIN)
        page.locator(".simlib-playground").first.wait_for(timeout=CELL_WITHIN)
        assert found(page) == []
        page.close()
