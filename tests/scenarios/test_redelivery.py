"""Redelivery: in which order to work, note and confirm, told by balances."""

from __future__ import annotations

import pytest

from simlib.scenarios.redelivery import Redelivery


def test_five_deliveries_of_three_messages() -> None:
    """evt-1, evt-2, evt-1, evt-2, evt-3: 1000 with the inbox, 1800 without."""
    without, with_inbox = Redelivery().run().counts, Redelivery(inbox=True).run().counts
    assert (without["messages"], without["deliveries"], without["balance"]) == (3, 5, 1800)
    assert (with_inbox["deliveries"], with_inbox["applied"], with_inbox["balance"]) == (5, 3, 1000)


@pytest.mark.parametrize("inbox", [False, True])
def test_confirming_before_the_work_loses_it(inbox: bool) -> None:
    counts = Redelivery(ack="before", inbox=inbox).run().counts
    assert (counts["lost"], counts["balance"]) == (2, 200)


@pytest.mark.parametrize(("mark", "balance"), [("before", 200), ("after", 1800), ("with", 1000)])
def test_a_note_in_another_store_loses_or_doubles_whichever_is_first(mark: str, balance: int) -> None:
    assert Redelivery(inbox=True, mark=mark).run().counts["balance"] == balance


@pytest.mark.parametrize(("dedup_on", "balance"), [("producer", 1000), ("broker", 2000)])
def test_a_message_published_twice_is_known_only_by_the_producers_id(dedup_on: str, balance: int) -> None:
    assert Redelivery(inbox=True, twice=True, dedup_on=dedup_on).run().counts["balance"] == balance


@pytest.mark.parametrize("seed", range(5))
def test_the_note_in_the_same_transaction_is_right_whatever_dies(seed: int) -> None:
    counts = Redelivery(inbox=True, twice=True, crashes=0.3, messages=200).run(seed).counts
    assert counts["balance"] == counts["right"]
    assert counts["lost"] == counts["duplicates"] == 0


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"inbox": False}, "duplicates"),
        ({"mark": "after"}, "duplicates"),
        ({"mark": "before"}, "lost"),
        ({"ack": "before"}, "lost"),
        ({"dedup_on": "broker"}, "duplicates"),
    ],
)
def test_each_of_its_conditions_is_needed(change: dict[str, object], broken: str) -> None:
    right = {"inbox": True, "twice": "dedup_on" in change, "crashes": 0.3, "messages": 200}
    assert Redelivery(**{**right, **change}).run(1).counts[broken] > 0  # type: ignore[arg-type]


def test_the_picture_of_the_story_says_what_happened() -> None:
    run = Redelivery().run()
    assert "handed out again" in run.diagram().alt
