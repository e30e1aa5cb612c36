"""Knobs: one declaration gives the widget, the flag, the check and the sentence for a bad value."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib import knobs
from simlib.knobs import KnobError, knob


@dataclass(frozen=True)
class Story:
    keys: bool = field(default=False, metadata=knob("key", "one key per purchase"))
    loss: float = field(default=0.05, metadata=knob("reply loss", "share of replies", 0, 1, 0.01))
    wait: float = field(default=2.0, metadata=knob("wait", "", 0, 10, 0.5, unit="s"))
    taps: int = field(default=2, metadata=knob("taps", "how often", 1, 9, 1))
    jitter: str = field(default="full", metadata=knob("jitter", choices=("none", "full")))
    luck: float | None = field(default=None, metadata=knob("luck", "", 0, 1, 0.1, optional=True, none="story"))
    note: str = "not a knob"

    def __post_init__(self) -> None:
        knobs.check(self)


BY_NAME = {k.name: k for k in knobs.knobs(Story)}


def test_only_declared_fields_are_knobs_and_they_keep_their_order() -> None:
    assert list(BY_NAME) == ["keys", "loss", "wait", "taps", "jitter", "luck"]


@pytest.mark.parametrize(
    ("name", "kind"), [("keys", bool), ("loss", float), ("taps", int), ("jitter", str), ("luck", float)]
)
def test_the_kind_comes_from_the_field(name: str, kind: type) -> None:
    assert BY_NAME[name].kind is kind


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"loss": 1.5}, "loss (reply loss) is 1.5; it takes 0 to 1."),
        ({"loss": float("nan")}, "loss (reply loss) is nan; it takes 0 to 1."),
        ({"wait": -1.0}, "wait (wait) is -1.0; it takes 0 to 10 s."),
        ({"taps": 2.5}, "taps (taps) is 2.5; it takes 1 to 9."),
        ({"taps": True}, "taps (taps) is True; it takes 1 to 9."),
        ({"keys": 1}, "keys (key) is 1; it takes on or off."),
        ({"jitter": "ful"}, "jitter (jitter) is 'ful'; it takes none or full."),
        ({"luck": 2}, "luck (luck) is 2; it takes 0 to 1, or story."),
    ],
)
def test_a_value_out_of_range_is_told_in_one_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(KnobError) as error:
        Story(**change)  # type: ignore[arg-type]
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("keys", "on", True),
        ("keys", "no", False),
        ("loss", "0.2", 0.2),
        ("taps", " 3 ", 3),
        ("jitter", "FULL", "full"),
        ("luck", "story", None),
        ("luck", "none", None),
        ("luck", "0.5", 0.5),
    ],
)
def test_text_is_read_as_the_value_it_stands_for(name: str, text: str, value: object) -> None:
    assert knobs.parse(BY_NAME[name], text) == value


@given(st.text(max_size=20))
def test_any_text_is_either_a_value_in_range_or_one_sentence(text: str) -> None:
    for k in BY_NAME.values():
        said = ""
        try:
            knobs.check_value(k, knobs.parse(k, text))
        except KnobError as error:
            said = str(error).strip()
        assert "\n" not in said or "\n" in text


def test_an_unknown_knob_is_told_with_the_nearest_known_one() -> None:
    with pytest.raises(KnobError, match="Did you mean loss"):
        knobs.replace(Story(), lost=0.1)


def test_only_what_was_turned_is_named() -> None:
    assert knobs.changed(Story(taps=3)) == {"taps": 3}
