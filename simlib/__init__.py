"""simlib: idempotency and retries, in a simulated world and in a real one.

`import simlib as sl` is all a lesson needs. A name is loaded when it is first used, so the import costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "simlib.course.check": ("check",),
    "simlib.course.cheat_sheet": ("cheat_sheet",),
    "simlib.course.glossary": ("glossary",),
    "simlib.course.hints": ("hint",),
    "simlib.course.progress": ("progress",),
    "simlib.course.pitfalls": ("pitfall", "pitfalls"),
    "simlib.course.predict": ("Predict",),
    "simlib.course.quiz": ("Quiz",),
    "simlib.policy.backoff": ("Backoff",),
    "simlib.policy.budget": ("RetryBudget",),
    "simlib.policy.budgets": ("BUDGETS", "AdaptiveThrottle", "AwsStandard", "Envoy", "Finagle", "GrpcThrottle"),
    "simlib.policy.breaker": ("CircuitBreaker",),
    "simlib.policy.retry": ("BadPolicy", "RetryPolicy", "Stop", "Wait"),
    "simlib.policy.closed_forms": ("harmonic", "layered"),
    "simlib.policy.retry_after": ("parse_retry_after",),
    "simlib.policy.classify": ("GRPC", "HTTP", "Outcome", "classify_grpc", "classify_http"),
    "simlib.policy.keys": ("BadKey", "parse_key"),
    "simlib.policy.fingerprint": ("fingerprint",),
    "simlib.policy.verdict": ("Verdict", "verdict"),
    "simlib.table": ("Table",),
    "simlib.trace": ("INVARIANTS", "Recorder", "Trace"),
    "simlib.scenarios.compare": ("compare",),
    "simlib.scenarios.delivery": ("Delivery",),
    "simlib.scenarios.two_generals": ("TwoGenerals",),
    "simlib.scenarios.double_tap": ("DoubleTap",),
    "simlib.scenarios.duplicate_gaps": ("DuplicateGaps",),
    "simlib.scenarios.five_cases": ("FiveCases",),
    "simlib.scenarios.four_conditions": ("FourConditions",),
    "simlib.scenarios.jitter": ("Jitter",),
    "simlib.scenarios.key_table": ("KeyTable",),
    "simlib.scenarios.offsets": ("Offsets",),
    "simlib.scenarios.operations": ("Operations",),
    "simlib.scenarios.outage": ("Outage",),
    "simlib.scenarios.recovery_points": ("RecoveryPoints",),
    "simlib.scenarios.redelivery": ("Redelivery",),
    "simlib.scenarios.retry_storm": ("RetryStorm",),
    "simlib.scenarios.three_outcomes": ("ThreeOutcomes",),
    "simlib.scenarios.two_regions": ("TwoRegions",),
    "simlib.scenarios.saved": ("load_scenario", "save_scenario", "course_scenarios", "BadScenarioFile"),
    "simlib.scenarios.sweep": ("sweep",),
    "simlib.views.playground": ("Playground",),
    "simlib.views.player": ("Player",),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}
_ROOMS = ("knobs", "live", "policy", "scenarios", "views", "world")

__all__ = ["__version__", *_HOME, *_ROOMS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"simlib.{name}")
    else:
        raise AttributeError(f"simlib has no {name!r}; it has {', '.join(__all__)}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
