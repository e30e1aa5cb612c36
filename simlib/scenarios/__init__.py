"""One file a story: its knobs, its world, what to count."""

from __future__ import annotations

from simlib.scenarios.double_tap import DoubleTap

SCENARIOS: dict[str, type[DoubleTap]] = {"double-tap": DoubleTap}
"""The stories by the name they have on the command line."""
