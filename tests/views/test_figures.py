"""Figures over time, counts and histograms hold the numbers they were given, on the scales they were given."""

from __future__ import annotations

import itertools

import pytest

from simlib.views import theme
from simlib.views.axes import Frame, number, round_top, ticks, time_ticks
from simlib.views.counts import bars, histogram
from simlib.views.layout import Panel, beside
from simlib.views.load import Level, Series, Window, over_time, top_of
from simlib.views.scene import Area, Box, Curve, Line, Mark, Scene, Text, Tick

TIMES = list(range(120))
LOAD = Series("load", [80.0] * 30 + [270.0] * 90)
GOOD = Series("useful answers", [80.0] * 30 + [5.0] * 90, "good", "dashdot")
STORM = {
    "windows": [Window(30, 45, "slow for 15 s")],
    "levels": [Level(100, "capacity")],
    "y_label": "calls per second",
}


def kinds(scene: Scene, kind: type) -> list:
    return [item for item in scene.flat() if isinstance(item, kind)]


def test_every_curve_carries_its_name_its_ink_and_its_dash() -> None:
    scene = over_time(TIMES, [LOAD, GOOD], **STORM)
    assert [(c.ink, c.dash) for c in kinds(scene, Curve)] == [("request", "solid"), ("good", "dashdot")]
    named = {t.text: t.ink for t in kinds(scene, Text)}
    assert named["load"] == "request"
    assert named["useful answers"] == "good"
    assert {"slow for 15 s", "capacity 100", "seconds", "calls per second"} <= set(named)


