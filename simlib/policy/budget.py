"""How much a client's retries may add to its traffic: the budget the course teaches, and the shape of every other."""

from __future__ import annotations

from typing import Protocol

from simlib.policy.backoff import Rng
from simlib.policy.settings import at_least


class Budget(Protocol):
    """What every budget hears and answers; a rule ignores what it does not need. `now` is seconds on any one clock.

    Ask before every first try (`on_request`) and before every retry (`try_retry`); tell how every try that was sent
    ended (`on_result`), and of every try that was granted and then not sent (`on_unsent`).
    """

    def on_request(self, now: float, rng: Rng) -> bool:
        """A first try is wanted: may it be sent? Nearly every rule says yes and counts it."""
        ...

    def try_retry(self, now: float, rng: Rng, *, timed_out: bool = False) -> bool:
        """May one retry be sent? True has paid for it. `timed_out`: the try before it ended without an answer."""
        ...

    def on_result(self, ok: bool, now: float, *, retry: bool = False, timed_out: bool = False) -> None:
        """A try has ended; `ok`: the server did its part (`Outcome.served`).

        `retry`: it was not the first; `timed_out`: the try before it ended without an answer, as told to `try_retry`.
        """
        ...

    def on_unsent(self, now: float, *, retry: bool = False, timed_out: bool = False) -> None:
        """A try that was granted is not sent after all (a breaker opened, the caller gave up): give back its price."""
        ...


class RetryBudget:
    """A share of normal traffic: every first try earns `ratio` tokens, every retry spends one.

    It starts with `most` tokens, which is also the cap. With 0.1 and 10, a thousand requests that all fail and want
    two retries each get 109 retries instead of 2,000.
    """

    def __init__(self, ratio: float = 0.1, most: float = 10.0) -> None:
        at_least(0.0, "RetryBudget", ratio=ratio, most=most)
        self.ratio = ratio
        self.most = most
        self.tokens = most

    def on_request(self, now: float = 0.0, rng: Rng | None = None) -> bool:
        self.tokens = min(self.most, self.tokens + self.ratio)
        return True

    def try_retry(self, now: float = 0.0, rng: Rng | None = None, *, timed_out: bool = False) -> bool:
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        """Results neither earn nor cost anything here."""

    def on_unsent(self, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        if retry:
            self.tokens = min(self.most, self.tokens + 1.0)
