"""Lesson 00 under a learner's hand: the key switched by mouse and keyboard, the story played, no network."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from simlib.files import NOTEBOOKS
from tests.browser import lesson_page as lp
from tests.lab import Lab

LESSON = next(NOTEBOOKS.glob("00_*.ipynb")).name
TWICE = re.compile(r"keys=False.*: 1 purchase, 2 charges, 1 duplicate")
ONCE = re.compile(r"keys=True.*: 1 purchase, 1 charge, 0 duplicates")

pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture(scope="module")
def opened(browser: Browser, course: Lab) -> Iterator[lp.LessonPage]:
    """The lesson, run from top to bottom, once for all tests here."""
    with lp.lesson_page(browser, course) as page:
        page.open(LESSON)
        page.run_all()
        yield page


@pytest.fixture
def clean(opened: lp.LessonPage, keep_failure: lp.KeepFailure) -> Iterator[None]:
    """Whatever a test does here, no cell fails, the console stays clean and nothing is asked of the outside."""
    with keep_failure(opened):
        yield
        assert opened.failures() == []
        assert opened.errors == []
        assert opened.outside() == []


@pytest.fixture
def playground(opened: lp.LessonPage) -> Locator:
    """The first playground of the lesson, whatever the last test left: without a key, at the end of its story."""
    found = opened.panel.locator(".simlib-playground").first
    found.scroll_into_view_if_needed()
    opened.page.emulate_media(reduced_motion="no-preference")
    side(found, "With a key").click()
    expect(numbers(found)).to_have_text(ONCE)
    side(found, "Without a key").click()
    expect(numbers(found)).to_have_text(TWICE)
    return found


def numbers(playground: Locator) -> Locator:
    return playground.locator(".simlib-said")


def picture(playground: Locator) -> Locator:
    return playground.locator(".simlib-stage svg")


def side(playground: Locator, name: str) -> Locator:
    return playground.get_by_role("button", name=name, exact=True)


def test_both_endings_are_seen_side_by_side(playground: Locator) -> None:
    side(playground, "side by side").click()
    expect(numbers(playground)).to_have_text(ONCE)
    expect(numbers(playground)).to_have_text(TWICE)
    expect(picture(playground)).to_contain_text("2 charges")
    expect(picture(playground)).to_contain_text("1 charge")


def test_the_key_is_switched_by_mouse(playground: Locator) -> None:
    """Numbers and picture follow the switch, there and back."""
    side(playground, "Without a key").click()
    expect(numbers(playground)).not_to_have_text(ONCE)
    expect(numbers(playground)).to_have_text(TWICE)
    without = picture(playground).inner_html()
    side(playground, "With a key").click()
    expect(numbers(playground)).to_have_text(ONCE)
    expect(numbers(playground)).not_to_have_text(TWICE)
    expect(picture(playground)).not_to_contain_text("2 charges")
    assert picture(playground).inner_html() != without
    side(playground, "Without a key").click()
    expect(numbers(playground)).to_have_text(TWICE)
    assert picture(playground).inner_html() == without


def test_the_key_is_switched_by_keyboard(playground: Locator) -> None:
    """From one switch to the next with Tab, pressed with the space bar."""
    side(playground, "Without a key").press(" ")
    expect(numbers(playground)).not_to_have_text(ONCE)
    before = picture(playground).inner_html()
    playground.page.keyboard.press("Tab")
    expect(side(playground, "With a key")).to_be_focused()
    playground.page.keyboard.press(" ")
    expect(numbers(playground)).to_have_text(ONCE)
    assert picture(playground).inner_html() != before


def test_a_slider_is_moved_by_keyboard(playground: Locator) -> None:
    """One more purchase with the arrow key, and back: the numbers tell of two, then of one."""
    handle = playground.locator(".widget-hslider", has_text="purchases").locator(".noUi-handle")
    handle.press("ArrowRight")
    expect(numbers(playground)).to_have_text(re.compile("2 purchases"))
    handle.press("ArrowLeft")
    expect(numbers(playground)).to_have_text(TWICE)


def test_the_story_is_played(playground: Locator) -> None:
    """Play draws the story from its start to its end; the clock goes along."""
    time, play = playground.locator(".simlib-time"), playground.locator(".simlib-play")
    end = time.text_content()
    assert hidden(playground) == 0
    playground.locator(".simlib-step").click()
    expect(time).not_to_have_text(end)
    assert hidden(playground) > 0
    fast(playground)
    play.click()
    expect(play).to_have_text(re.compile("pause"))
    expect(time).to_have_text(end, timeout=60_000)
    expect(play).to_have_text(re.compile("play"))
    assert hidden(playground) == 0


def test_the_story_is_stepped_by_keyboard(playground: Locator) -> None:
    """The scrubber's arrow keys go from event to event, back and forth."""
    scrub, happening = playground.locator(".simlib-scrub"), playground.locator(".simlib-happening")
    at_the_end = happening.text_content()
    scrub.press("ArrowLeft")
    expect(happening).not_to_have_text(at_the_end)
    scrub.press("ArrowRight")
    expect(happening).to_have_text(at_the_end)


def test_the_story_stands_still_between_steps_where_motion_is_not_wanted(playground: Locator) -> None:
    playground.page.emulate_media(reduced_motion="reduce")
    end = playground.locator(".simlib-time").text_content()
    fast(playground)
    playground.locator(".simlib-play").click()
    expect(playground.locator(".simlib-time")).not_to_have_text(end)
    expect(playground.locator(".simlib-rider[style*=' visible']")).to_have_count(0)
    expect(playground.locator(".simlib-time")).to_have_text(end, timeout=60_000)


def fast(playground: Locator) -> None:
    """Turn the player to its highest speed."""
    speed = playground.locator(".simlib-speed")
    while speed.text_content() != "4×":
        speed.click()


def hidden(playground: Locator) -> int:
    """How many items of the picture have not happened yet at the player's moment."""
    items = playground.locator(".simlib-stage svg [data-t]")
    return items.evaluate_all("items => items.filter(i => i.style.visibility === 'hidden').length")
