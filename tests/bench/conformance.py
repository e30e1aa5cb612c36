"""SimPy's own tests, run with our clock in place of its environment: `make conformance`.

The tests come from SimPy's source distribution, which is downloaded into a temporary folder and never kept. What
fails is listed. One test may: it checks on which line of which file of SimPy's a failure is raised.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import simpy

from simlib.world.clock import Clock

ALLOWED = frozenset({"test_exceptions.py::test_exception_chaining"})
"""Checks the text of a traceback, file names and source lines included."""


class Watch:
    """A pytest plugin: counts how tests end and keeps the names of those that fail."""

    def __init__(self) -> None:
        self.ended: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid.rpartition("/")[2])
        if report.when == "call" or report.outcome != "passed":
            self.ended[report.outcome] += 1


def main() -> int:
    """Run them; 0 when nothing fails but what is allowed to."""
    with TemporaryDirectory() as folder:
        tests = fetch(Path(folder))
        watch = Watch()
        simpy.Environment = Clock  # where SimPy's tests look it up
        quiet = ["-q", "--no-header", "--no-summary", "--tb=no", "-p", "no:cacheprovider"]
        pytest.main([*quiet, "-c", str(next(tests.parent.glob("simpy-*/pyproject.toml"))), str(tests)], plugins=[watch])
    told = ", ".join(f"{number} {how}" for how, number in sorted(watch.ended.items(), key=lambda item: -item[1]))
    print(f"SimPy {simpy.__version__}'s own tests on simlib's Clock: {told}.")
    for name in watch.failed:
        print(f"  failed: {name}{' (checks a traceback, may fail)' if name in ALLOWED else ''}")
    return int(not watch.ended["passed"] or not ALLOWED.issuperset(watch.failed))


def fetch(folder: Path) -> Path:
    """The tests in the source distribution of the SimPy that is installed, in a folder whose name is not ours."""
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else ["uv", "tool", "run", "pip"]
    wanted = f"simpy=={simpy.__version__}"
    subprocess.run(
        [*pip, "download", "--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(folder), wanted], check=True
    )
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return (folder / archive.name.removesuffix(".tar.gz") / "tests").rename(folder / "simpys")


if __name__ == "__main__":
    raise SystemExit(main())
