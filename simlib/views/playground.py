"""A scenario under the hand: turn a knob, see what changes and what stays.

Everything follows from the scenario: its knobs make the controls, its contrast the two sides, its picture and its
numbers what is shown. What is seen depends on the knobs and the seed alone.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from simlib import knobs
from simlib.views.coalesce import Latest
from simlib.views.controls import Control, buttons
from simlib.views.picture import Picture, bundle
from simlib.views.stage import staged

COMPARE = "side by side"


class Playground(widgets.VBox):
    """Controls, picture and plain numbers of a scenario (`simlib.scenarios`).

    `run` is the run of the knobs as they stand, `text` its numbers in words, `set` turns knobs from code.
    In a notebook it is a widget; where none runs it is its picture and its text.
    """

    def __init__(self, scenario: Any, seed: int = 7, *, compare: bool = True) -> None:
        """`scenario` says where the knobs start; `compare` whether both sides of its contrast are shown."""
        self._scenario = scenario
        self._quiet = True
        self._latest = Latest(self._redraw)
        contrast = scenario.contrast
        self._side = buttons(
            "compare",
            [*zip(contrast.titles, contrast.values, strict=True), (COMPARE, COMPARE)],
            COMPARE if compare else getattr(scenario, contrast.knob),
            f"{contrast.knob}: one side, or all under the same luck",
        )
        self._controls = {
            k.name: Control(k, getattr(scenario, k.name), self._turned)
            for k in knobs.knobs(scenario)
            if k.name != contrast.knob
        }
        self._seed = widgets.BoundedIntText(
            seed,
            min=0,
            max=2**31,
            description="luck",
            style={"description_width": "initial"},
            layout={"width": "120px"},
        )
        another = widgets.Button(description="another", tooltip="another seed", layout={"width": "auto"})
        another.on_click(lambda _: setattr(self._seed, "value", self._seed.value + 1))
        self._side.observe(lambda _: self._turned(), "value")
        self._seed.observe(lambda _: self._turned(), "value")
        self._play(scenario, seed)
        self._picture = Picture(self._scene, self.text)
        row = [self._side, *(c.widget for c in self._controls.values()), widgets.HBox([self._seed, another])]
        bar = widgets.HBox(row, layout={"flex_flow": "row wrap", "align_items": "center", "grid_gap": "2px 18px"})
        super().__init__([bar, self._picture])
        self.add_class("simlib-playground")
        self._quiet = False

    @property
    def run(self) -> Any:
        """The run of the knobs as they stand; side by side, of the side last chosen."""
        self._latest.flush()
        return self._run

    @property
    def runs(self) -> tuple[Any, ...]:
        """The runs that are shown: one, or one for each side."""
        self._latest.flush()
        return self._runs

    @property
    def text(self) -> str:
        """The numbers that are shown, one line a run: `DoubleTap(keys=False, seed=7): 1 purchase, 2 charges, ...`."""
        return "\n".join(run.text for run in self.runs)

    def set(self, *, seed: int | None = None, compare: bool | None = None, **values: Any) -> Playground:
        """Turn knobs by name, as if by hand; naming the contrast's knob shows that side alone.

        Raises KnobError, and turns nothing, for a knob or a value there is not.
        """
        self._latest.flush()
        name = self._scenario.contrast.knob
        try:
            scenario = knobs.replace(self._scenario, **values)
            if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
                raise knobs.KnobError(f"seed is {seed!r}; it takes a whole number from 0, for example 7.")
        except knobs.KnobError as mistake:
            self._picture.complain(str(mistake))
            raise
        self._quiet = True
        try:
            for each, control in self._controls.items():
                control.value = getattr(scenario, each)
            self._seed.value = self._seed.value if seed is None else seed
            if compare:
                self._side.value = COMPARE
            elif compare is False or name in values:
                self._side.value = getattr(scenario, name)
        finally:
            self._quiet = False
        self._show(scenario)
        return self

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return bundle(self, self._picture.scene, self.text)

    def _turned(self) -> None:
        if not self._quiet:
            self._latest.ask()

    def _redraw(self) -> None:
        values = {name: control.value for name, control in self._controls.items()}
        if self._side.value != COMPARE:
            values[self._scenario.contrast.knob] = self._side.value
        try:
            self._show(knobs.replace(self._scenario, **values))
        except Exception as mistake:
            self._picture.complain(str(mistake))
            if not isinstance(mistake, knobs.KnobError):
                raise

    def _show(self, scenario: Any) -> None:
        self._play(scenario, self._seed.value)
        self._picture.show(self._scene, self.text)

    def _play(self, scenario: Any, seed: int) -> None:
        contrast = scenario.contrast
        here = getattr(scenario, contrast.knob)
        compare = self._side.value == COMPARE
        sides = contrast.values if compare else (here,)
        runs = tuple(knobs.replace(scenario, **{contrast.knob: value}).run(seed) for value in sides)
        chosen = sides.index(here) if here in sides else 0
        label = next(k.label for k in knobs.knobs(scenario) if k.name == contrast.knob)
        self._scene = staged(runs, differs=label if compare else "")
        self._scenario, self._runs, self._run = scenario, runs, runs[chosen]
