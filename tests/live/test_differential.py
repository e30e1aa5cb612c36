"""The simulated key store and the real code, step for step: the same requests, losses, crashes and late leases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simlib import live
from simlib.live.pg.server import Postgres
from simlib.live.provider_server import RunningProvider
from tests.live.lockstep import DEAD, HELD, Real, Simulated
from tests.live.twins import WAITS, Ask

STOPS = {
    "pay": ("claimed", "charged", "saved"),
    "pay_external": ("after-claim", "after-lease", "after-charge", "after-charged", "before-commit", "after-commit"),
}
NO_STANDING = "before-commit"  # there the row is locked: whoever makes leases run out would wait for it


@pytest.fixture(scope="module")
def bank() -> Iterator[RunningProvider]:
    with live.provider() as running:
        yield running


def asks(style: str) -> st.SearchStrategy[Any]:
    """A request and where it stops. One that never hears its answer is a lost reply: its retry is another request."""
    fates = ["ok", "ok", "decline", "unavailable", "charge-then-drop"] if style == "pay_external" else ["ok"]
    ask = st.builds(
        Ask, st.sampled_from([1, 1, 2]), st.just("k"), st.sampled_from([5000, 5000, 7000]), st.sampled_from(fates)
    )
    return st.tuples(st.just("ask"), ask, st.none() | st.sampled_from(STOPS[style]))


def schedules(style: str) -> st.SearchStrategy[list[Any]]:
    others = [st.tuples(st.sampled_from(["go", "die"]), st.integers(0, 3))]
    if style == "pay_external":
        others.append(st.just(("expire",)))
    return st.lists(st.one_of(asks(style), asks(style), *others), min_size=2, max_size=9)


@pytest.mark.parametrize("style", STOPS)
def test_both_worlds_answer_the_same(style: str, db: Postgres, bank: RunningProvider) -> None:
    seen: set[Any] = set()

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(schedules(style))
    def play(moves: list[Any]) -> None:
        model, real = Simulated(style), Real(style, db, bank)
        try:
            for move in moves:
                _move(move, model, real)
            for number, state in enumerate(model.states):
                if state == HELD:
                    _both("go", model, real, number)
            _both("expire", model, real)
            for ask in {(m[1].account, m[1].key): m[1] for m in moves if m[0] == "ask"}.values():
                _both("ask", model, real, Ask(ask.account, ask.key, ask.cents), None)
            assert model.effects() == real.effects()
            assert max((n for effect in model.effects()[::2] for n in effect.values()), default=0) <= 1
            seen.update(model.states)
        finally:
            real.close()

    play()
    answers = {"pay": {201, 422}, "pay_external": {201, 402, 409, 422, 503, 504}}[style]
    assert {state[0] for state in seen if isinstance(state, tuple)} == answers
    assert DEAD in seen


def _move(move: Any, model: Simulated, real: Real) -> None:
    """Make a move on both sides, if it can be made."""
    match move:
        case ("ask", ask, stop):
            if WAITS in model.states:
                return  # of two that wait, PostgreSQL chooses who claims
            _both("ask", model, real, ask, stop)
            if model.states[-1] == HELD and stop == NO_STANDING:
                _both("die", model, real, len(model.states) - 1)
        case ("expire",):
            _both("expire", model, real)
        case (order, which):
            held = [number for number, state in enumerate(model.states) if state == HELD]
            if held:
                _both(order, model, real, held[which % len(held)])


def _both(what: str, model: Simulated, real: Real, *args: Any) -> None:
    getattr(model, what)(*args)
    getattr(real, what)(*args)
    assert model.states == real.states, (what, *args)
