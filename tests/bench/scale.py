"""Beyond one run: replications on two processes and on Dask, a million purchases, and what it costs as it grows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from simlib.knobs import knob
from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.retry_storm import RetryStorm
from simlib.scenarios.sweep import sweep

POOL, DASK = 0.58, 0.75  # of the time of one process, on two
GIGABYTE = 1e9
STORY = DoubleTap(keys=True, reply_loss=0.05, request_loss=0.05, purchases=10_000)
RUNS = 40
ROUNDS = 3
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LAYERS = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Tall(RetryStorm):
    """A storm of more layers than one would turn by hand."""

    layers: int = field(default=6, metadata=knob("layers", "layers that call the next one", 1, 6, 1))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"layer {n}" for n in range(1, self.layers + 1))


def report() -> bool:
    """Print them; True when all are as they should be."""
    seen = measured()
    for name, value in seen.items():
        print(f"{name}: {json.dumps(value)}")
    return (
        seen["two processes"] <= POOL
        and seen["dask, two workers"] <= DASK
        and seen["1,000,000 purchases as 200 runs"]["gigabytes"] < 1
        and seen["1,000,000 purchases in one process"]["gigabytes"] < 1.5
    )


def measured() -> dict[str, Any]:
    """What was measured, by name: ratios to the same work on one process, seconds and gigabytes."""
    return {**replications(), **as_runs(), **growing()}


def replications() -> dict[str, float]:
    """40 runs on two processes and on a Dask cluster of two workers, as shares of their time on one."""
    from distributed import Client, LocalCluster

    with (
        ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool,
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        ways: dict[str, Executor | None] = {"serial": None, "pool": pool, "dask": client.get_executor()}
        took: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(ROUNDS + 1):
            for name, executor in ways.items():
                began = time.perf_counter()
                if executor is None:
                    for seed in range(RUNS):
                        STORY.run(seed)
                else:
                    sweep(STORY, seeds=range(RUNS), executor=executor, progress=False)
                if turn:
                    took[name].append(time.perf_counter() - began)
    serial = took["serial"]
    share = {name: median(a / b for a, b in zip(took[name], serial, strict=True)) for name in ("pool", "dask")}
    return {"two processes": round(share["pool"], 2), "dask, two workers": round(share["dask"], 2)}


def as_runs() -> dict[str, Any]:
    """1,000,000 purchases as 200 runs into Parquet, and the duplicates of all of them by one query."""
    story = DoubleTap(reply_loss=0.05, request_loss=0.05, purchases=5_000)
    with tempfile.TemporaryDirectory() as folder, peak() as most:
        began = time.perf_counter()
        result = sweep(story, seeds=range(200), progress=False, traces=Path(folder) / "traces")
        swept = time.perf_counter() - began
        began = time.perf_counter()
        found = result.sql(
            "select sum(charges - 1) from (select count(*) as charges from events where event = 'effect' "
            "group by run, request)"
        ).scalar()
        asked = time.perf_counter() - began
        assert found == sum(result.runs.column("duplicates").to_pylist())
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.parquet"))
    return {
        "1,000,000 purchases as 200 runs": {
            "seconds": round(swept, 1),
            "query": round(asked, 2),
            "gigabytes": round(most() / GIGABYTE, 2),
            "on disk": round(size / GIGABYTE, 3),
        }
    }


ALONE = """
import json, resource, sys, time
from tests.bench.reference import simulate
from tests.bench.scale import Tall, counted
began = time.process_time()
trace = eval(sys.argv[1])
took = time.process_time() - began
print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, len(trace)]))
"""


def alone(trace: str) -> tuple[float, float, int]:
    """Seconds of processor time, peak bytes and rows of a run in a process of its own."""
    said = subprocess.run([sys.executable, "-c", ALONE, trace], capture_output=True, text=True, check=True)
    took, most, rows = json.loads(said.stdout)
    return took, most, rows


def counted(runs: int) -> list[dict[str, float]]:
    """The counts of so many runs of 5,000 purchases each; of every run nothing else is kept."""
    story = DoubleTap(reply_loss=0.05, request_loss=0.05, purchases=5_000)
    return [dict(story.run(seed).counts) for seed in range(runs)]


def growing() -> dict[str, Any]:
    """Microseconds a purchase as purchases grow, and an event as layers do; and all of the largest run."""
    runs = {n: alone(f"simulate({n}, 7).freeze()") for n in SIZES}
    storms = {n: alone(f"Tall(layers={n}, attempts=2, failure=0.5, taps=20_000).run(7).trace") for n in LAYERS}
    took, most, rows = runs[SIZES[-1]]
    fewer, all_of_them = alone("counted(40)"), alone("counted(200)")
    return {
        "1,000,000 purchases, counts only": {
            "seconds": round(all_of_them[0], 1),
            "gigabytes": round(all_of_them[1] / GIGABYTE, 3),
            "gigabytes of 200,000": round(fewer[1] / GIGABYTE, 3),
        },
        f"{SIZES[-1]:,} purchases in one process": {
            "seconds": round(took, 1),
            "gigabytes": round(most / GIGABYTE, 2),
            "rows": rows,
        },
        "microseconds a purchase": {f"{n:,}": round(run[0] / n * 1e6, 2) for n, run in runs.items()},
        "microseconds an event, by layers": {
            f"{n}": round(took / rows * 1e6, 2) for n, (took, _, rows) in storms.items()
        },
    }


@contextmanager
def peak() -> Iterator[Callable[[], float]]:
    """The most memory, in bytes, that this process and its children held together while the block ran."""
    over, most = threading.Event(), [0.0]

    def look() -> None:
        while not over.wait(0.05):
            family = [psutil.Process(), *psutil.Process().children(recursive=True)]
            held = 0
            for process in family:
                try:
                    held += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            most[0] = max(most[0], held)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield lambda: most[0]
    finally:
        over.set()
        watcher.join()
