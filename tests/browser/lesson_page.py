"""A lesson open in a real Chromium, as a learner has it: served by `simlib lab`, nothing else reachable.

Used by the browser tests and by `make screenshots`.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

import simlib
from tests.lab import Lab, lab

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CELL_WITHIN = 120_000  # ms, for the slowest cell of a lesson on a busy machine
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # the network is cut off
)
_HAS_BEGUN = re.compile(r"\[(\d+|\*)\]")
_HAS_RUN = re.compile(r"\[\d+\]")
_WRONG = '[data-mime-type="application/vnd.jupyter.stderr"]'  # how JupyterLab marks errors and warnings alike
_workspace = itertools.count(1)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium that reaches 127.0.0.1 and nothing else."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        yield browser
        browser.close()


@contextmanager
def course(folder: Path) -> Iterator[Lab]:
    """`simlib lab` on a copy of the course in `folder`, so that what a test clicks changes no lesson."""
    clone, home = folder / "clone", folder / "home"
    home.mkdir()
    package = Path(simlib.__file__).parent
    for part in ("notebooks", "data"):
        shutil.copytree(package.parent / part, clone / part)
    (clone / "simlib").symlink_to(package)
    with lab(cwd=clone, home=home, PYTHONPATH=str(clone), XDG_CACHE_HOME=str(home / "cache")) as running:
        yield running


class LessonPage:
    """One lesson in one tab. `errors` and `requests` fill while it is open."""

    def __init__(self, page: Page, running: Lab) -> None:
        self.page = page
        self._lab = running
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        page.on("request", lambda r: self.requests.append(r.url))
        page.on("websocket", lambda w: self.requests.append(w.url))

    def open(self, name: str) -> None:
        """Open a lesson in a workspace of its own (else the last tabs come back); wait for its kernel."""
        workspace = f"test-{next(_workspace)}"
        query = f"reset&token={self._lab.token}"
        self.page.goto(f"{self._lab.base}/lab/workspaces/{workspace}/tree/{name}?{query}")
        self.panel.locator(".jp-CodeCell").first.wait_for(timeout=CELL_WITHIN)
        self.wait_idle()

    @property
    def panel(self) -> Locator:
        """The notebook in front."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    @property
    def cells(self) -> Locator:
        """Its code cells."""
        return self.panel.locator(".jp-CodeCell")

    def _start_all(self) -> None:
        """Choose Run All; once more if JupyterLab dropped it, as it does while a new kernel connects."""
        begun = self.cells.first.locator(".jp-InputPrompt").filter(has_text=_HAS_BEGUN)
        self._choose_run_all()
        try:
            begun.wait_for(timeout=5_000)
        except PlaywrightTimeout:
            self._choose_run_all()

    def _choose_run_all(self) -> None:
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.locator('.lm-Menu [data-command="runmenu:run-all"]').click()

    def wait_idle(self) -> None:
        """Until the kernel is there and has nothing to do."""
        self.page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=CELL_WITHIN)
        self.panel.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for(
            state="attached", timeout=CELL_WITHIN
        )

    def run_all(self) -> None:
        """Run all cells by the menu and wait until the last has run, or one has failed."""
        self._start_all()
        last = self.cells.last.locator(".jp-InputPrompt").filter(has_text=_HAS_RUN)
        last.or_(self.panel.locator(_WRONG)).first.wait_for(timeout=CELL_WITHIN)
        self.wait_idle()

    def failures(self) -> list[str]:
        """What cells show as errors or warnings."""
        return self.panel.locator(_WRONG).all_inner_texts()

    def outside(self) -> list[str]:
        """Requests that left this machine."""
        inside = (self._lab.base, self._lab.base.replace("http:", "ws:"), "data:", "blob:")
        return [url for url in self.requests if not url.startswith(inside)]


KeepFailure = Callable[[LessonPage], AbstractContextManager[None]]
"""Keeps a screenshot of a page when the test around which it stands fails."""


@contextmanager
def lesson_page(browser: Browser, running: Lab, *, sharp: float = 1) -> Iterator[LessonPage]:
    """A fresh browser profile with one tab; `sharp` is the dots of a screenshot to one of the page."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400}, device_scale_factor=sharp)
    page = context.new_page()
    page.set_default_timeout(30_000)
    try:
        yield LessonPage(page, running)
    finally:
        context.close()


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook of these code cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    sources = [nbformat.v4.new_code_cell(source) for source in cells]
    notebook = nbformat.v4.new_notebook(cells=sources, metadata={"kernelspec": kernel})
    nbformat.write(notebook, path)
