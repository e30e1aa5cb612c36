"""Pitfalls of trying again, and of tests for it."""

from __future__ import annotations

import random
from typing import Any

from simlib.course.pitfalls.pair import Finding, Pitfall
from simlib.live.client import NoAnswer, post_with_retry
from simlib.live.lossy import drop_replies
from simlib.live.serving import serve
from simlib.policy.backoff import Backoff
from simlib.policy.classify import Outcome, classify_http
from simlib.policy.retry import RetryPolicy, Wait
from simlib.scenarios.outage import Outage
from simlib.scenarios.retry_storm import RetryStorm
from simlib.scenarios.two_regions import TwoRegions


def _layers(where: str) -> Finding:
    counts = RetryStorm(failure=1.0, taps=100, retry_at=where).run().counts
    return Finding(f"one tap makes {counts['load']:g} calls when everything fails", counts["load"] <= 3)


def _herd(jitter: str) -> Finding:
    counts = Outage(jitter=jitter).run().counts
    return Finding(f"{counts['peak']:,} of 1,000 clients in the same quarter of a second", counts["peak"] < 100)


def _deadline(each: bool) -> Finding:
    """Five tries of 2 s each; every one times out."""
    policy = RetryPolicy(attempts=5, deadline=5.0, per_try=2.0, backoff=Backoff(base=0.1, jitter="none"))
    rng, now, tries = random.Random(7), 0.0, 0
    for attempt in range(1, policy.attempts + 1):
        left = 2.0 if each else min(2.0, policy.deadline - now)
        now, tries = now + left, attempt
        step = policy.after(attempt, Outcome.UNKNOWN, elapsed=0.0 if each else now, now=now, rng=rng)
        if not isinstance(step, Wait):
            break
        now += step.seconds
    return Finding(f"the caller waits {now:.1f} s, {tries} tries", now <= policy.deadline)


def _statuses(careless: bool) -> Finding:
    """Each status ten times in a row: what is a retry worth?"""
    final = (400, 401, 403, 404, 422)
    tried = sum(10 if careless or classify_http(s) is not Outcome.PERMANENT else 1 for s in final)
    return Finding(f"{tried} calls for {len(final)} final answers", tried == len(final))


def _faults(on: bool) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def run() -> Finding:
        lost = 0
        once = RetryPolicy(attempts=1)
        with serve(drop_replies(app, 0.3) if on else drop_replies(app, 0.0)) as server:
            for _ in range(20):
                try:
                    post_with_retry(server.url, {}, policy=once)
                except NoAnswer:
                    lost += 1
        return Finding(f"{lost} of 20 customers get no answer", lost == 0)

    return run


def _regions(way: str) -> Finding:
    counts = TwoRegions(way=way, reply_loss=0.1, purchases=1000).run().counts
    return Finding(f"{counts['duplicates']} duplicates in 1,000 purchases", counts["duplicates"] == 0)


RETRIES = (
    Pitfall(
        "retry at every layer",
        "09",
        "three tries in each of three layers",
        "retry at one layer, the others pass the failure on",
        lambda: _layers("every layer"),
        lambda: _layers("the top"),
    ),
    Pitfall(
        "backoff without jitter",
        "08",
        "double the wait, to the millisecond",
        "draw the wait at random up to it",
        lambda: _herd("none"),
        lambda: _herd("full"),
    ),
    Pitfall(
        "a deadline for each try",
        "08",
        "start the clock anew with every try",
        "one deadline over all tries and waits",
        lambda: _deadline(each=True),
        lambda: _deadline(each=False),
    ),
    Pitfall(
        "retrying a final no",
        "08",
        "retry whatever is not 2xx",
        "retry what may change, and what is unknown",
        lambda: _statuses(careless=True),
        lambda: _statuses(careless=False),
    ),
    Pitfall(
        "a table of keys in each region",
        "10",
        "route the retry to wherever there is room",
        "one home region for each account",
        lambda: _regions("own tables"),
        lambda: _regions("home region"),
    ),
    Pitfall(
        "fault injection left on",
        "10",
        "ship the switch that was on in staging",
        "off unless a test switches it on, and refused in production",
        _faults(on=True),
        _faults(on=False),
    ),
)
