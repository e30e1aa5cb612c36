"""The sums of the key table."""

from __future__ import annotations

import pytest

from simlib.scenarios.key_table import KeyTable


def test_two_thousand_writes_a_second_for_a_day() -> None:
    counts = KeyTable(writes_per_s=2000, hours=24, row_bytes=1000).run().counts
    assert (counts["rows"], counts["bytes"]) == (172_800_000, 172.8e9)
    assert "172.8 GB live" in KeyTable().run().text


def test_dropping_days_keeps_up_to_a_day_more_and_deletes_nothing() -> None:
    rows, days = KeyTable().run().counts, KeyTable(drop=True).run().counts
    assert days["most_rows"] == rows["most_rows"] + 172_800_000
    assert (rows["deletes_a_day"], days["deletes_a_day"]) == (172_800_000, 0)


@pytest.mark.parametrize("drop", [False, True])
def test_the_curve_stays_under_the_most(drop: bool) -> None:
    run = KeyTable(drop=drop, hours=30).run()
    assert max(run.series["gigabytes"]) <= run.counts["most_bytes"] / 1e9 + 1e-9
