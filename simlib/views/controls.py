"""A widget for each knob, made from what the knob says of itself; all of them work by keyboard."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from simlib.knobs import Knob

FEW = 4  # choices shown as buttons; more make a drop-down


class Control:
    """One knob on the screen: `widget` to be shown, `value` to be read and set.

    An optional knob has a switch beside it for None; moving the knob itself releases the switch.
    """

    def __init__(self, knob: Knob, value: Any, changed: Callable[[], None]) -> None:
        self._main = _widget(knob)
        self._off = _switch(knob) if knob.optional else None
        self._setting = False
        self._changed = changed
        self.widget = widgets.HBox([self._main, self._off]) if self._off else self._main
        self.value = value
        self._main.observe(lambda _: self._turned(by_hand=True), "value")
        if self._off is not None:
            self._off.observe(lambda _: self._turned(by_hand=False), "value")

    @property
    def value(self) -> Any:
        """The knob's value; None where an optional knob is switched off. A browser's slider says 1999.9999999999998."""
        if self._off is not None and self._off.value:
            return None
        value = self._main.value
        return round(value, 9) if isinstance(value, float) else value

    @value.setter
    def value(self, value: Any) -> None:
        self._setting = True
        try:
            if self._off is not None:
                self._off.value = value is None
            if value is not None:
                self._main.value = value
        finally:
            self._setting = False

    def _turned(self, *, by_hand: bool) -> None:
        if self._setting:
            return
        if by_hand and self._off is not None and self._off.value:
            self.value = self._main.value
        self._changed()


def buttons(label: str, options: list[tuple[str, Any]], value: Any, tip: str = "") -> widgets.ToggleButtons:
    """A row of buttons of which one is pressed."""
    return widgets.ToggleButtons(
        options=options,
        value=value,
        description=label,
        tooltips=[tip] * len(options),
        style={"button_width": "auto", "description_width": "initial"},
        layout={"width": "max-content"},
    )


def _widget(knob: Knob) -> Any:
    if knob.kind is bool:
        return buttons(knob.label, [("off", False), ("on", True)], bool(knob.default), knob.help)
    if knob.choices:
        options = [(str(c), c) for c in knob.choices]
        start = knob.choices[0] if knob.default is None else knob.default
        if len(options) <= FEW:
            return buttons(knob.label, options, start, knob.help)
        return widgets.Dropdown(
            options=options, value=start, description=knob.label, tooltip=knob.help, style=_WHOLE, layout=_layout(220)
        )
    return _slider(knob)


def _slider(knob: Knob) -> Any:
    low, high = knob.low or 0, knob.high or 0
    share = knob.kind is float and low >= 0 and high <= 1 and not knob.unit
    label = f"{knob.label} ({knob.unit})" if knob.unit else knob.label
    common = {
        "min": low,
        "max": high,
        "value": low if knob.default is None else knob.default,
        "description": label,
        "tooltip": knob.help,
        "style": _WHOLE,
        "layout": _layout(270),
    }
    if knob.kind is int:
        return widgets.IntSlider(step=int(knob.step or 1), readout_format=",d", **common)
    step = knob.step or (high - low) / 100
    places = max(0, -math.floor(math.log10(step)))
    return widgets.FloatSlider(step=step, readout_format=".0%" if share else f".{places}f", **common)


def _switch(knob: Knob) -> widgets.ToggleButton:
    return widgets.ToggleButton(
        value=knob.default is None,
        description=knob.none,
        tooltip=f"{knob.label}: {knob.none}",
        layout={"width": "auto"},
    )


_WHOLE = {"description_width": "initial"}


def _layout(width: int) -> widgets.Layout:
    return widgets.Layout(width=f"{width}px")
