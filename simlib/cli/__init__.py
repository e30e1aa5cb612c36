"""The command line: `simlib lab | present | demo | run | sweep | doctor | classroom`.

Each command is a module with `register(commands)`, which declares its words, and a function that does it.
Whatever a user can get wrong ends in one sentence on stderr and exit code 2, never in a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from simlib import __version__
from simlib.cli import classroom, demo, doctor, lab, present, run, sweep
from simlib.cli.refusal import EXPECTED, sentence

COMMANDS = (lab, present, demo, run, sweep, doctor, classroom)


class _Parser(argparse.ArgumentParser):
    """argparse that says what is wrong in one sentence, without the usage lines before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"simlib: {message}; `{self.prog} --help` shows what there is.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        args = _parser().parse_args(argv)
        return args.do(args)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # `simlib run ... | head` is no error
        return 0
    except EXPECTED as error:
        print(f"simlib: {sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="simlib", description="A course on idempotency and retries.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"simlib {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.register(commands)
    return parser
