"""`simlib present`: a lesson as an app for the projector: the stories and playgrounds, without the code."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simlib import files
from simlib.cli.jupyter import presenting
from simlib.cli.lab import free_port, keep_open, refuse_taken, tcp_port
from simlib.cli.lessons import find, lessons
from simlib.cli.refusal import Refusal

USUAL_PORT = 8866
TEMPLATE = files.DATA / "present" / "voila" / "templates" / "simlib"
EXERCISES = "## Exercise"

_TERM = re.compile(r'\[([^]]+)\]\(glossary\.md#[^ )]+ ("[^"]*")\)')


def register(commands: Any) -> None:
    parser = commands.add_parser("present", help="show a lesson on a projector, code hidden", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="a number or a name: 05, claim")
    parser.add_argument("--port", type=tcp_port, help=f"where to listen (default: {USUAL_PORT}, or any free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(do=_present)


def _present(args: argparse.Namespace) -> int:
    lesson = find(args.lesson, files.NOTEBOOKS)
    if importlib.util.find_spec("voila") is None:
        raise Refusal("to present a lesson takes Voila; install it with: pip install 'simlib[present]'.")
    if args.port is not None:
        refuse_taken(args.port)
    print(f"Starting Voila on {lesson.stem}; stop it with Ctrl-C.", flush=True)
    ports = [args.port] if args.port else [free_port(USUAL_PORT), free_port()]
    with slides() as folder:
        serve = partial(presenting, folder, TEMPLATE)
        keep_open(serve, ports, f"/voila/render/{quote(lesson.name)}", browser=not args.no_browser)
    return 0


@contextlib.contextmanager
def slides() -> Iterator[Path]:
    """A folder with all lessons as they are presented; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="simlib-slides-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        for lesson in lessons(files.NOTEBOOKS):
            shown = presented(json.loads(lesson.read_text(encoding="utf-8")))
            (folder / lesson.name).write_text(json.dumps(shown), encoding="utf-8")
        yield folder


def presented(notebook: dict[str, Any]) -> dict[str, Any]:
    """A lesson for the room: without the exercises, and terms explained on the spot, not in another page."""
    cells: list[dict[str, Any]] = []
    skipping = False
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if text.startswith("## "):
            skipping = text.startswith(EXERCISES)
        if not skipping:
            told = _TERM.sub(r"<abbr title=\2>\1</abbr>", text) if cell["cell_type"] == "markdown" else text
            cells.append({**cell, "source": told})
    return {**notebook, "cells": cells}
