"""A reader of a log is replaced: what was done after a gap comes again, what was only handed out is lost."""

from __future__ import annotations

from simlib.scenarios.offsets import Offsets


def test_done_without_a_gap_is_what_counts() -> None:
    """Done 1, 2, 3, 5, 6, 7; committed 3; after the rebalance 4 to 7 come, 5 to 7 for the second time."""
    run = Offsets(commit="done").run()
    again = run.trace.sql("select request + 1 as n from events where event = 'redeliver' order by time").column("n")
    assert again == [4, 5, 6, 7]
    assert (run.counts["twice"], run.counts["lost"]) == (3, 0)


def test_committing_what_was_handed_out_loses_what_was_in_hand() -> None:
    run = Offsets(commit="handed out").run()
    assert (run.counts["again"], run.counts["twice"], run.counts["lost"]) == (0, 0, 1)


def test_an_inbox_makes_the_repeats_harmless_and_finds_nothing_lost() -> None:
    assert Offsets(commit="done", inbox=True).run().counts["twice"] == 0
    assert Offsets(commit="handed out", inbox=True).run().counts["lost"] == 1
