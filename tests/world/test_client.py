"""The client's time: when it stops waiting, when it tries again, and what comes too late."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy
from simlib.trace import Trace
from simlib.world.client import Client
from simlib.world.luck import Luck
from simlib.world.message import CREATED, Answer, Request
from simlib.world.world import World

AFTER = st.one_of(st.none(), st.floats(0.01, 3.0))  # seconds until the answer; None: it never comes


def tried(policy: RetryPolicy, answers: list[list[float | None]], answer: Answer = CREATED) -> Trace:
    """One request a tenth of a second; `answers[request][attempt - 1]` says when each of its tries is answered."""
    world = World(Luck(7))

    def server(now: float, request: Request) -> None:
        number, attempt, _, _ = request
        after = answers[number][attempt - 1] if attempt <= len(answers[number]) else None
        if after is not None:
            world.clock.at(now + after, client.receive, (*request, answer))

    client = Client(world, policy=policy, send=server)
    for number in range(len(answers)):
        world.clock.at(number / 10, client.begin, number)
    world.clock.run()
    assert client.waiting == 0
    return world.recorder.freeze()


def times(trace: Trace, event: str) -> list[float]:
    return [round(t, 9) for t in trace.column("time")[trace.where(event)].tolist()]


@given(st.lists(st.lists(AFTER, min_size=3, max_size=3), min_size=1, max_size=8))
def test_every_try_is_answered_in_time_or_times_out(answers: list[list[float | None]]) -> None:
    """One line of time-outs with a single entry on the clock does what a timer for each try would do."""
    policy = RetryPolicy(attempts=3, deadline=math.inf, per_try=1.0, backoff=Backoff(base=0.25, jitter="none"))
    trace = tried(policy, answers)
    expected: list[tuple[int, int, float, str]] = []
    for number, tries in enumerate(answers):
        now = number / 10
        for attempt, after in enumerate(tries, 1):
            if after is not None and after < 1.0:
                expected.append((number, attempt, now + after, "receive"))
                break
            expected.append((number, attempt, now + 1.0, "timeout"))
            now += 1.0 + policy.backoff.delay(attempt, Luck(7), None)  # type: ignore[union-attr, arg-type]
    rows = trace.sql(
        "select request, attempt, time, event from events where event = 'timeout'"
        " or (event = 'receive' and status <> 'late') order by request, attempt"
    ).rows
    assert [(r, a, round(t, 6), e) for r, a, t, e in rows] == [(r, a, round(t, 6), e) for r, a, t, e in expected]


def test_an_answer_to_a_try_that_timed_out_is_late_and_changes_nothing() -> None:
    """The retry is under way already, and its own answer counts."""
    policy = RetryPolicy(attempts=2, deadline=math.inf, per_try=1.0, backoff=Backoff(base=0.25, jitter="none"))
    trace = tried(policy, [[1.6, 0.5]])
    assert (times(trace, "send"), times(trace, "receive")) == ([0.0, 1.5], [1.6, 2.0])
    assert [trace.count("receive", status=status) for status in ("late", "201")] == [1, 1]


def test_the_deadline_cuts_the_last_try_short() -> None:
    """2.5 s for everything: the second try, begun at 1.5 s, may take 1 s, not 1.2 s; a wait beyond is not begun."""
    policy = RetryPolicy(attempts=9, deadline=2.5, per_try=1.2, backoff=Backoff(base=0.15, jitter="none"))
    trace = tried(policy, [[]])
    assert (times(trace, "send"), times(trace, "timeout")) == ([0.0, 1.5], [1.2, 2.5])
    assert trace.count("give_up", status="deadline") == 1


def test_a_hint_from_the_server_wins_over_the_backoff() -> None:
    """503 with Retry-After: 1 is tried again exactly a second later."""
    policy = RetryPolicy(attempts=2, deadline=10.0, per_try=1.0)
    trace = tried(policy, [[0.25, 0.25]], Answer("503", retry_after=1.0))
    assert times(trace, "send") == [0.0, 1.25]
    assert trace.count("give_up", status="attempts") == 1
