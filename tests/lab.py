"""`simlib lab` and `simlib present` as a user starts them, for tests that look at them from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S*")


@dataclass
class Lab:
    """A running server of the course: what it printed as its address, and its process."""

    address: str
    process: subprocess.Popen[str]

    @property
    def base(self) -> str:
        """The server alone: `http://127.0.0.1:PORT`."""
        return "/".join(self.address.split("/")[:3])

    @property
    def token(self) -> str:
        return self.address.rpartition("token=")[2]

    def stop(self, signum: int = signal.SIGINT) -> tuple[int, str]:
        """Send the signal, wait for the end; returns the exit code and what was printed since the address."""
        self.process.send_signal(signum)
        printed, _ = self.process.communicate(timeout=60)
        return self.process.returncode, printed


@contextmanager
def lab(*words: str, cwd: Path, home: Path, command: str = "lab", **environment: str) -> Iterator[Lab]:
    """Start `simlib lab --no-browser`, or another command, with `words` in `cwd`; stopped at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "simlib.cli", command, "--no-browser", *words],
        cwd=cwd,
        env={**os.environ, "HOME": str(home), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield Lab(_address(process), process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _address(process: subprocess.Popen[str]) -> str:
    """The address it prints when it is ready; the test fails with its words when it ends before that."""
    printed: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        printed.append(line)
        if found := ADDRESS.search(line):
            return found.group()
    raise AssertionError(f"simlib ended without an address: {''.join(printed)}")


def commands(process: subprocess.Popen[str]) -> dict[int, str]:
    """The command lines of a process's descendants by process id; one that ends while one looks is left out."""
    found: dict[int, str] = {}
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found[child.pid] = " ".join(child.cmdline())
    return found
