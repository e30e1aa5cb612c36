"""The simulated client tells its budget and its breaker the truth, and stops on what a wrong policy gives."""

from __future__ import annotations

import pytest

from simlib.policy.backoff import Backoff
from simlib.policy.breaker import CircuitBreaker, State
from simlib.policy.budgets import BUDGETS, AdaptiveThrottle, Envoy
from simlib.policy.classify import Outcome
from simlib.policy.retry import BadPolicy, Policy, RetryPolicy, Stop, Wait
from simlib.trace import Trace
from simlib.world.client import Client
from simlib.world.luck import Luck
from simlib.world.message import Answer, Request
from simlib.world.world import World

DOWN, DECLINED = Answer("503"), Answer("402")


def calls(policy: Policy, answer: Answer, purchases: int = 1) -> Trace:
    """Purchases one second apart, from a server that always gives this answer 10 ms later."""
    world = World(Luck(7))

    def server(now: float, request: Request) -> None:
        world.clock.at(now + 0.01, client.receive, (*request, answer))

    client = Client(world, policy=policy, send=server)
    for n in range(purchases):
        world.clock.at(float(n), client.begin, n)
    world.clock.run()
    return world.recorder.freeze()


def test_a_final_no_opens_no_breaker_and_failures_do() -> None:
    sound, broken = CircuitBreaker(failures=3), CircuitBreaker(failures=3, cool_down=100.0)
    assert calls(RetryPolicy(breaker=sound), DECLINED, 9).count("send") == 9
    assert sound.state is State.CLOSED
    assert calls(RetryPolicy(breaker=broken), DOWN, 9).count("send") == 3
    assert broken.state is State.OPEN


def test_what_the_breaker_holds_back_is_not_under_way() -> None:
    budget = Envoy()
    calls(RetryPolicy(budget=budget, breaker=CircuitBreaker(failures=2, cool_down=5.0)), DOWN, 50)
    assert (budget.active, budget.retrying) == (0, 0)


@pytest.mark.parametrize("name", BUDGETS)
def test_every_budget_can_be_the_clients(name: str) -> None:
    trace = calls(RetryPolicy(attempts=3, budget=BUDGETS[name]()), DOWN, 1000)
    assert trace.count("send") <= 3000
    assert trace.count("give_up") == 1000


def test_adaptive_throttling_holds_first_tries_back() -> None:
    trace = calls(RetryPolicy(attempts=1, budget=AdaptiveThrottle()), DOWN, 100)
    assert trace.count("send") + trace.count("give_up", status="budget") == 100
    assert trace.count("send") < 20


class Own:
    """A learner's own policy without an idea of time."""

    deadline, per_try, budget, breaker = 10.0, 1.0, None, None

    def after(self, attempt: int, outcome: Outcome, **told: object) -> Wait | Stop:
        return Wait(-1.0)


def test_a_learners_wrong_policy_is_named() -> None:
    with pytest.raises(BadPolicy, match=r"^Own\.after gave Wait\(seconds=-1\.0\) for attempt 1; it must return"):
        calls(Own(), DOWN)


def test_a_learners_own_backoff_is_what_the_client_waits() -> None:
    trace = calls(RetryPolicy(attempts=3, backoff=lambda attempt, rng, previous: 0.25), DOWN)
    assert trace.sql("select value from events where event = 'backoff'").rows == ((0.25,), (0.25,))


def test_the_same_luck_gives_the_same_waits_whatever_the_budget() -> None:
    plain = RetryPolicy(attempts=3, backoff=Backoff())
    guarded = RetryPolicy(attempts=3, backoff=Backoff(), budget=Envoy(least=100))
    waits = "select request, attempt, value from events where event = 'backoff' order by 1, 2"
    assert calls(plain, DOWN, 20).sql(waits).rows == calls(guarded, DOWN, 20).sql(waits).rows
