"""`make screenshots`: every lesson, run in a real Chromium, as a picture in screenshots/, whole length.

`python -m tests.browser.screenshots [05 ...]`; without numbers, all.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from simlib.cli.lessons import lessons
from simlib.files import NOTEBOOKS
from tests.browser import lesson_page as lp

FOLDER = Path("screenshots")
AROUND = 120  # pixels of menu and tool bar
TALLEST = 16_000  # pixels; Chromium draws no taller picture


def shoot(page: lp.LessonPage, name: str, out: Path) -> list[str]:
    """Run a lesson, make the window as tall as it is, save the picture; returns what went wrong."""
    page.open(name)
    page.run_all()
    page.page.add_style_tag(content="* { content-visibility: visible !important; }")  # else heights are guesses
    scrolled = page.panel.locator(".jp-WindowedPanel-outer")
    for _ in range(2):  # wider pictures once the scroll bar is gone
        height = scrolled.evaluate("node => node.scrollHeight")
        page.page.set_viewport_size({"width": 1280, "height": min(TALLEST, int(height) + AROUND)})
    scrolled.evaluate("node => node.scrollTo(0, 0)")
    page.panel.screenshot(path=out)
    return [*page.failures(), *page.errors, *page.outside()]


def main(numbers: list[str]) -> int:
    if lp.CHROMIUM is None:
        print("no Chromium on the path (on Debian: apt-get install chromium)", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, lp.chromium() as browser, lp.course(Path(folder)) as running:
        for lesson in lessons(NOTEBOOKS):
            if numbers and lesson.name[:2] not in numbers:
                continue
            out = FOLDER / f"{lesson.stem}.png"
            with lp.lesson_page(browser, running) as page:
                faults = shoot(page, lesson.name, out)
            print(f"{out}{': ' + '; '.join(faults) if faults else ''}", flush=True)
            wrong += bool(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
