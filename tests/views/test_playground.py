"""A playground shows what its knobs say, refuses what they do not take, and reads where no widget runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import ipywidgets as widgets
import pytest

from simlib.knobs import KnobError, knobs
from simlib.scenarios.key_table import KeyTable
from simlib.views.controls import Control
from simlib.views.picture import Picture
from simlib.views.player import Player
from simlib.views.playground import Playground
from simlib.views.scene import Scene, Tick
from tests.views.stories import Taps, two_taps

KNOBS = {k.name: k for k in knobs(Taps)}
BOTH = "Taps(keys=False, seed=7): 2 charges\nTaps(keys=True, seed=7): 1 charges"


@pytest.fixture
def play() -> Playground:
    return Playground(Taps())


def part(play: Playground, kind: type, label: str) -> widgets.Widget:
    """The control with this label, found as a hand finds it: by looking."""
    todo: list[widgets.Widget] = [play]
    while todo:
        widget = todo.pop()
        if isinstance(widget, kind) and label in (widget.description, *getattr(widget, "options", ())):
            return widget
        todo += getattr(widget, "children", ())
    raise AssertionError(f"no {kind.__name__} {label!r}")


def picture(play: Playground) -> Picture:
    return play.children[-1]


def test_both_sides_are_shown_at_first(play: Playground) -> None:
    assert play.text == repr(play) == BOTH
    assert {"2 charges", "1 charges", "Without a key", "With a key"} <= set(picture(play).scene.words)
    assert "Only this differs: key." in picture(play).alt


def test_set_turns_a_knob_and_shows_that_side(play: Playground) -> None:
    assert play.set(keys=True) is play
    assert play.text == "Taps(keys=True, seed=7): 1 charges"
    assert play.run.scenario == Taps(keys=True)
    assert picture(play).text == play.text


def test_set_takes_seed_and_comparison(play: Playground) -> None:
    play.set(keys=True, seed=11)
    play.set(compare=True)
    assert play.text == BOTH.replace("7", "11")
    assert play.run.scenario.keys is True, "the side last chosen"
    play.set(compare=False)
    assert len(play.runs) == 1


def test_the_controls_follow_what_is_set(play: Playground) -> None:
    play.set(purchases=12, loss=0.3, jitter="none", region="e")
    assert part(play, widgets.IntSlider, "purchases").value == 12
    assert part(play, widgets.FloatSlider, "reply lost").value == 0.3
    assert part(play, widgets.ToggleButton, "story").value is False
    assert part(play, widgets.ToggleButtons, "jitter").value == "none"
    assert part(play, widgets.Dropdown, "region").value == "e"
    play.set(loss=None)
    assert part(play, widgets.ToggleButton, "story").value is True


def test_a_hand_on_a_control_changes_picture_and_text(play: Playground) -> None:
    before = picture(play).svg
    part(play, widgets.IntSlider, "purchases").value = 3
    assert "6 charges" in play.text
    assert picture(play).svg != before
    part(play, widgets.ToggleButtons, "compare").value = True
    assert play.text == "Taps(keys=True, seed=7): 3 charges"


def test_another_is_the_next_seed(play: Playground) -> None:
    part(play, widgets.Button, "another").click()
    assert play.run.seed == 8


def test_moving_an_optional_knob_switches_it_on(play: Playground) -> None:
    part(play, widgets.FloatSlider, "reply lost").value = 0.25
    assert play.run.scenario.loss == 0.25
    assert part(play, widgets.ToggleButton, "story").value is False
    part(play, widgets.ToggleButton, "story").value = True
    assert play.run.scenario.loss is None


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"loss": 1.5}, "loss (reply lost) is 1.5; it takes 0 to 1, or story."),
        ({"los": 0.5}, "Did you mean loss?"),
        ({"seed": -1}, "seed is -1"),
        ({"purchases": 2, "jitter": "wild"}, "jitter"),
    ],
)
def test_a_bad_knob_is_told_in_one_sentence_and_nothing_turns(play: Playground, values: dict, sentence: str) -> None:
    before = picture(play).svg
    with pytest.raises(KnobError, match=r"^[^\n]+$"):
        play.set(**values)
    assert sentence in picture(play).text
    assert picture(play).trouble
    assert picture(play).svg == before
    assert play.text == BOTH
    assert part(play, widgets.IntSlider, "purchases").value == 1
    play.set(purchases=2)
    assert not picture(play).trouble, "the next good value clears it"


def test_a_mistake_in_a_scenario_is_seen_and_raised(play: Playground, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such world")

    monkeypatch.setattr(Taps, "run", broken)
    with pytest.raises(ZeroDivisionError):
        part(play, widgets.IntSlider, "purchases").value = 3
    assert picture(play).trouble
    assert "no such world" in picture(play).text


def test_a_drag_in_a_kernel_is_drawn_once_with_the_newest_value() -> None:
    async def drag() -> tuple[list[float | None], str]:
        play = Playground(Taps(), compare=False)
        slider = part(play, widgets.FloatSlider, "reply lost")
        Taps.ran.clear()
        for value in (0.1, 0.2, 0.3):
            slider.value = value
        drawn = list(Taps.ran)
        assert drawn == [], "not while messages still come"
        assert play.run.scenario.loss == 0.3, "who asks gets the newest"
        return list(Taps.ran), play.text

    ran, _ = asyncio.run(drag())
    assert ran == [0.3]


def test_where_no_widget_runs_there_are_a_picture_and_its_numbers(play: Playground) -> None:
    data, about = play._repr_mimebundle_()
    assert data["text/plain"] == BOTH
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == play.model_id
    assert about["image/png"]["alt"].startswith("Without a key: 2 charges; With a key: 1 charges.")


@pytest.mark.parametrize(
    "make",
    [lambda: Playground(Taps()), lambda: Player(two_taps(keys=True)), lambda: Picture(Scene(9, 9, (), "Nothing."))],
)
def test_no_text_holds_a_memory_address(make: Callable[[], widgets.Widget]) -> None:
    shown = make()
    data, _ = shown._repr_mimebundle_()
    assert " at 0x" not in data["text/plain"]
    assert data["text/plain"] == repr(shown)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("purchases", widgets.IntSlider),
        ("patience", widgets.FloatSlider),
        ("audit", widgets.ToggleButtons),
        ("jitter", widgets.ToggleButtons),
        ("region", widgets.Dropdown),
        ("loss", widgets.HBox),
    ],
)
def test_each_kind_of_knob_has_its_control(name: str, kind: type) -> None:
    knob = KNOBS[name]
    control = Control(knob, knob.default, lambda: None)
    assert isinstance(control.widget, kind)
    assert control.value == knob.default


def test_what_a_browsers_slider_adds_to_a_number_is_taken_off() -> None:
    """It reports a place on its track: 1999.9999999999998 where the hand, or nobody, put 2,000."""
    control = Control(next(k for k in knobs(KeyTable) if k.name == "writes_per_s"), 2000.0, lambda: None)
    control.widget.value = 1999.9999999999998
    assert control.value == 2000.0


def test_setting_a_control_from_code_is_no_wish_of_the_hand() -> None:
    turned: list[int] = []
    control = Control(KNOBS["loss"], None, lambda: turned.append(1))
    control.value = 0.5
    assert turned == []
    assert control.value == 0.5


def test_a_player_shows_runs_under_one_clock_with_their_numbers() -> None:
    player = Player([Taps(keys=False).run(), Taps(keys=True).run()])
    assert repr(player) == player.text == BOTH
    moments = [moment for moment, _, _ in player.clock]
    assert moments == sorted(moments)
    assert player.clock[0][1] == 0
    assert "Same luck on both sides: the first reply is lost at 70 ms. Only this differs: key." in player.scene.words
    assert f'data-t="{moments[0]:g}"' in player.svg


def test_a_player_of_bare_traces_takes_titles() -> None:
    player = Player(
        [two_taps(keys=False), two_taps(keys=True)], titles=["real", "simulated"], words={"effect": "row {n}"}
    )
    assert {"real", "simulated", "row 1"} <= set(player.scene.words)
    assert repr(player) == player.alt


def test_a_picture_is_replaced_in_place() -> None:
    shown = Picture(Scene(9, 9, (), "One."), "1")
    seen: list[str] = []
    shown.observe(lambda change: seen.append(change["new"]), "svg")
    shown.show(Scene(9, 9, (), "Two.", (Tick(1, 0.5, "now"),)), "2")
    assert len(seen) == 1
    assert (shown.alt, shown.text, shown.clock) == ("Two.", "2", [[1, 0.5, "now"]])
    shown.complain("No.")
    assert (shown.alt, shown.text, shown.trouble) == ("Two.", "No.", True)
