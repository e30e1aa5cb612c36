"""Retry budgets as well-known systems define them, each under its own name."""

from __future__ import annotations

from collections import deque

from simlib.policy.backoff import Rng
from simlib.policy.budget import positive


class GrpcThrottle:
    """gRPC's retryThrottling: retries only while more than half of the tokens are left.

    It starts with `most` tokens; a failed call takes one, first tries included, and a call that goes well adds
    `ratio`. First tries are never held back. Source: gRPC proposal A6, "Throttling Retry Attempts and Hedged RPCs".
    """

    def __init__(self, most: float = 10.0, ratio: float = 0.1) -> None:
        positive("GrpcThrottle", most=most, ratio=ratio)
        self.most = most
        self.ratio = ratio
        self.tokens = most

    def on_request(self, now: float = 0.0) -> None:
        """First tries are free; only results count."""

    def try_retry(self, now: float = 0.0, *, timed_out: bool = False) -> bool:
        return self.tokens > self.most / 2

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        self.tokens = min(self.most, self.tokens + self.ratio) if ok else max(0.0, self.tokens - 1.0)


class AwsStandard:
    """The AWS SDKs' standard mode: a bucket that every retry pays from, more after a time-out.

    A retry costs 5 tokens, 10 after a time-out; a retry that goes well gives back what it took, a first try that goes
    well gives back 1. Source: AWS SDKs and Tools Reference Guide, "Retry behavior".
    """

    def __init__(self, most: float = 500.0, cost: float = 5.0, timeout_cost: float = 10.0) -> None:
        positive("AwsStandard", most=most, cost=cost, timeout_cost=timeout_cost)
        self.most = most
        self.cost = cost
        self.timeout_cost = timeout_cost
        self.tokens = most

    def on_request(self, now: float = 0.0) -> None:
        """First tries are free; only results count."""

    def try_retry(self, now: float = 0.0, *, timed_out: bool = False) -> bool:
        price = self.timeout_cost if timed_out else self.cost
        if self.tokens < price:
            return False
        self.tokens -= price
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        if ok:
            back = (self.timeout_cost if timed_out else self.cost) if retry else 1.0
            self.tokens = min(self.most, self.tokens + back)


class Finagle:
    """Finagle's RetryBudget: a share of the last seconds' requests, plus a few retries a second whatever happens.

    Over a sliding `window` (seconds) it grants `ratio` of the requests and `per_second` retries for each second of
    the window. Source: Finagle, com.twitter.finagle.service.RetryBudget.
    """

    def __init__(self, ratio: float = 0.2, per_second: float = 10.0, window: float = 10.0) -> None:
        positive("Finagle", ratio=ratio, per_second=per_second, window=window)
        self.ratio = ratio
        self.per_second = per_second
        self.window = window
        self._requests: deque[float] = deque()
        self._retries: deque[float] = deque()

    def on_request(self, now: float = 0.0) -> None:
        self._requests.append(now)

    def try_retry(self, now: float = 0.0, *, timed_out: bool = False) -> bool:
        for times in (self._requests, self._retries):
            while times and times[0] <= now - self.window:
                times.popleft()
        granted = self.ratio * len(self._requests) + self.per_second * self.window
        if len(self._retries) + 1 > granted + 1e-9:
            return False
        self._retries.append(now)
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        """Results neither earn nor cost anything here."""


class Envoy:
    """Envoy's retry budget: retries under way stay a share of all requests under way, and a few are always allowed.

    Source: Envoy documentation, cluster.CircuitBreakers.Thresholds.RetryBudget.
    """

    def __init__(self, ratio: float = 0.2, least: int = 3) -> None:
        positive("Envoy", ratio=ratio, least=least)
        self.ratio = ratio
        self.least = least
        self.active = 0
        self.retrying = 0

    def on_request(self, now: float = 0.0) -> None:
        self.active += 1

    def try_retry(self, now: float = 0.0, *, timed_out: bool = False) -> bool:
        if self.retrying + 1 > max(self.least, self.ratio * self.active):
            return False
        self.active += 1
        self.retrying += 1
        return True

    def on_result(self, ok: bool, now: float = 0.0, *, retry: bool = False, timed_out: bool = False) -> None:
        self.active = max(0, self.active - 1)
        if retry:
            self.retrying = max(0, self.retrying - 1)


class AdaptiveThrottle:
    """Client-side throttling: refuse locally what the server would refuse anyway. It limits sends, not only retries.

    A call is refused with probability max(0, (requests - k * accepts) / (requests + 1)), both counted over the last
    `window` seconds; refused calls count as requests. Source: Google, "Site Reliability Engineering", ch. 21.
    """

    def __init__(self, k: float = 2.0, window: float = 120.0) -> None:
        positive("AdaptiveThrottle", k=k, window=window)
        self.k = k
        self.window = window
        self._requests: deque[float] = deque()
        self._accepts: deque[float] = deque()

    def rejection(self, now: float) -> float:
        """The probability that a call made now is refused here."""
        for times in (self._requests, self._accepts):
            while times and times[0] <= now - self.window:
                times.popleft()
        requests = len(self._requests)
        return max(0.0, (requests - self.k * len(self._accepts)) / (requests + 1))

    def allow(self, now: float, rng: Rng) -> bool:
        """May this call be sent? Either way it counts as a request."""
        refused = rng.random() < self.rejection(now)
        self._requests.append(now)
        return not refused

    def on_accept(self, now: float) -> None:
        """The server took a call (whatever its answer): it was not turned away."""
        self._accepts.append(now)
