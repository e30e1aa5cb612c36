"""What a scenario is, and what running one gives: counts, a trace, a picture and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from simlib import knobs
from simlib.trace import Trace
from simlib.views.paper import paint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simlib.views.scene import Scene


@dataclass(frozen=True)
class Contrast:
    """The knob whose values are shown side by side under the same luck, each with a title."""

    knob: str
    values: tuple[Any, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """The number that matters, as it is shown large: `2 charges`; good is whether that is what one wants."""

    text: str
    good: bool


class Scenario(Protocol):
    """One story: its knobs (dataclass fields), its world, what to count.

    `run` is a pure function of the knobs and the seed.
    """

    title: ClassVar[str]
    contrast: ClassVar[Contrast]

    def run(self, seed: int = 7) -> Run: ...

    def describe(self, counts: Mapping[str, float]) -> str: ...

    def headline(self, counts: Mapping[str, float]) -> Headline: ...

    def pictures(self, runs: Sequence[Run]) -> Sequence[Scene]:
        """What a playground shows of runs that stand side by side: one scene each, all on the same scales.

        The diagrams while the runs are small, numbers or figures over time when they are big.
        """
        ...

    def diagrams(self, runs: Sequence[Run]) -> Sequence[Scene]:
        """The sequence diagrams of the most telling request, one for each run, under one clock."""
        ...


@dataclass(frozen=True)
class Run:
    """One run of a scenario. `series` holds what its figure draws over time, by name, when it draws one."""

    scenario: Scenario
    seed: int
    counts: Mapping[str, float]
    trace: Trace
    series: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The result in one line: `DoubleTap(keys=False, seed=7): 1 purchase, 2 charges, 1 duplicate`."""
        shown = {**self._named(), "seed": self.seed}
        name = type(self.scenario).__name__
        return f"{name}({', '.join(f'{k}={v!r}' for k, v in shown.items())}): {self.scenario.describe(self.counts)}"

    def diagram(self) -> Figure:
        """Who told whom what, and when: a matplotlib figure with alt text."""
        return paint(self.scenario.diagrams([self])[0])

    def figure(self) -> Figure:
        """The picture a playground shows of this run: a matplotlib figure with alt text."""
        return paint(self.scenario.pictures([self])[0])

    def __repr__(self) -> str:
        return self.text

    def _named(self) -> dict[str, Any]:
        """The knobs worth naming: the contrast, and whatever stands off its default."""
        contrast = self.scenario.contrast.knob
        return {contrast: getattr(self.scenario, contrast), **knobs.changed(self.scenario)}
