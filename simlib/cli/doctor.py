"""`simlib doctor`: what works on this machine, in plain words, and how to mend what does not."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs

from simlib import __version__, files
from simlib.cli.class_size import class_looks, learners
from simlib.cli.finding import Finding
from simlib.cli.lab import USUAL_PORT
from simlib.cli.lessons import lessons
from simlib.cli.refusal import EXPECTED, sentence

ROOM = 500  # MB that a database and its copy of the programs may take
WIDGETS = ("jupyterlab_widgets", "anywidget")  # distributions that bring a part for the browser


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor", help="what works on this machine, and how to mend the rest", description=__doc__
    )
    parser.add_argument(
        "--class", dest="learners", type=learners, metavar="N", help="whether a class of N learners would hold here"
    )
    parser.set_defaults(do=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    findings: list[Finding] = []
    for look in (*LOOKS, *(class_looks(args.learners) if args.learners else ())):
        try:
            finding = look()
        except EXPECTED as error:
            finding = Finding("fail", sentence(error))
        findings.append(finding)
        print(f"{finding.level:<5} {finding.words}", flush=True)
        if finding.mend:
            print(f"      {finding.mend}", flush=True)
    failed = sum(f.level == "fail" for f in findings)
    print(f"\n{failed} to mend." if failed else "\nEverything the lessons need works here.")
    return 1 if failed else 0


def _python() -> Finding:
    return Finding("ok", f"simlib {__version__} on Python {platform.python_version()} ({sys.executable})")


def _course() -> Finding:
    found = lessons(files.NOTEBOOKS)
    if not found:
        return Finding("fail", f"no lessons in {files.NOTEBOOKS}", "Install simlib again: a file is missing.")
    return Finding("ok", f"{len(found)} lessons in {files.NOTEBOOKS}")


def _widgets() -> Finding:
    versions = {name: importlib.metadata.version(name) for name in ("jupyterlab", "ipywidgets", "anywidget")}
    words = "widgets: " + ", ".join(f"{name} {version}" for name, version in versions.items())
    missing = [name for name in WIDGETS if not _browser_part(name)]
    if missing:
        mend = f"Install again: pip install --force-reinstall {' '.join(missing)}"
        return Finding("fail", f"{words}; the part for the browser is missing of {', '.join(missing)}", mend)
    return Finding("ok", words)


def _browser_part(name: str) -> bool:
    """Whether a distribution's JupyterLab extension lies where it was installed."""
    listed = importlib.metadata.files(name) or []
    return any("labextensions" in str(f) and Path(str(f.locate())).exists() for f in listed)


def _chromium() -> Finding:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found:
        return Finding("ok", f"a browser for the browser tests: {found}")
    words = "no Chromium on the path: the browser tests are skipped; lessons run in any browser"
    return Finding("warn", words, "For the tests: apt-get install chromium")


def _postgres() -> Finding:
    from simlib import live

    with live.postgres() as server, server.connect() as conn:
        version = conn.execute("show server_version").fetchone()[0]
    return Finding("ok", f"PostgreSQL {version} started, answered and stopped")


def _disk() -> Finding:
    """Room where the database keeps its data: the user's cache folder, or what is there of its path."""
    cache = platformdirs.user_cache_path("simlib")
    there = next(p for p in (cache, *cache.parents) if p.exists())
    free = shutil.disk_usage(there).free / 1e6
    words = f"{free:,.0f} MB free for the cache folder {cache}"
    if free < ROOM:
        return Finding("warn", words, f"A lesson's database wants {ROOM} MB: make room, or set XDG_CACHE_HOME.")
    return Finding("ok", words)


def _port() -> Finding:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
    with socket.socket() as probe:
        taken = probe.connect_ex(("127.0.0.1", USUAL_PORT)) == 0
    if taken:
        return Finding("ok", f"port {USUAL_PORT} is in use; `simlib lab` takes another one by itself")
    return Finding("ok", f"port {USUAL_PORT} is free for `simlib lab`")


LOOKS: tuple[Callable[[], Finding], ...] = (_python, _course, _widgets, _disk, _postgres, _port, _chromium)
