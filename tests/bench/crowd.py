"""Thirty learners in one lesson on one server, alone and beside two who run something endless."""

from __future__ import annotations

from statistics import median

from tests.classroom import thirty

LONGER = 2.0  # times, at most, that the others' median may grow


def report() -> bool:
    """Print how much longer the others take, and the memory a learner holds; True when it is as it should be."""
    quiet, loud = thirty.hold(hogs=False), thirty.hold(hogs=True)
    times = median(loud.seconds.values()) / median(quiet.seconds.values())
    print(
        f"thirty learners: {median(quiet.seconds.values()):.0f} s in peace, {times:.2f} times that beside an endless "
        f"query and an endless insert (at most {LONGER:g}); {quiet.megabytes:.0f} MB a learner"
    )
    return times <= LONGER
