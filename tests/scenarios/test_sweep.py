"""Sweeps: every combination once, the same rows on any executor, and nothing lost to Ctrl-C or a dead worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from simlib.knobs import KnobError
from simlib.scenarios import batches
from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.sweep import sweep

STORY = DoubleTap(reply_loss=0.2, purchases=50)


def rows(executor: Executor | None = None) -> list[dict[str, object]]:
    result = sweep(STORY, keys=[False, True], reply_loss=[0.1, 0.4], seeds=range(4), executor=executor, progress=False)
    return result.runs.to_pylist()


def test_every_combination_runs_once_with_every_seed() -> None:
    seen = [(r["keys"], r["reply_loss"], r["seed"]) for r in rows()]
    assert seen == [(k, loss, s) for k in (False, True) for loss in (0.1, 0.4) for s in range(4)]


@pytest.fixture(params=["threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    kind = ThreadPoolExecutor if request.param == "threads" else ProcessPoolExecutor
    with kind(2) as pool:
        yield pool


def test_the_rows_are_the_same_on_any_executor(executor: Executor) -> None:
    assert rows(executor) == rows()


def test_our_own_pool_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = rows()
    monkeypatch.setattr(batches, "WORTH_A_POOL", 0.0)
    assert rows() == alone


@pytest.mark.parametrize("change", [{"reply_loss": [0.1, 1.5]}, {"repl_loss": [0.1]}])
def test_a_bad_value_or_name_is_told_before_anything_runs(change: dict[str, list[float]]) -> None:
    with pytest.raises(KnobError):
        sweep(STORY, progress=False, **change)  # type: ignore[arg-type]


class Interrupted(ThreadPoolExecutor):
    """An executor during whose third batch somebody presses Ctrl-C."""

    batches = 0

    def submit(self, *args: object, **kwargs: object) -> Future:  # type: ignore[override]
        self.batches += 1
        if self.batches == 3:
            raise KeyboardInterrupt
        future = super().submit(*args, **kwargs)  # type: ignore[arg-type]
        future.result()
        return future


def test_ctrl_c_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SECONDS_A_BATCH", 0.0)
    with Interrupted(1) as pool:
        result = sweep(STORY, seeds=range(9), executor=pool, progress=False)
    assert 1 <= len(result) < 9
    assert "of 9 asked for" in repr(result)


class LosesAWorker(ThreadPoolExecutor):
    """An executor that loses the worker of its first batch."""

    lost = 0

    def submit(self, *args: object, **kwargs: object) -> Future:  # type: ignore[override]
        if self.lost == 0:
            self.lost += 1
            future: Future = Future()
            future.set_exception(BrokenProcessPool("a worker died"))
            return future
        return super().submit(*args, **kwargs)  # type: ignore[arg-type]


def test_the_tasks_of_a_lost_worker_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SECONDS_A_BATCH", 0.0)
    with LosesAWorker(2) as pool:
        assert rows(pool) == rows()
    assert pool.lost == 1


def die_once(items: list[Path]) -> list[int]:
    """A task whose worker is killed the first time it runs on a marked item."""
    for marker in items:
        if marker.exists():
            marker.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    return [1 for _ in items]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_worker_killed_for_real_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WORTH_A_POOL", 0.0)
    marker = tmp_path / "die"
    marker.touch()
    items = [tmp_path / "live", *[marker] * 3]
    assert batches.run_all(die_once, items, executor=None, progress=False) == dict.fromkeys(range(4), 1)


def test_means_come_with_their_intervals() -> None:
    result = sweep(STORY, keys=[False, True], seeds=range(5), progress=False)
    table = result.means("duplicates")
    assert table.column("keys") == [False, True]
    assert all(low <= mean <= high for mean, low, high in zip(*map(table.column, ("mean", "low", "high")), strict=True))
    with pytest.raises(ValueError, match="no count 'dupes'"):
        result.means("dupes")


def test_the_traces_of_many_runs_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SECONDS_A_BATCH", 0.0)
    result = sweep(STORY, keys=[False, True], seeds=range(4), progress=False, traces=tmp_path / "traces")
    assert len(list((tmp_path / "traces").glob("*.parquet"))) == 8
    charges = result.sql("select run, count(*) from events where event = 'effect' group by run order by run")
    assert charges.column("count_star()") == result.runs.column("charges").to_pylist()


def test_the_figure_names_what_varies_and_says_its_numbers() -> None:
    found = sweep(DoubleTap(), keys=[False, True], reply_loss=[0.5], purchases=[20], seeds=range(3), progress=False)
    drawn = found.figure("charges")
    assert drawn.alt.startswith("Means of charges with 95% intervals: keys off ")
    assert drawn.alt.endswith("keys on 20 (20 to 20).")
