"""The same stories for real: PostgreSQL, HTTP, processes that are killed."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "simlib.live.crowd": ("Crowd", "at_once", "charges_locked"),
    "simlib.live.one_transaction": ("Response", "pay", "pay_async"),
    "simlib.live.pg.errors": ("PostgresError",),
    "simlib.live.pg.server": ("postgres",),
    "simlib.live.serving": ("NotStarted", "serve"),
    "simlib.live.watch": ("Session", "sessions", "waiting"),
    "simlib.live.worker": ("spawn",),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"simlib.live has no {name!r}; it has {', '.join(__all__)}.")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