def test_names_stand_clear_of_each_other_of_the_curves_and_of_the_levels() -> None:
    near = Series("calls", [92.0] * 120, "other")
    scene = over_time(TIMES, [LOAD, GOOD, near], **STORM)
    labels = [t for t in kinds(scene, Text) if t.bold]
    boxes = [(t.x, t.x + theme.width(t.text, t.size, bold=True), t.y - 12, t.y + 3) for t in labels]
    for a, b in itertools.combinations(boxes, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
    for x0, x1, y0, y1 in boxes:
        for curve in kinds(scene, Curve):
            assert not [p for p in curve.points if x0 <= p[0] <= x1 and y0 <= p[1] <= y1]


def test_figures_side_by_side_share_their_top() -> None:
    calm = Series("load", [80.0] * 120)
    top = top_of([LOAD, calm], [Level(100, "capacity")])
    scenes = [over_time(TIMES, [s], top=top) for s in (LOAD, calm)]
    scales = [[t.text for t in kinds(s, Text) if t.anchor == "end"] for s in scenes]
    assert scales[0] == scales[1]
    assert top >= 270


def test_counts_per_interval_are_drawn_as_steps() -> None:
    (curve,) = kinds(over_time([0, 1, 2], [Series("calls", [5, 9, 2])], stepped=True), Curve)
    assert len(curve.points) == 6
    assert curve.points[0][1] == curve.points[1][1]


def test_a_band_shows_between_which_numbers_the_truth_lies() -> None:
    banded = Series("duplicates", [5, 6], low=[4, 5], high=[6, 9])
    assert len(kinds(over_time([0, 1], [banded]), Area)) == 1
    assert top_of([banded]) >= 9


def test_the_description_of_a_figure_says_its_numbers() -> None:
    alt = over_time(TIMES, [LOAD, GOOD], **STORM).alt
    assert "load: 80 to 270, at the end 270" in alt
    assert "capacity: 100" in alt
    assert "slow for 15 s, from 30 s to 45 s" in alt


def test_a_figure_without_data_says_so() -> None:
    assert "nothing to show" in over_time([], []).words


def test_bars_are_as_long_as_their_counts_and_say_them() -> None:
    scene = bars({"purchases": 2000, "charges": 2500, "duplicates": 0}, top=5000)
    long = [b.width for b in kinds(scene, Box)]
    assert long[1] / long[0] == pytest.approx(1.25)
    assert long[2] == 0
    assert {"2,000", "2,500", "0"} <= set(scene.words)
    assert scene.alt == "Bars: purchases 2,000, charges 2,500, duplicates 0."


def test_bars_never_leave_the_picture() -> None:
    scene = bars({"charges": 900_000_000}, top=10)
    assert all(b.x + b.width <= scene.width for b in kinds(scene, Box))


def test_bars_of_nothing_can_be_drawn() -> None:
    assert bars({}).height > 0
    assert bars({"charges": 0}).words == ["charges", "0"]


def test_a_histogram_tells_retries_from_races() -> None:
    def peak(scene: Scene) -> float:
        return max(kinds(scene, Box), key=lambda b: b.height).x

    retries = histogram([2.0, 2.1, 2.2] * 20, marks={"timeout": 2.0})
    races = histogram([0.002, 0.003, 0.004] * 20, marks={"timeout": 2.0})
    timeout = next(i.x1 for i in kinds(retries, Line) if i.ink == "wait")
    assert abs(peak(retries) - timeout) < 20
    assert peak(races) < timeout - 100
    assert "60 gaps" in races.alt
    assert "timeout 2 s" in races.words


@pytest.mark.parametrize("gaps", [[], [0.0], [1e9], [0.001, 100.0]])
def test_a_histogram_keeps_gaps_beyond_its_ends(gaps: list[float]) -> None:
    scene = histogram(gaps)
    assert all(20 <= b.x <= scene.width for b in kinds(scene, Box))
    assert len(kinds(scene, Box)) == len(set(gaps))


@pytest.mark.parametrize(
    ("top", "expected"),
    [(300, [0, 100, 200, 300]), (5, [0, 1, 2, 3, 4, 5]), (1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (0, [0])],
)
def test_ticks_are_round(top: float, expected: list[float]) -> None:
    assert ticks(top) == pytest.approx(expected)


def test_time_ticks_are_round_times() -> None:
    assert time_ticks(0, 120) == [0, 30, 60, 90, 120]
    assert time_ticks(0, 86_400) == [0, 21_600, 43_200, 64_800, 86_400]


@pytest.mark.parametrize("largest", [0, 0.3, 1, 7, 99, 270, 12_345, 1e12])
def test_the_top_of_an_axis_holds_the_largest_value_without_much_air(largest: float) -> None:
    top = round_top(largest)
    assert largest <= top <= max(1.0, largest * 1.6)


@pytest.mark.parametrize(("value", "words"), [(2000, "2,000"), (0.25, "0.25"), (172_800_000, "173 million"), (5, "5")])
def test_numbers_read_as_people_write_them(value: float, words: str) -> None:
    assert number(value) == words


def test_a_frame_puts_its_ends_at_its_ends() -> None:
    frame = Frame(540, 320, 0, 120, 300)
    assert frame.x(120) == frame.right
    assert frame.y(0) == frame.floor
    assert frame.path([0, 120], [0, 900])[1] == (frame.x(120), frame.y(300)), "a curve stays inside"


def panel(title: str, headline: str, *, good: bool = True, ticks: tuple[Tick, ...] = ()) -> Panel:
    return Panel(Scene(300, 100, (Mark(5, 5, "dot"),), f"About {title}.", ticks), title, headline, good)


def test_side_by_side_the_number_that_matters_is_the_largest_thing() -> None:
    scene = beside(
        [panel("Without a key", "2 charges", good=False), panel("With a key", "1 charge")], note="Only one differs."
    )
    size = max(t.size for t in kinds(scene, Text))
    largest = [(t.text, t.ink) for t in kinds(scene, Text) if t.size == size]
    assert largest == [("2 charges", "bad"), ("1 charge", "good")]
    assert "Only one differs." in scene.words
    assert scene.alt.startswith("Without a key: 2 charges; With a key: 1 charge. Only one differs.")


def test_a_long_headline_still_fits_its_panel() -> None:
    scene = beside([panel("A title", "never recovers from anything")])
    head = next(t for t in kinds(scene, Text) if t.anchor == "end")
    assert theme.width(head.text, head.size, bold=True) <= 300
    assert head.size >= theme.TITLE


def test_the_legend_explains_the_marks_that_are_used() -> None:
    scene = beside([panel("a", "b")])
    assert "request" in scene.words
    assert "replayed answer" not in scene.words


def test_two_clocks_become_one_that_says_who() -> None:
    left = panel("Left", "", ticks=(Tick(1, 0.1, "sent"), Tick(2, 0.2, "charge 2")))
    right = panel("Right", "", ticks=(Tick(1, 0.1, "sent"), Tick(2, 0.2, "replayed"), Tick(3, 0.3, "done")))
    words = [t.words for t in beside([left, right]).clock]
    assert words == ["sent", "Left: charge 2; Right: replayed", "Right: done"]
