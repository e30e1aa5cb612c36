"""`simlib present` on a projector: a lesson that can be played, shows no code, and asks nobody for anything."""

from __future__ import annotations

import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.lesson_page import CELL_WITHIN
from tests.lab import Lab, commands, lab


@pytest.fixture(scope="module")
def presented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("home")
    with lab("04", cwd=home, home=home, command="present", XDG_CACHE_HOME=str(home / "cache")) as running:
        yield running


@pytest.fixture
def page(browser: Browser, presented: Lab) -> Iterator[Page]:
    """The lesson on a projector of 1,280 by 800; no request may leave, nothing may fail."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    failed: list[str] = []
    opened.on("pageerror", lambda error: failed.append(str(error)))
    opened.on("request", lambda r: None if _inside(r.url, presented) else failed.append(r.url))
    opened.goto(presented.address)
    opened.locator("#loading").wait_for(state="detached", timeout=CELL_WITHIN)
    yield opened
    context.close()
    assert failed == []


def _inside(url: str, running: Lab) -> bool:
    return url.startswith((running.base, "data:", "blob:"))


def test_a_playground_answers_and_no_code_is_shown(page: Page) -> None:
    playground = page.locator(".simlib-playground").first
    said = playground.locator(".simlib-said")
    playground.get_by_role("button", name="A duplicate waits", exact=True).click()
    expect(said).to_contain_text("style='wait'")
    playground.get_by_role("button", name="A duplicate gets 409", exact=True).click()
    expect(said).to_contain_text("style='409'")
    expect(page.locator(".jp-InputArea-editor")).to_have_count(0)
    assert "sl.Playground" not in page.inner_text("body")


def test_the_type_is_large_and_nothing_is_wider_than_the_screen(page: Page) -> None:
    size = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.jp-RenderedHTMLCommon p')).fontSize)")
    assert size >= 20
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_terms_are_explained_where_they_stand_and_exercises_are_left_out(page: Page) -> None:
    assert "key" in page.locator("abbr[title]").all_inner_texts()
    headings = page.locator("h2").all_inner_texts()
    assert any(h.startswith("Recap") for h in headings)
    assert not any(h.startswith("Exercise") for h in headings)


def test_without_the_token_nobody_gets_in(presented: Lab) -> None:
    request = urllib.request.urlopen(presented.address.partition("?")[0], timeout=20)
    with request as answer:
        assert "login" in answer.geturl()
        assert b"Idempotency keys" not in answer.read()
    assert not any(presented.token in command for command in commands(presented.process).values())


def test_it_ends_and_leaves_nothing(tmp_path: Path) -> None:
    """Stopped while a lesson is being run for a browser: its kernel and its folders go too."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with lab("00", cwd=tmp_path, home=tmp_path, command="present", TMPDIR=str(scratch)) as running:
        with urllib.request.urlopen(running.address, timeout=60) as answer:
            assert b"Start here" in answer.read()
        everyone = psutil.Process(running.process.pid).children(recursive=True)
        assert len(everyone) >= 2
        code, printed = running.stop(signal.SIGINT)
        assert (code, printed) == (0, "Stopped.\n")
        _, alive = psutil.wait_procs(everyone, timeout=10)
        assert alive == []
        assert [left.name for left in scratch.iterdir() if left.name.startswith("simlib")] == []
