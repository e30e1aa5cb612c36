"""What all parts of one run share: its time, its luck and its log."""

from __future__ import annotations

from dataclasses import dataclass, field

from simlib.trace import Recorder
from simlib.world.clock import Clock
from simlib.world.luck import Luck
from simlib.world.message import key_text


@dataclass(frozen=True)
class World:
    """An empty world with this luck; parts are put into it, and `clock.run()` lets it live."""

    luck: Luck
    clock: Clock = field(default_factory=Clock)
    recorder: Recorder = field(default_factory=lambda: Recorder(key_text))
