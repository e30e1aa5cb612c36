"""`simlib sweep`: one story over many settings and seeds; a knob takes several values, apart by commas."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from simlib.cli.refusal import Refusal
from simlib.cli.run import meant, written
from simlib.knobs import Knob, knobs, parse

SEEDS, MOST_SEEDS = 10, 100_000
_SWITCH = {"on": True, "off": False}


def register(commands: Any) -> None:
    text = (
        "Run one story over many settings: `simlib sweep double-tap --keys on,off --reply-loss 0.1,0.2`. "
        "A knob that is named takes one value or several; the others stay as the story, or its TOML file, has them."
    )
    parser = commands.add_parser("sweep", help="run a story over many settings and seeds", description=text)
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="SCENARIO|FILE.toml [--knob value,value ...]")
    parser.set_defaults(do=lambda args: _sweep(args.words, type(parser)))


def _sweep(words: list[str], parser_class: type[argparse.ArgumentParser]) -> int:
    from simlib import arrow
    from simlib.scenarios.sweep import sweep

    if not words:
        raise Refusal("sweep what? `simlib run` lists the scenarios with their knobs.")
    name, base = meant(words[0])
    args = _parser(name, base, parser_class).parse_args(words[1:])
    given: dict[str, Any] = {
        k.name: _values(k, text) for k in knobs(type(base)) if (text := getattr(args, k.name)) is not None
    }
    known = list(base.run(0).counts)  # one run to know the counts, before there are many
    count = args.count or known[-1]
    if count not in known:
        raise Refusal(f"{name} counts no {count!r}; it counts {', '.join(known)}.")
    found = sweep(base, seeds=range(args.seeds), progress=not args.quiet, traces=args.traces, **given)
    if args.out:
        written(args.out, lambda path: arrow.write(found.runs, path))
    if args.figure:
        written(args.figure, lambda path: path.write_bytes(found.figure(count).png()))
    print(f"{found}; {count}, its mean with a 95% interval:\n\n{found.means(count)}")
    return 0


def _parser(name: str, base: Any, parser_class: type[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = parser_class(prog=f"simlib sweep {name}", description=base.title, allow_abbrev=False)
    for k in knobs(type(base)):
        about = f"{k.label}: {k.help or k.range} ({'on or off' if k.kind is bool else k.range})".replace("%", "%%")
        parser.add_argument(f"--{k.flag}", dest=k.name, metavar="VALUES", help=about)
    parser.add_argument("--seeds", type=_seeds, default=SEEDS, help=f"how many runs of each setting (default: {SEEDS})")
    parser.add_argument("--count", help="the count to show (default: the last one)")
    parser.add_argument("--out", type=Path, metavar="runs.parquet", help="write one row a run as Parquet")
    parser.add_argument("--figure", type=Path, metavar="means.png", help="draw the means")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="keep the events of all runs as Parquet files")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _values(k: Knob, text: str) -> list[Any]:
    """The values of a knob, as the command line has them."""
    words = [word.strip() for word in text.split(",")]
    if k.kind is not bool:
        return [parse(k, word) for word in words]
    for word in words:
        if word not in _SWITCH:
            raise Refusal(f"--{k.flag} is {word!r}; it takes on or off, or both: on,off.")
    return [_SWITCH[word] for word in words]


def _seeds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= MOST_SEEDS):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seeds; it takes 1 to {MOST_SEEDS:,}")
    return int(text)
