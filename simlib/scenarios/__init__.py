"""One file a story: its knobs, its world, what to count."""

from __future__ import annotations

from typing import Any

from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.redelivery import Redelivery
from simlib.scenarios.retry_storm import RetryStorm

SCENARIOS: dict[str, type[Any]] = {
    "double-tap": DoubleTap,
    "redelivery": Redelivery,
    "retry-storm": RetryStorm,
}
"""The stories by the name they have on the command line."""
