"""How long the hand waits: from a knob turned to the new picture, in Python and in a real browser."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from simlib.scenarios import SCENARIOS
from simlib.scenarios.double_tap import DoubleTap
from simlib.views.playground import Playground
from tests.browser import lesson_page as lp

TURNS = 21
CROWD = 2_000  # purchases
AIM, AIM_BROWSER = 50, 150  # ms
AIMS = {"retry-storm": 100}  # ms, four layers deep

STAMP = """() => new Promise(done => {
  const stage = document.querySelectorAll('.simlib-playground .simlib-stage')[0];
  const began = performance.now();
  new MutationObserver((_, me) => { me.disconnect(); requestAnimationFrame(() => done(performance.now() - began)); })
    .observe(stage, {childList: true, subtree: true, attributes: true, characterData: true});
})"""


def report() -> bool:
    """Print the waits: both endings of a crowd, every scenario at its defaults, and a key press in Chromium."""
    losses = [{"reply_loss": 0.1 + 0.01 * (i % 2)} for i in range(TURNS)]
    good = _told(f"both endings of {CROWD:,} purchases", _redraws(DoubleTap(reply_loss=0.1, purchases=CROWD), losses))
    for name, scenario in sorted(SCENARIOS.items()):
        aim = AIMS.get(name, AIM)
        good &= _told(f"{name} at its defaults", _redraws(scenario(), [{"seed": i} for i in range(TURNS)]), aim)
    if lp.CHROMIUM is None:
        print("key press to changed picture: not measured, there is no Chromium here")
        return good
    return good & _told("key press to changed picture in Chromium", _presses(), AIM_BROWSER)


def _told(what: str, waits: list[float], aim: float = 40) -> bool:
    print(f"{what}: {median(waits):.0f} ms (at most {aim:g})")
    return median(waits) <= aim


def _redraws(scenario: Any, turns: list[dict[str, Any]]) -> list[float]:
    playground = Playground(scenario)
    return [_timed(playground, turn) for turn in turns]


def _timed(playground: Playground, turn: dict[str, Any]) -> float:
    began = perf_counter()
    playground.set(**turn)
    return (perf_counter() - began) * 1000


def _presses() -> list[float]:
    """Milliseconds from an arrow key on a slider to the frame with the new picture, as the page's own clock says."""
    with tempfile.TemporaryDirectory() as folder, lp.course(Path(folder)) as lab:
        source = f"import simlib as sl\nsl.Playground(sl.DoubleTap(reply_loss=0.1, purchases={CROWD}))"
        lp.write_notebook(Path(folder) / "clone" / "notebooks" / "hand.ipynb", source)
        with lp.chromium() as browser, lp.lesson_page(browser, lab) as lesson:
            lesson.open("hand.ipynb")
            lesson.run_all()
            slider = lesson.panel.locator(".noUi-handle").first
            slider.focus()
            return [_press(lesson, i) for i in range(TURNS)]


def _press(lesson: lp.LessonPage, i: int) -> float:
    waiting = lesson.page.evaluate_handle(f"() => {{ window.seen = ({STAMP})(); }}")
    lesson.page.keyboard.press("ArrowRight" if i % 2 == 0 else "ArrowLeft")
    seen = lesson.page.evaluate("() => window.seen")
    waiting.dispose()
    return seen
