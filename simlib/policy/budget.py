"""How much a client's retries may add to its traffic: the budget the course teaches, and the shape of every other."""

from __future__ import annotations

from math import inf
from typing import Protocol


class Budget(Protocol):
    """What every retry budget hears and answers; a rule ignores what it does not need. `now` is seconds.

    Tell it of every first try (`on_request`), ask before every retry (`try_retry`), tell it how every try ended
    (`on_result`).
    """

    def on_request(self, now: float = 0.0) -> None:
        """A first try is about to be sent."""
        ...

    def try_retry(self, now: float = 0.0, *, timed_out: bool = False) -> bool:
        """May one retry be sent? True has paid for it. `timed_out`: the try before it ended without an answer."""
        ...

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        """A try has ended. `retry`: it was not the first; `timed_out`: the try before it ended without an answer."""
        ...


class RetryBudget:
    """A share of normal traffic: every first try earns `ratio` tokens, every retry spends one.

    It starts with `most` tokens, which is also the cap. With 0.1 and 10, a thousand requests that all fail and want
    two retries each get 109 retries instead of 2,000.
    """

    def __init__(self, ratio: float = 0.1, most: float = 10.0) -> None:
        positive("RetryBudget", ratio=ratio, most=most)
        self.ratio = ratio
        self.most = most
        self.tokens = most

    def on_request(self, now: float = 0.0) -> None:
        self.tokens = min(self.most, self.tokens + self.ratio)

    def try_retry(self, now: float = 0.0, *, timed_out: bool = False) -> bool:
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        """Results neither earn nor cost anything here."""


def positive(owner: str, **values: float) -> None:
    """Raise ValueError, naming owner, name and value, for the first that is not a finite number from 0 up."""
    for name, value in values.items():
        if not 0.0 <= value < inf:
            raise ValueError(f"{owner}'s {name} is {value!r}; it takes a number from 0 up.")
