"""A run played as it happened: each message travels along the lanes, one or more runs under one clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simlib.knobs import knobs
from simlib.trace import Trace
from simlib.views.diagram import diagrams, telling
from simlib.views.layout import Panel, beside
from simlib.views.picture import Picture
from simlib.views.stage import luck, staged


class Player(Picture):
    """Plays runs, or bare traces, side by side, with play, pause, step, speed and a scrubber.

    Runs are drawn as their scenario draws its sequence diagram; of traces it shows the intent whose story says most.
    Where no widget runs it is that diagram, still, and its plain numbers.
    """

    def __init__(
        self,
        runs: Any,
        *,
        titles: Sequence[str] = (),
        lanes: Sequence[str] | None = None,
        requests: Iterable[int] | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        """`runs`: a run, a trace, or several of one kind.

        For traces: `titles` stand over them; the others are those of `diagram.diagrams`.
        """
        several = list(runs) if isinstance(runs, list | tuple) else [runs]
        if not all(isinstance(run, Trace) for run in several):
            differs = _contrast(several) if len(several) > 1 else ""
            super().__init__(staged(several, kind="diagrams", differs=differs), "\n".join(run.text for run in several))
            return
        wanted = [telling(several[0])] if requests is None else list(requests)
        scenes = diagrams(several, lanes=lanes, requests=wanted, words=words)
        over = [*titles, *[""] * len(several)]
        panels = [Panel(scene, title) for scene, title in zip(scenes, over, strict=False)]
        super().__init__(beside(panels, note=luck(several) if len(several) > 1 else ""))


def _contrast(runs: Sequence[Any]) -> str:
    scenario = runs[0].scenario
    return next(k.label for k in knobs(scenario) if k.name == scenario.contrast.knob)
