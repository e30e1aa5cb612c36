"""A random number has a name, and whoever asks for it, whenever, gets the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.world import latency
from simlib.world.link import Link
from simlib.world.luck import Dice, Luck
from simlib.world.world import World

PLACES = st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 4)), max_size=30)
LATENCIES = (
    latency.Constant(0.4),
    latency.Exponential(0.02),
    latency.Normal(0.01, 0.002),
    latency.LogNormal(0.02, 0.5),
    latency.Empirical((0.01, 0.02, 0.05)),
)


@given(PLACES, st.integers(0, 2**64))
def test_numbers_do_not_depend_on_the_order_in_which_they_are_asked_for(
    places: list[tuple[int, int]], seed: int
) -> None:
    """Blocks are drawn when first needed, and that shows nowhere."""
    forward, backward = Luck(seed).uniforms("x"), Luck(seed).uniforms("x")
    told = {place: forward.at(*place) for place in places}
    assert told == {place: backward.at(*place) for place in reversed(places)}
    assert all(0.0 <= number < 1.0 for number in told.values())


def test_streams_are_their_own() -> None:
    """Seed, purpose and attempt each choose another stream."""
    names = [(7, "a", 1), (8, "a", 1), (7, "b", 1), (7, "a", 2), (71, "a", 1)]
    drawn = [Luck(seed).uniforms(purpose).at(0, attempt) for seed, purpose, attempt in names]
    assert len(set(drawn)) == len(names)


def test_the_numbers_are_the_same_on_every_machine() -> None:
    """Written down once; a change here changes every saved lesson."""
    assert [round(Luck(7).uniforms("taps").at(i, 1), 6) for i in range(3)] == [0.031446, 0.890391, 0.970228]


def test_dice_of_one_try_roll_the_same_whatever_was_rolled_before() -> None:
    """A policy that draws more for one try moves no other try's luck."""
    one, other = Dice(Luck(7), "jitter"), Dice(Luck(7), "jitter")
    one.of(3, 1)
    for _ in range(5):
        one.random()
    assert [one.of(4, 2).random(), one.random()] == [other.of(4, 2).random(), other.random()]


@pytest.mark.parametrize("drawn", LATENCIES, ids=lambda d: type(d).__name__)
def test_a_latency_drawn_in_pieces_is_the_one_drawn_whole(drawn: latency.Latency) -> None:
    """So the size of the blocks is nobody's business; and no duration is negative."""
    whole = drawn.draw(Luck(7).generator("x"), 50)
    rng = Luck(7).generator("x")
    pieces = np.concatenate([drawn.draw(rng, n) for n in (1, 2, 17, 30)])
    np.testing.assert_array_equal(pieces, whole)
    assert (whole >= 0.0).all()


@pytest.mark.parametrize(
    ("drawn", "mean"),
    list(zip(LATENCIES, (0.4, 0.02, 0.01, 0.02 * np.exp(0.125), 0.08 / 3), strict=True)),
    ids=lambda v: type(v).__name__,
)
def test_latencies_have_the_mean_they_say(drawn: latency.Latency, mean: float) -> None:
    """Within five standard errors."""
    sample = drawn.draw(Luck(7).generator("x"), 100_000)
    assert abs(sample.mean() - mean) <= 5 * sample.std() / np.sqrt(len(sample)) + 1e-12


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: latency.Constant(-1.0),
        lambda: latency.Exponential(float("nan")),
        lambda: latency.Normal(0.1, float("inf")),
        lambda: latency.LogNormal(-0.1, 1.0),
        lambda: latency.Empirical(()),
        lambda: latency.Empirical((0.1, -0.1)),
        lambda: Link(World(Luck(7)), to="server", carries="request", latency=latency.Constant(0.1), loss=1.5),
    ],
)
def test_impossible_durations_and_losses_are_told(wrong) -> None:
    """One clear sentence before anything runs."""
    with pytest.raises(ValueError, match=r"takes|needs"):
        wrong()


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_loss_loses_the_same_messages_and_more(low: float, high: float) -> None:
    """The same uniform numbers decide, and what arrives anyway arrives at the same time."""
    low, high = sorted((low, high))
    few, many = _arrivals(low), _arrivals(high)
    assert many.items() <= few.items()


def _arrivals(loss: float) -> dict[int, float]:
    world = World(Luck(7))
    link = Link(world, to="server", carries="request", latency=latency.Exponential(0.1), loss=loss)
    arrived: dict[int, float] = {}
    link.connect(lambda now, message: arrived.setdefault(message[0], now))
    for request in range(60):
        link.send(0.0, (request, 1, request, 0.0))
    world.clock.run()
    assert len(arrived) + world.recorder.freeze().count("lose") == 60
    return arrived
