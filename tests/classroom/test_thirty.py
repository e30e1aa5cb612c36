"""Thirty learners finish lesson 05 on one server, while one more runs an endless query and one an endless insert."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.classroom import thirty
from tests.live.conftest import passable_folder, processes_of, until

pytestmark = pytest.mark.classroom


@pytest.fixture(scope="module")
def lesson() -> Iterator[thirty.Lesson]:
    with passable_folder() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.delenv("SIMLIB_DSN", raising=False)
        try:
            yield thirty.hold(hogs=True)
        finally:
            until(lambda: not processes_of(cache))  # the server stops by itself, once its last user has gone


def test_everybody_else_finishes(lesson: thirty.Lesson) -> None:
    assert sorted(lesson.seconds) == thirty.QUIET


def test_what_was_endless_was_ended(lesson: thirty.Lesson) -> None:
    assert any(said.startswith("insert: ") for said in lesson.ended)
    assert any(said.startswith("query: ") for said in lesson.ended)
