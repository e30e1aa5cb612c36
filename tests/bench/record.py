"""`make record`: measure what README tells, keep it in `data/`, and make README's table and figure of it."""

from __future__ import annotations

import json
from typing import Any

from matplotlib.figure import Figure

from simlib import live
from simlib.files import DATA, ROOT
from tests.bench import explore, payments, scale
from tests.bench.ratios import ratio

KEPT = DATA / "benchmarks.json"
FIGURE = DATA / "cost.png"
README = ROOT / "README.md"
BEGIN, END = "<!-- made by `make record` from data/benchmarks.json -->", "<!-- so far -->"


def measured() -> dict[str, Any]:
    """All of README's figures, by name."""
    took = payments.compared(10_000)
    with live.postgres():
        rate, attacked = explore.rate(), explore.attacked()
    return {
        "times idiomatic SimPy": round(ratio(took["simpy"], took["ours"]), 1),
        "schedules a second": round(rate),
        "seconds of an attack": round(attacked, 1),
        **scale.measured(),
    }


def table(kept: dict[str, Any]) -> str:
    """README's table."""
    million, runs = kept["1,000,000 purchases in one process"], kept["1,000,000 purchases as 200 runs"]
    rows = [
        ("the reference model (10,000 purchases over a lossy network) against idiomatic SimPy",
         f"{kept['times idiomatic SimPy']} times faster"),
        ("1,000,000 purchases in one process, every event kept",
         f"{million['seconds']} s, {million['gigabytes']} GB, {million['rows']:,} events"),
        ("1,000,000 purchases as 200 runs, to Parquet",
         f"{runs['seconds']} s, {runs['gigabytes']} GB, {runs['on disk'] * 1000:.0f} MB on disk"),
        ("all duplicates of those runs, by one query", f"{runs['query']} s"),
        ("40 runs on two processes; on a Dask cluster of two workers",
         f"{kept['two processes']} and {kept['dask, two workers']} of the time of one"),
        ("schedules of two real sessions of `pay` on PostgreSQL", f"{kept['schedules a second']} a second"),
        ("a full `attack(pay)`", f"{kept['seconds of an attack']} s"),
    ]  # fmt: skip
    return "\n".join(["| what | measured on two cores |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


def readme(text: str, kept: dict[str, Any]) -> str:
    """README with the table made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(kept)}\n\n{END}{after}"


def figure(kept: dict[str, Any]) -> Figure:
    """What a purchase costs as there are more of them, and an event as there are more layers."""
    drawn = Figure(figsize=(8, 2.6), layout="constrained")
    left, right = drawn.subplots(1, 2)
    for axes, name, label in (
        (left, "microseconds a purchase", "purchases"),
        (right, "microseconds an event, by layers", "layers"),
    ):
        values = kept[name]
        axes.plot(list(values), list(values.values()), "o-", color="#0072b2")
        axes.set_ylim(0, 1.3 * max(values.values()))
        axes.set_xlabel(label)
        axes.set_ylabel(name.partition(",")[0].replace("microseconds", "μs"))
        axes.spines[["top", "right"]].set_visible(False)
    return drawn


def main() -> None:
    kept = measured()
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    figure(kept).savefig(FIGURE, dpi=160)
    README.write_text(readme(README.read_text(encoding="utf-8"), kept), encoding="utf-8")
    print(table(kept))


if __name__ == "__main__":
    main()
