"""One file a story: its knobs, its world, what to count."""

from __future__ import annotations

from typing import Any

from simlib.scenarios.delivery import Delivery
from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.duplicate_gaps import DuplicateGaps
from simlib.scenarios.five_cases import FiveCases
from simlib.scenarios.four_conditions import FourConditions
from simlib.scenarios.jitter import Jitter
from simlib.scenarios.key_table import KeyTable
from simlib.scenarios.offsets import Offsets
from simlib.scenarios.operations import Operations
from simlib.scenarios.outage import Outage
from simlib.scenarios.recovery_points import RecoveryPoints
from simlib.scenarios.redelivery import Redelivery
from simlib.scenarios.retry_storm import RetryStorm
from simlib.scenarios.three_outcomes import ThreeOutcomes
from simlib.scenarios.two_generals import TwoGenerals
from simlib.scenarios.two_regions import TwoRegions

SCENARIOS: dict[str, type[Any]] = {
    "delivery": Delivery,
    "double-tap": DoubleTap,
    "duplicate-gaps": DuplicateGaps,
    "five-cases": FiveCases,
    "four-conditions": FourConditions,
    "jitter": Jitter,
    "key-table": KeyTable,
    "offsets": Offsets,
    "operations": Operations,
    "outage": Outage,
    "recovery-points": RecoveryPoints,
    "redelivery": Redelivery,
    "retry-storm": RetryStorm,
    "three-outcomes": ThreeOutcomes,
    "two-generals": TwoGenerals,
    "two-regions": TwoRegions,
}
"""The stories by the name they have on the command line."""
