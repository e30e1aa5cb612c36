"""`make picture`: the playground as README shows it, taken from a real Chromium.

`python -m tests.browser.readme_picture data/playground.png`
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser import lesson_page as lp

SHARP = 2  # dots of the picture to one of the page, for high-density screens
COLOURS = 96  # enough for lines and letters, and a small file


def take(out: Path) -> None:
    """Open a lesson that holds the playground alone, and save what it shows."""
    with tempfile.TemporaryDirectory() as folder, lp.chromium() as browser, lp.course(Path(folder)) as running:
        lesson = Path(folder) / "clone" / "notebooks" / "picture.ipynb"
        lp.write_notebook(lesson, "import simlib as sl", "sl.Playground(sl.DoubleTap())")
        with lp.lesson_page(browser, running, sharp=SHARP) as page:
            page.open(lesson.name)
            page.run_all()
            if wrong := page.failures():
                sys.exit("\n".join(wrong))
            playground = page.panel.locator(".simlib-playground")
            playground.locator(".simlib-stage svg").wait_for()
            taken = playground.screenshot(animations="disabled")
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS).save(out, optimize=True)


if __name__ == "__main__":
    take(Path(sys.argv[1]))
