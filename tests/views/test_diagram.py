"""A sequence diagram says what happened: the right marks, words and numbers, each where it can be read."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simlib.trace import EVENTS, Recorder
from simlib.views import theme
from simlib.views.diagram import diagram, diagrams, lanes_of, telling
from simlib.views.looks import LOOKS, Namer, amount, plural, rows, seconds, short_keys
from simlib.views.scene import Box, Line, Mark, Scene, Text
from simlib.views.stage import luck
from tests.views.stories import LANES, every_event, two_taps


def marks(scene: Scene) -> list[tuple[str, str]]:
    return [(i.shape, i.ink) for i in scene.flat() if isinstance(i, Mark)]


def lines(scene: Scene) -> list[Line]:
    return [i for i in scene.flat() if isinstance(i, Line) and i.time is not None]


def test_without_a_key_the_second_charge_is_the_one_too_many() -> None:
    scene = diagram(two_taps(keys=False), lanes=LANES)
    assert [ink for shape, ink in marks(scene) if shape == "square"] == ["good", "bad"]
    assert {"charge 1", "charge 2", "reply lost", "pay €50"} <= set(scene.words)


def test_with_a_key_the_retry_finds_the_saved_answer() -> None:
    scene = diagram(two_taps(keys=True), lanes=LANES)
    assert [ink for shape, ink in marks(scene) if shape == "square"] == ["good"]
    assert ("ring", "good") in marks(scene)
    assert {"key known: saved answer", "201, replayed", "pay €50 key 8e03"} <= set(scene.words)
    assert "key is new, charge 1, answer saved" in scene.words, "what happens at once is told in one line"


def test_a_retry_is_told_by_shape_and_dash_and_a_loss_by_its_cross() -> None:
    scene = diagram(two_taps(keys=False), lanes=LANES)
    sent = [i for i in lines(scene) if i.ink == "request"]
    assert [(i.dash, i.rider) for i in sent] == [("solid", "dot"), ("dashed", "diamond")] * 2 or {
        (i.dash, i.rider) for i in sent
    } == {("solid", "dot"), ("dashed", "diamond")}
    lost = [i for i in lines(scene) if i.ink == "muted"]
    assert len(lost) == 1
    assert not lost[0].arrow, "a lost message does not arrive"
    cross = next(i for i in scene.flat() if isinstance(i, Mark) and i.shape == "cross")
    network = next(i for i in scene.flat() if isinstance(i, Text) and i.text == "network")
    assert cross.x == network.x


def test_waiting_is_a_bar_from_the_send_to_the_timeout_and_a_faint_one_to_the_retry() -> None:
    bars = [i for i in diagram(two_taps(keys=False), lanes=LANES).flat() if isinstance(i, Box) and i.ink == "amber"]
    assert len(bars) == 2
    assert bars[0].until == bars[1].time
    assert bars[1].opacity < bars[0].opacity


def test_every_event_has_a_look_and_no_other_has() -> None:
    assert set(LOOKS) == set(EVENTS)


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_drawn_and_told(event: str) -> None:
    log = Recorder()
    log.add(1.0, "server", event, request=0, attempt=1, peer="database", status="503", value=2.0)
    scene = diagram(log.freeze())
    drawn = [i for i in scene.flat() if isinstance(i, Mark | Line) and i.time is not None]
    assert drawn or event in ("arrive", "receive"), "the end of a message is its arrow head"
    assert any(t.words for t in scene.clock)
    assert "server" in scene.alt or event == "arrive"


def test_a_trace_with_every_event_on_unknown_lanes_is_drawn() -> None:
    scene = diagram(every_event())
    assert {"server", "worker-9"} <= set(scene.words)
    assert len(scene.clock) >= len(EVENTS)


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("timeout", [0.08, 2.0, 86_400.0])
def test_words_do_not_overlap(keys: bool, timeout: float) -> None:
    check_legible(diagram(two_taps(keys=keys, timeout=timeout), lanes=LANES))


TWICE_AT_ONCE = [(1.0, "backoff", "database"), *[(0.0, "ack", "phone")] * 11, (1.0, "backoff", "database")]


@example(TWICE_AT_ONCE)
@given(st.lists(st.tuples(st.floats(0, 100), st.sampled_from(sorted(EVENTS)), st.sampled_from(LANES)), max_size=30))
def test_words_do_not_overlap_whatever_happens(told: list[tuple[float, str, str]]) -> None:
    log = Recorder()
    for i, (time, event, actor) in enumerate(told):
        log.add(time, actor, event, request=i % 3, attempt=1 + i % 4, peer="server", status="reply", value=1.5)
    scene = diagram(log.freeze())
    check_legible(scene)
    moments = [t.moment for t in scene.clock]
    assert moments == sorted(moments), "time runs down"
    assert all(t.moment <= scene.height for t in scene.clock)


def check_legible(scene: Scene) -> None:
    extents = []
    for item in scene.flat():
        if isinstance(item, Text):
            wide = theme.width(item.text, item.size)
            left = {"start": item.x, "middle": item.x - wide / 2, "end": item.x - wide}[item.anchor]
            extents.append((left, left + wide, item.y - 10, item.y + 3, item.text))
    for one, other in itertools.combinations(extents, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart, f"{one[4]!r} overlaps {other[4]!r}"


def test_a_long_silence_does_not_squeeze_the_rest() -> None:
    short, day = (diagram(two_taps(keys=True, timeout=t), lanes=LANES) for t in (2.0, 86_400.0))
    assert abs(day.height - short.height) < 40
    assert "24.00 h" in day.words, "the axis says how long it was"


def test_diagrams_made_together_share_their_clock() -> None:
    without, with_key = diagrams([two_taps(keys=False), two_taps(keys=True)], lanes=LANES)
    assert without.height == with_key.height
    assert [(t.moment, t.seconds) for t in without.clock] == [(t.moment, t.seconds) for t in with_key.clock]


def test_only_the_first_of_several_diagrams_shows_the_seconds() -> None:
    first, second = diagrams([two_taps(keys=False), two_taps(keys=True)], lanes=LANES)
    assert "0.00 s" in first.words
    assert "0.00 s" not in second.words


def test_lanes_stand_in_their_usual_order_and_unknown_ones_before_the_database() -> None:
    log = Recorder()
    for actor in ("database", "region-eu", "phone", "network"):
        log.add(0.0, actor, "effect")
    assert lanes_of(rows(log.freeze())) == ("phone", "network", "region-eu", "database")


def test_a_message_whose_end_nobody_told_still_flies() -> None:
    log = Recorder()
    log.add(0, "phone", "send", request=0, attempt=1, peer="server")
    log.add(1, "database", "effect", request=0, attempt=1)
    log.add(2, "server", "reply", request=0, attempt=1, peer="phone", status="201")
    assert [(i.x1 < i.x2, i.arrow) for i in lines(diagram(log.freeze()))] == [(True, True), (True, True), (False, True)]


def test_a_lost_acknowledgement_is_not_taken_for_a_lost_delivery() -> None:
    log = Recorder()
    log.add(0, "broker", "deliver", request=0, peer="consumer")
    log.add(1, "consumer", "effect", request=0)
    log.add(1, "consumer", "ack", request=0, peer="broker")
    log.add(2, "network", "lose", request=0, peer="broker", status="ack")
    scene = diagram(log.freeze())
    assert [(i.ink, i.arrow) for i in lines(scene)] == [("request", True), ("good", False)]


def test_the_telling_request_has_the_most_effects() -> None:
    log = Recorder()
    for request, effects in ((0, 1), (1, 2), (2, 1)):
        for _ in range(effects):
            log.add(0.0, "database", "effect", request=request)
    assert telling(log.freeze()) == 1
    assert telling(Recorder().freeze()) == 0


def test_nothing_can_be_drawn_too() -> None:
    scene = diagram(Recorder().freeze(), lanes=LANES)
    assert "nothing happened" in scene.alt


def test_the_description_says_the_numbers_and_the_story() -> None:
    alt = diagram(two_taps(keys=False), lanes=LANES).alt
    assert "2 tries, 2 charges, 1 message lost" in alt
    assert alt.index("charge 1") < alt.index("reply lost") < alt.index("charge 2")


def test_a_story_may_use_its_own_words() -> None:
    scene = diagram(two_taps(keys=False), words={"effect": "parcel {n}", "send": "order"})
    assert {"parcel 1", "parcel 2", "order"} <= set(scene.words)
    assert "2 parcels" in scene.alt


def test_what_is_unknown_leaves_no_gap_in_the_words() -> None:
    log = Recorder()
    log.add(0, "phone", "backoff")
    log.add(0, "phone", "give_up")
    log.add(0, "phone", "send", peer="server")
    told = rows(log.freeze())
    assert [Namer(told)(row) for row in told] == ["waits, then tries again", "gives up", "pay"]


def test_the_same_luck_is_told_in_a_sentence() -> None:
    traces = [two_taps(keys=False), two_taps(keys=True)]
    assert luck(traces) == "Same luck on both sides: the first reply is lost at 70 ms."
    assert luck([Recorder().freeze()] * 2) == "Same luck on both sides."


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0 s"), (0.0713, "71 ms"), (0.4, "0.4 s"), (12, "12 s"), (3600, "3600 s"), (86_400, "24 h"), (math.nan, "")],
)
def test_durations_read_as_people_say_them(value: float, words: str) -> None:
    assert seconds(value) == words


@pytest.mark.parametrize(
    ("cents", "words"), [(5000, "€50"), (1250, "€12.50"), (123_456_700, "€1,234,567"), (math.nan, "")]
)
def test_amounts_read_as_people_say_them(cents: float, words: str) -> None:
    assert amount(cents) == words


def test_short_keys_still_tell_keys_apart() -> None:
    assert short_keys({"8e03a1f2-77aa"}) == {"8e03a1f2-77aa": "8e03"}
    assert sorted(short_keys({"order-1-x", "order-2-x"}).values()) == ["order-1", "order-2"]
    assert short_keys({"k1", "k2"}) == {"k1": "k1", "k2": "k2"}


@pytest.mark.parametrize(("count", "words"), [(1, "1 try"), (2, "2 tries"), (1000, "1,000 tries")])
def test_counted_words(count: int, words: str) -> None:
    assert plural(count, "try") == words
