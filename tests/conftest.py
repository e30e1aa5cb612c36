"""What all tests share: no test fails because the machine is slow, and hypothesis repeats itself in CI."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ["SIMLIB_PROGRESS"] = ""  # what tests try is no learner's progress

settings.register_profile("simlib", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("simlib")
