"""The gap between two charges of one purchase tells a client that retries from a server that races."""

from __future__ import annotations

import pytest

from simlib.scenarios.duplicate_gaps import DuplicateGaps, gaps
from simlib.trace import Recorder


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("timeout", [0.5, 2.0, 10.0])
def test_a_client_that_retries_is_a_time_out_away(timeout: float, seed: int) -> None:
    """Time-out, then at most 0.1 s of backoff; the rest is how long two requests take."""
    run = DuplicateGaps(timeout=timeout).run(seed)
    assert run.counts["duplicates"] > 100
    assert all(timeout - 0.4 < gap < timeout + 0.6 for gap in run.series["gaps"])


@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_races_is_milliseconds_away_whatever_the_time_out(seed: int) -> None:
    runs = [DuplicateGaps(cause="server race", timeout=timeout).run(seed) for timeout in (0.5, 10.0)]
    assert runs[0].series == runs[1].series
    assert runs[0].counts["duplicates"] > 100
    assert max(runs[0].series["gaps"]) < 0.1


def test_a_copy_that_comes_after_the_work_finds_the_key() -> None:
    """Not every copy charges: the race is lost only while the first one is at work."""
    run = DuplicateGaps(cause="server race", share=1.0).run()
    assert 0 < run.trace.count("replay") == run.counts["purchases"] - run.counts["duplicates"]


def test_gaps_are_those_between_effects_of_one_request() -> None:
    recorder = Recorder()
    for time, request in ((0.0, 1), (0.5, 2), (2.0, 1), (2.1, 1), (9.0, 3)):
        recorder.add(time, "database", "effect", request=request)
    assert gaps(recorder.freeze()) == pytest.approx([2.0, 0.1])


def test_where_it_befalls_nobody_nobody_pays_twice() -> None:
    for cause in ("client retry", "server race"):
        run = DuplicateGaps(cause=cause, share=0.0).run()
        assert run.text.endswith("2,000 purchases, 0 duplicates")
        assert run.figure().alt.endswith("no gaps, time-out at 2 s.")
