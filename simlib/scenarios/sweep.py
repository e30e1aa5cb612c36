"""A scenario over every combination of knob values and seeds: a table, and a figure with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from simlib import arrow, knobs
from simlib.scenarios.batches import run_all
from simlib.scenarios.run import Scenario
from simlib.table import Table

if TYPE_CHECKING:
    from simlib.views.paper import Drawing

Task = tuple[int, Scenario, int]
"""A run's number, its scenario and its seed."""


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep: `runs` has one row a run, with its knobs, seed and counts; `wanted` is how many were asked.

    `traces` is the folder of Parquet files that holds their events, if they were kept.
    """

    runs: pa.Table
    knobs: tuple[str, ...]
    wanted: int
    traces: Path | None = None

    def __len__(self) -> int:
        return self.runs.num_rows

    def sql(self, text: str) -> Table:
        """DuckDB over the table `runs`, and `events` where traces were kept (with the column `run`), however large."""
        files = None if self.traces is None else str(self.traces / "*.parquet")
        return arrow.query(text, tables={"runs": self.runs}, parquet={} if files is None else {"events": files})

    def means(self, count: str) -> Table:
        """The mean of a count for each combination of knobs, with its 95% interval (normal, over the seeds)."""
        if count not in self.runs.column_names:
            raise ValueError(f"no count {count!r}; there are {', '.join(self.runs.column_names)}.")
        by = ", ".join(self.knobs) or "'all'"
        spread = f'coalesce(1.96 * stddev_samp("{count}") / sqrt(count(*)), 0)'
        return self.sql(
            f'select {by}, avg("{count}") as mean, mean - {spread} as low, mean + {spread} as high, '
            f"count(*) as runs from runs group by all order by all"
        )

    def figure(self, count: str) -> Drawing:
        """The means as a figure with alt text: a row for each combination of the knobs that vary."""
        from simlib.views.means import Mean, means
        from simlib.views.paper import paint

        varied = [i for i, name in enumerate(self.knobs) if len(self.runs.column(name).unique()) > 1]
        rows = []
        for *values, mean, low, high, _ in self.means(count):
            name = ", ".join(f"{self.knobs[i].replace('_', ' ')} {_said(values[i])}" for i in varied)
            rows.append(Mean(name or "all", mean, low, high))
        return paint(means(rows, count.replace("_", " ")))

    def __repr__(self) -> str:
        cut = "" if len(self) == self.wanted else f" of {self.wanted:,} asked for"
        return f"Sweep of {len(self):,} runs{cut} over {', '.join(self.knobs) or 'seeds'}"


def sweep(
    scenario: Scenario,
    *,
    seeds: Iterable[int] = range(10),
    executor: Executor | None = None,
    progress: bool = True,
    traces: str | Path | None = None,
    **values: Sequence[Any],
) -> Sweep:
    """Run every combination of the knob values given (a list for each knob) with every seed.

    Rows come in the order of knobs and seeds and are the same on any `executor` (any `concurrent.futures.Executor`,
    such as a Dask client's `get_executor()`); without one this machine's cores are used when the work is worth it.
    Ctrl-C returns what is done. `traces` names a folder, made if need be, for the events of all runs as Parquet.
    KnobError for an unknown knob or a value out of range, before anything runs.
    """
    lists = {name: list(chosen) for name, chosen in values.items()}
    combinations = [dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())]
    variants = [knobs.replace(scenario, **chosen) for chosen in combinations]
    pairs = list(itertools.product(range(len(variants)), seeds))
    tasks: list[Task] = [(number, variants[at], seed) for number, (at, seed) in enumerate(pairs)]
    folder = None if traces is None else Path(traces)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    done = run_all(partial(_run, folder=folder), tasks, executor=executor, progress=progress)
    rows = [
        {"run": number, **combinations[at], "seed": seed, **done[number]}
        for number, (at, seed) in enumerate(pairs)
        if number in done
    ]
    return Sweep(pa.Table.from_pylist(rows), tuple(lists), len(tasks), folder)


def _said(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _run(tasks: Sequence[Task], folder: Path | None) -> list[dict[str, float]]:
    """Run a batch, here or in a worker; its events go to one Parquet file named after its first run."""
    counts: list[dict[str, float]] = []
    events: list[pa.Table] = []
    for number, scenario, seed in tasks:
        run = scenario.run(seed)
        counts.append(dict(run.counts))
        if folder is not None:
            table = run.trace.to_arrow()
            events.append(table.append_column("run", pa.array(np.full(len(table), number, dtype=np.int64))))
    if folder is not None and events:
        whole = pa.concat_tables([t.unify_dictionaries() for t in events]).unify_dictionaries()
        arrow.write(whole, folder / f"runs-{tasks[0][0]:08d}.parquet")
    return counts
