"""The same stories for real: PostgreSQL, HTTP, processes that are killed."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "simlib.live.attacking": ("attack",),
    "simlib.live.client": ("NoAnswer", "post_with_retry", "post_with_retry_async"),
    "simlib.live.completer": ("complete",),
    "simlib.live.contract": ("contract", "keep_contract"),
    "simlib.live.crowd": ("Crowd", "at_once", "charges_locked"),
    "simlib.live.exploring": ("explore", "replay"),
    "simlib.live.faults": ("CrashAt", "HoldAt"),
    "simlib.live.http_app": ("app",),
    "simlib.live.idempotent": ("Idempotent",),
    "simlib.live.inbox": ("NoSuchWallet", "apply_newer", "handle", "handle_async"),
    "simlib.live.layers": ("who_resends",),
    "simlib.live.lossy": ("Duplicating", "drop_replies"),
    "simlib.live.one_transaction": ("Response", "pay", "pay_async"),
    "simlib.live.pg.errors": ("PostgresError",),
    "simlib.live.pg.server": ("postgres",),
    "simlib.live.provider_client": (
        "CardDeclined",
        "Provider",
        "ProviderError",
        "ProviderTimeout",
        "ProviderUnavailable",
    ),
    "simlib.live.provider_server": ("provider",),
    "simlib.live.recovery_points": ("LostLease", "pay_external", "pay_external_async"),
    "simlib.live.sdk": ("AsyncClient", "Client"),
    "simlib.live.serving": ("NotStarted", "serve"),
    "simlib.live.tape": ("Tape",),
    "simlib.live.tcp_proxy": ("Fault", "proxy"),
    "simlib.live.watch": ("Session", "sessions", "waiting"),
    "simlib.live.worker": ("spawn",),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}
_ROOMS = (
    "consuming",
    "daily_keys",
    "faults",
    "forgetting",
    "keyless",
    "mail",
    "museum",
    "outbox",
    "pg_queue",
    "rabbit",
    "webhooks",
)

__all__ = [*_HOME, *_ROOMS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"simlib.live.{name}")
    else:
        raise AttributeError(f"simlib.live has no {name!r}; it has {', '.join(__all__)}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
