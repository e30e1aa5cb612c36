"""The museum: every broken version is caught by the search, every right one survives, and no story could be shorter."""

from __future__ import annotations

import pytest

from simlib.live.museum import BROKEN, RIGHT, Exhibit
from simlib.live.search.tree import Budget

pytestmark = pytest.mark.usefixtures("server")

SMALL = sorted(name for name, e in BROKEN.items() if not (e.expiries or (e.losses and len(e.args) > 1)))
"""Exhibits whose full search, without reduction, is a matter of seconds."""

LARGE = ["fingerprint_after_the_lease", "last_write_not_fenced"]
"""Leases run out in them, so a full search takes minutes."""


def test_there_is_something_to_see() -> None:
    assert len(BROKEN) >= 16


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_one_is_caught_and_its_story_comes_back(name: str) -> None:
    report = BROKEN[name].explore()
    assert report.complete
    assert report.story is not None
    again = report.replay(report.story.code)
    assert set(again.broke) == set(report.story.broke)


@pytest.mark.parametrize("exhibit", RIGHT, ids=lambda e: f"{e.name}-{e.crashes}{e.losses}{e.expiries}")
def test_a_right_one_survives_everything(exhibit: Exhibit) -> None:
    report = exhibit.explore()
    assert (report.violating, report.complete) == (0, True), report


@pytest.mark.parametrize("name", SMALL)
def test_no_shorter_story_exists(name: str) -> None:
    """Breadth: of all schedules, none left out, the shortest that breaks something is as long as the one told."""
    told, every = BROKEN[name].explore(), BROKEN[name].explore(reduce=False, budget=Budget(seconds=100))
    assert every.complete
    assert told.story is not None
    assert every.story is not None
    assert told.length == every.length
    assert set(every.violations) == set(told.violations), "leaving schedules out hides nothing"


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_no_shorter_story_exists_where_leases_run_out(name: str) -> None:
    """As above, of 4,028 and of 20,162 schedules."""
    told = BROKEN[name].explore()
    every = BROKEN[name].explore(reduce=False, budget=Budget(schedules=50_000, seconds=1200))
    assert every.complete
    assert (told.length, set(told.violations)) == (every.length, set(every.violations))


@pytest.mark.parametrize("name", ["check_then_insert", "claim_then_work", "mark_elsewhere_after"])
def test_a_broken_one_is_right_when_tried_alone(name: str) -> None:
    """Why they get shipped: without company and without trouble nothing is wrong with them."""
    exhibit = BROKEN[name]
    alone = Exhibit(exhibit.fn, exhibit.args[:1], exhibit.invariant, seed=exhibit.seed)
    assert alone.explore().violating == 0
