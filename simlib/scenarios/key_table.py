"""Lesson 10: what the table of keys costs, and what it costs to get rid of the old ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from simlib.knobs import check, knob
from simlib.policy.closed_forms import key_rows
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Recorder
from simlib.views.load import Series, over_time, top_of
from simlib.views.scene import Scene

HOUR = 3600
DAYS = 4  # that a figure shows


@dataclass(frozen=True)
class KeyTable:
    """A table that takes a row for every write and keeps it for some hours.

    Deleting old rows one by one keeps the table as small as it can be, and costs a dead row, to be cleaned up, for each
    key. Dropping a day's partition costs next to nothing, and until then up to a day more is kept.
    """

    title: ClassVar[str] = "The key table"
    contrast: ClassVar[Contrast] = Contrast("drop", (False, True), ("Delete rows", "Drop days"))

    writes_per_s: float = field(default=2000.0, metadata=knob("writes", "keyed requests", 1, 100_000, 1, unit="/s"))
    hours: float = field(default=24.0, metadata=knob("kept", "how long a key is kept", 1, 168, 1, unit="h"))
    row_bytes: int = field(default=1000, metadata=knob("row", "a row with its answer", 50, 20_000, 10, unit="bytes"))
    drop: bool = field(default=False, metadata=knob("drop days", "whole days go, in place of single rows"))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """Arithmetic: the seed changes nothing."""
        rows = key_rows(self.writes_per_s, self.hours)
        day = key_rows(self.writes_per_s, 24)
        most = rows + (day if self.drop else 0)
        counts = {
            "rows": rows,
            "bytes": rows * self.row_bytes,
            "most_rows": most,
            "most_bytes": most * self.row_bytes,
            "deletes_a_day": 0 if self.drop else day,
        }
        return Run(self, seed, counts, Recorder().freeze(), self._series())

    def describe(self, counts: Mapping[str, float]) -> str:
        deletes = counts["deletes_a_day"]
        said = f"{deletes:,.0f} rows deleted a day" if deletes else "a day dropped at once"
        return (
            f"{counts['rows']:,.0f} rows, {_size(counts['bytes'])} live, {_size(counts['most_bytes'])} at most, {said}"
        )

    def headline(self, counts: Mapping[str, float]) -> Headline:
        deletes = counts["deletes_a_day"]
        return Headline(f"{_size(counts['most_bytes'])} at most, {deletes / 1e6:,.0f} M deletes a day", good=self.drop)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        curves = [Series("table", run.series["gigabytes"]) for run in runs]
        top = top_of(curves)
        return [
            over_time(run.series["hour"], [curve], top=top, x_label="hours", y_label="gigabytes")
            for run, curve in zip(runs, curves, strict=True)
        ]

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return self.pictures(runs)

    def _series(self) -> dict[str, list[float]]:
        """Gigabytes over some days, hour by hour, from an empty table."""
        hours = list(range(DAYS * 24 + 1))
        kept = [self._kept(hour) * self.writes_per_s * HOUR * self.row_bytes / 1e9 for hour in hours]
        return {"hour": [float(h) for h in hours], "gigabytes": kept}

    def _kept(self, hour: int) -> float:
        """How many hours of keys are there. A day goes when its last key is old enough."""
        if not self.drop:
            return min(hour, self.hours)
        gone = max(0, int((hour - self.hours) // 24))
        return hour - gone * 24


def _size(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.4g} {unit}"
    return f"{count / 1e3:,.3g} kB"
