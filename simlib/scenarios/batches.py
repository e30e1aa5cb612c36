"""Many runs on any `concurrent.futures.Executor`: batches, progress, Ctrl-C, and workers that are lost."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
R = TypeVar("R")

SECONDS_A_BATCH = 0.2  # long enough that handing it over costs little, short enough that the bar moves
WORTH_A_POOL = 1.0  # seconds of work below which starting processes costs more than it saves
RETRIES = 3  # times that the tasks of lost workers are handed out again


def run_all(
    task: Callable[[Sequence[T]], list[R]], items: Sequence[T], *, executor: Executor | None, progress: bool
) -> dict[int, R]:
    """Call `task` on batches of `items` and return what each item gave, by its place; all unless Ctrl-C cut it short.

    Without an executor small work runs here and big work on a process pool of this machine's cores. The first item
    runs here in any case, to learn how long one takes. The tasks of a lost worker are run again, a few times.
    """
    done: dict[int, R] = {}
    with tqdm(total=len(items), disable=not progress, unit="run", leave=False) as bar:
        try:
            began = time.perf_counter()
            for place in range(min(1, len(items))):
                done[place] = task(items[:1])[0]
                bar.update()
            each = max(time.perf_counter() - began, 1e-6)
            size = max(1, round(SECONDS_A_BATCH / each))
            if executor is None and each * len(items) < WORTH_A_POOL:
                for batch in _batches(range(1, len(items)), size):
                    done |= zip(batch, task([items[i] for i in batch]), strict=True)
                    bar.update(len(batch))
            elif len(items) > 1:
                _spread(task, items, size, executor, done, bar)
        except KeyboardInterrupt:
            bar.write(f"Stopped: {len(done):,} of {len(items):,} runs are done and kept.")
    return done


def _spread(
    task: Callable[[Sequence[T]], list[R]],
    items: Sequence[T],
    size: int,
    executor: Executor | None,
    done: dict[int, R],
    bar: tqdm,
) -> None:
    for attempt in range(RETRIES + 1):
        left = [i for i in range(len(items)) if i not in done]
        if not left:
            return
        try:
            with _pool() if executor is None else _lent(executor) as pool:
                _collect(task, items, _batches(left, size), pool, done, bar)
        except (BrokenProcessPool, ConnectionError, OSError):
            if attempt == RETRIES:
                raise


def _collect(
    task: Callable[[Sequence[T]], list[R]],
    items: Sequence[T],
    batches: Iterator[Sequence[int]],
    pool: Executor,
    done: dict[int, R],
    bar: tqdm,
) -> None:
    futures: dict[Future[list[R]], Sequence[int]] = {}
    try:
        for batch in batches:
            futures[pool.submit(task, [items[i] for i in batch])] = batch
        for future in as_completed(futures):
            batch = futures[future]
            done |= zip(batch, future.result(), strict=True)
            bar.update(len(batch))
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _batches(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]


@contextmanager
def _pool() -> Iterator[Executor]:
    """A process for each core. A notebook has threads, so no plain fork: forkserver where there is one, else spawn."""
    method = "spawn" if sys.platform in ("win32", "darwin") else "forkserver"
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context(method)) as pool:
        yield pool


@contextmanager
def _lent(executor: Executor) -> Iterator[Executor]:
    """Somebody else's executor: used, and left running."""
    yield executor
