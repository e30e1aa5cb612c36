"""A browser and a served course for these tests. Without Chromium they are skipped, or fail if required."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import lesson_page as lp
from tests.lab import Lab

REQUIRED = os.environ.get("SIMLIB_REQUIRE_BROWSER") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember whether a test failed, for the screenshot."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "call":
        item.stash[_failed] = report.failed


_failed = pytest.StashKey[bool]()


@pytest.fixture(scope="module")  # while it is there an event loop runs in this thread, which other tests may not want
def browser() -> Iterator[Browser]:
    if lp.CHROMIUM is None:
        reason = "no Chromium on the path (on Debian: apt-get install chromium)"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    with lp.chromium() as launched:
        yield launched


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lp.course(tmp_path_factory.mktemp("course")) as running:
        yield running


@pytest.fixture
def keep_failure(request: pytest.FixtureRequest, tmp_path: Path) -> lp.KeepFailure:
    """Around a test: a failed one leaves a screenshot in its temporary folder."""

    @contextmanager
    def keep(page: lp.LessonPage) -> Iterator[None]:
        yield
        if request.node.stash.get(_failed, False):
            shot = tmp_path / "failed.png"
            page.page.screenshot(path=shot)
            print(f"screenshot: {shot}")

    return keep


@pytest.fixture
def lesson(browser: Browser, course: Lab, keep_failure: lp.KeepFailure) -> Iterator[lp.LessonPage]:
    """A tab of its own for one lesson."""
    with lp.lesson_page(browser, course) as page, keep_failure(page):
        yield page
