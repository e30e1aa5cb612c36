"""Retry budgets as well-known systems define them, each under its own name."""

from __future__ import annotations

from collections.abc import Callable

from simlib.policy.backoff import Rng
from simlib.policy.budget import Budget, RetryBudget
from simlib.policy.settings import at_least
from simlib.policy.window import Window

ROUNDING = 1e-9  # 0.29 of 100 is a hair under 29, and still buys 29


class GrpcThrottle:
    """gRPC's retryThrottling: retries only while more than half of the tokens are left.

    It starts with `most` tokens (maxTokens); a failed call takes one, first tries included, and a call that goes well
    adds `ratio` (tokenRatio). First tries are never held back, and a retry itself costs nothing. Source: gRPC
    proposal A6, "Throttling Retry Attempts and Hedged RPCs".
    """

    def __init__(self, most: float = 10.0, ratio: float = 0.1) -> None:
        at_least(0.0, "GrpcThrottle", most=most, ratio=ratio)
        self.most = most
        self.ratio = ratio
        self.tokens = most

    def on_request(self, now: float = 0.0, rng: Rng | None = None) -> bool:
        return True

    def try_retry(self, now: float = 0.0, rng: Rng | None = None, *, timed_out: bool = False) -> bool:
        return self.tokens > self.most / 2

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        self.tokens = min(self.most, self.tokens + self.ratio) if ok else max(0.0, self.tokens - 1.0)

    def on_unsent(self, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        """What was not sent neither failed nor went well."""


class AwsStandard:
    """The AWS SDKs' standard mode: a bucket that every retry pays from, more after a time-out.

    A retry costs 5 tokens, 10 after a time-out; a retry that goes well gives back what it took, a first try that goes
    well gives back 1. The mode makes at most 3 attempts: that is `RetryPolicy`'s to say. Source: AWS SDKs and Tools
    Reference Guide, "Retry behavior".
    """

    def __init__(self, most: float = 500.0, cost: float = 5.0, timeout_cost: float = 10.0) -> None:
        at_least(0.0, "AwsStandard", most=most, cost=cost, timeout_cost=timeout_cost)
        self.most = most
        self.cost = cost
        self.timeout_cost = timeout_cost
        self.tokens = most

    def on_request(self, now: float = 0.0, rng: Rng | None = None) -> bool:
        return True

    def try_retry(self, now: float = 0.0, rng: Rng | None = None, *, timed_out: bool = False) -> bool:
        price = self._price(timed_out)
        if self.tokens < price:
            return False
        self.tokens -= price
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        if ok:
            self._give(self._price(timed_out) if retry else 1.0)

    def on_unsent(self, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        if retry:
            self._give(self._price(timed_out))

    def _price(self, timed_out: bool) -> float:
        return self.timeout_cost if timed_out else self.cost

    def _give(self, tokens: float) -> None:
        self.tokens = min(self.most, self.tokens + tokens)


class Finagle:
    """Finagle's RetryBudget: a share of the last seconds' requests, plus a few retries a second whatever happens.

    Over a sliding `window` (seconds) it grants `ratio` of the requests and `per_second` retries for each second of
    the window. Source: Finagle, com.twitter.finagle.service.RetryBudget.
    """

    def __init__(self, ratio: float = 0.2, per_second: float = 10.0, window: float = 10.0) -> None:
        at_least(0.0, "Finagle", ratio=ratio, per_second=per_second, window=window)
        self.ratio = ratio
        self.per_second = per_second
        self._requests = Window(window)
        self._retries = Window(window)

    def on_request(self, now: float = 0.0, rng: Rng | None = None) -> bool:
        self._requests.add(now)
        return True

    def try_retry(self, now: float = 0.0, rng: Rng | None = None, *, timed_out: bool = False) -> bool:
        granted = self.ratio * self._requests.count(now) + self.per_second * self._retries.seconds
        if self._retries.count(now) + 1 > granted + ROUNDING:
            return False
        self._retries.add(now)
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        """Results neither earn nor cost anything here."""

    def on_unsent(self, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        (self._retries if retry else self._requests).take_back()


class Envoy:
    """Envoy's retry budget: retries under way stay a share of all requests under way, and a few are always allowed.

    A retry is under way from the moment it is granted, its wait included, and counts among the requests. Source:
    Envoy documentation, config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget.
    """

    def __init__(self, ratio: float = 0.2, least: int = 3) -> None:
        at_least(0.0, "Envoy", ratio=ratio, least=least)
        self.ratio = ratio
        self.least = least
        self.active = 0
        self.retrying = 0

    def on_request(self, now: float = 0.0, rng: Rng | None = None) -> bool:
        self.active += 1
        return True

    def try_retry(self, now: float = 0.0, rng: Rng | None = None, *, timed_out: bool = False) -> bool:
        if self.retrying + 1 > max(self.least, self.ratio * self.active + ROUNDING):
            return False
        self.active += 1
        self.retrying += 1
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        self._done(retry)

    def on_unsent(self, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        self._done(retry)

    def _done(self, retry: bool) -> None:
        self.active = max(0, self.active - 1)
        if retry:
            self.retrying = max(0, self.retrying - 1)


class AdaptiveThrottle:
    """Client-side throttling: refuse here, by chance, what the server would refuse anyway. First tries are refused too.

    A call is refused with probability max(0, (requests - k * accepts) / (requests + 1)), both counted over the last
    `window` seconds; refused calls count as requests, so the client goes on asking a little and notices when the
    server is back. Source: Google, "Site Reliability Engineering", ch. 21.
    """

    def __init__(self, k: float = 2.0, window: float = 120.0) -> None:
        at_least(0.0, "AdaptiveThrottle", k=k, window=window)
        self.k = k
        self._requests = Window(window)
        self._accepts = Window(window)

    def rejection(self, now: float) -> float:
        """The probability that a call made now is refused here."""
        requests = self._requests.count(now)
        return max(0.0, (requests - self.k * self._accepts.count(now)) / (requests + 1))

    def on_request(self, now: float, rng: Rng) -> bool:
        refused = rng.random() < self.rejection(now)
        self._requests.add(now)
        return not refused

    def try_retry(self, now: float, rng: Rng, *, timed_out: bool = False) -> bool:
        return self.on_request(now, rng)

    def on_result(self, ok: bool, now: float, *, retry: bool = False, timed_out: bool = False) -> None:
        if ok:
            self._accepts.add(now)

    def on_unsent(self, now: float, *, retry: bool = False, timed_out: bool = False) -> None:
        self._requests.take_back()


BUDGETS: dict[str, Callable[[], Budget]] = {
    "share": RetryBudget,
    "grpc": GrpcThrottle,
    "aws": AwsStandard,
    "finagle": Finagle,
    "envoy": Envoy,
    "sre": AdaptiveThrottle,
}
"""Every rule by a short name, as a knob or a flag offers it; a call makes a fresh budget with its usual numbers."""
