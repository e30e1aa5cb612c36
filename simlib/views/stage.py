"""What runs of one scenario look like together: on one scale, each with its number, and what all share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from simlib.trace import Trace
from simlib.views.layout import Panel, beside
from simlib.views.looks import rows, seconds
from simlib.views.scene import Scene


class Played(Protocol):
    """As much of a run as a picture of it needs."""

    @property
    def scenario(self) -> Any: ...
    @property
    def counts(self) -> Mapping[str, float]: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def text(self) -> str: ...


def staged(runs: Sequence[Played], *, kind: Literal["pictures", "diagrams"] = "pictures", differs: str = "") -> Scene:
    """The runs side by side, each with its title and headline; `differs` names the one knob that differs."""
    scenario = runs[0].scenario
    scenes = scenario.diagrams(runs) if kind == "diagrams" else scenario.pictures(runs)
    panels = [Panel(scene, *heading(run)) for run, scene in zip(runs, scenes, strict=True)]
    if not differs:
        return beside(panels)
    same = luck([run.trace for run in runs]) if any(scene.clock for scene in scenes) else f"Same luck on {sides(runs)}."
    return beside(panels, note=f"{same} Only this differs: {differs}.")


def heading(run: Played) -> tuple[str, str, bool]:
    """A panel's title, the number that matters and whether it is a good one, from the run's own scenario."""
    contrast = run.scenario.contrast
    titles = dict(zip(contrast.values, contrast.titles, strict=True))
    headline = run.scenario.headline(run.counts)
    return titles.get(getattr(run.scenario, contrast.knob), ""), headline.text, headline.good


def luck(traces: Sequence[Trace]) -> str:
    """What befell all of them alike: `Same luck on both sides: the first reply is lost at 0.9 s.`"""
    lost = [next((r for r in rows(trace, [0]) if r.event == "lose"), None) for trace in traces]
    first = lost[0]
    if first is None or any(r is None or (r.time, r.status) != (first.time, first.status) for r in lost):
        return f"Same luck on {sides(traces)}."
    return f"Same luck on {sides(traces)}: the first {first.status or 'message'} is lost at {seconds(first.time)}."


def sides(several: Sequence[Any]) -> str:
    return "both sides" if len(several) == 2 else "all sides"
