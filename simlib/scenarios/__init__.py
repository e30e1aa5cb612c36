"""One file a story: its knobs, its world, what to count."""

from __future__ import annotations

from typing import Any

from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.redelivery import Redelivery

SCENARIOS: dict[str, type[Any]] = {
    "double-tap": DoubleTap,
    "redelivery": Redelivery,
}
"""The stories by the name they have on the command line."""
