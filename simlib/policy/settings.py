"""What a policy's settings may be: each check names the owner, the setting, its value and what it takes."""

from __future__ import annotations

from math import inf, isnan
from numbers import Integral, Real
from typing import TypeGuard


def at_least(low: float, owner: str, **values: object) -> None:
    """Raise ValueError for the first value that is not a finite number from `low` up."""
    for name, value in values.items():
        if not (_is_number(value) and low <= value < inf):
            raise ValueError(f"{owner}'s {name} is {value!r}; it takes a number from {low:g} up.")


def above_zero(owner: str, *, or_endless: bool = False, **values: object) -> None:
    """Raise ValueError for the first value that is not seconds above 0; some may also be `inf`, for no limit."""
    for name, value in values.items():
        if not (_is_number(value) and value > 0.0 and (or_endless or value < inf)):
            raise ValueError(f"{owner}'s {name} is {value!r}; it takes seconds above 0{', or inf' * or_endless}.")


def whole(owner: str, **values: object) -> None:
    """Raise ValueError for the first value that is not a whole number from 1 up."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
            raise ValueError(f"{owner}'s {name} is {value!r}; it takes a whole number from 1 up.")


def is_wait(value: object) -> bool:
    """Is it seconds that one can wait: a finite number from 0 up?"""
    return _is_number(value) and 0.0 <= value < inf


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, float):  # most are; asking an abstract class takes far longer
        return not isnan(value)
    return not isinstance(value, bool) and isinstance(value, Real) and not isnan(value)
