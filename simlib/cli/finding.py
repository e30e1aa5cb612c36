"""What `simlib doctor` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `warn` means the course works without it, `fail` that a lesson will not run."""

    level: Literal["ok", "warn", "fail"]
    words: str
    mend: str = ""
