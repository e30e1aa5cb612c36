"""`simlib run`: run one story from the command line; its flags are made from its knobs."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlib.cli.refusal import Refusal
from simlib.cli.story import SHORT, tell
from simlib.knobs import Knob, knobs, parse, replace, values

if TYPE_CHECKING:
    from simlib.scenarios.run import Run

SEED = 7
_BOTH_LOSSES = ("reply_loss", "request_loss")


def register(commands: Any) -> None:
    text = (
        "Run one story. `simlib run` lists them all, `simlib run double-tap --help` explains one; a TOML file will do."
    )
    parser = commands.add_parser("run", help="run a story and show what happened", description=text)
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="SCENARIO|FILE.toml [--knob value ...]")
    parser.set_defaults(do=lambda args: _run(args.words, type(parser)))


def _run(words: list[str], parser_class: type[argparse.ArgumentParser]) -> int:
    from simlib.scenarios import SCENARIOS  # every story's parts are loaded by it; other commands need none

    if not words:
        print(_catalogue(SCENARIOS))
        return 0
    named, *flags = words
    name, base = meant(named)
    args = _parser(name, SCENARIOS[name], parser_class).parse_args(flags)
    scenario = replace(base, **_turned(SCENARIOS[name], args))
    run = scenario.run(seed=args.seed)
    if args.out:
        written(args.out, run.trace.write)
    print(_shown(run, name, args))
    return 0


def meant(word: str) -> tuple[str, Any]:
    """The scenario that a name or a TOML file means, with its name; `Refusal` names the nearest."""
    from simlib.scenarios import SCENARIOS
    from simlib.scenarios.saved import load_scenario, name_of

    if word.endswith(".toml"):
        base = load_scenario(word)
        return name_of(base), base
    if word in SCENARIOS:
        return word, SCENARIOS[word]()
    near = difflib.get_close_matches(word, SCENARIOS, 1)
    hint = f"did you mean {near[0]}" if near else f"the scenarios are {', '.join(SCENARIOS)}"
    raise Refusal(f"there is no scenario {word!r}; {hint}.")


def _parser(name: str, scenario: Any, parser_class: type[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = parser_class(prog=f"simlib run {name}", description=scenario.title, allow_abbrev=False)
    for k in knobs(scenario):
        about = f"{k.label}: {k.help or k.range} ({k.range}; {_default(k)} if not given)".replace("%", "%%")
        if k.kind is bool:
            parser.add_argument(f"--{k.flag}", action=argparse.BooleanOptionalAction, dest=k.name, help=about)
        else:
            parser.add_argument(f"--{k.flag}", dest=k.name, metavar="VALUE", help=about)
    if _loss_knob(scenario):
        parser.add_argument("--loss", metavar="VALUE", help="sets the loss of requests and of replies")
    parser.add_argument("--seed", type=_seed, default=SEED, help=f"the luck of this run (default: {SEED})")
    parser.add_argument("--out", type=Path, metavar="run.parquet", help="write the trace as Parquet")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--counts", action="store_true", help="print the counts only, one a line")
    shape.add_argument("--json", action="store_true", help="print knobs, seed and counts as JSON")
    return parser


def _turned(scenario: Any, args: argparse.Namespace) -> dict[str, Any]:
    """The knobs that were given, as values."""
    given = vars(args)
    turned: dict[str, Any] = {}
    if given.get("loss") is not None and (both := _loss_knob(scenario)):
        turned.update(dict.fromkeys(_BOTH_LOSSES, parse(both, given["loss"])))
    for k in knobs(scenario):
        value = given[k.name]
        if value is not None:
            turned[k.name] = value if isinstance(value, bool) else parse(k, value)
    return turned


def _loss_knob(scenario: Any) -> Knob | None:
    """The knob that `--loss` is, where a scenario loses both requests and replies."""
    found = {k.name: k for k in knobs(scenario)}
    if not all(name in found for name in _BOTH_LOSSES):
        return None
    return dataclasses.replace(found["reply_loss"], name="loss", label="loss of requests and of replies")


def _default(k: Knob) -> str:
    if k.default is None:
        return k.none
    return ("on" if k.default else "off") if k.kind is bool else str(k.default)


def _shown(run: Run, name: str, args: argparse.Namespace) -> str:
    if args.json:
        told = {"scenario": name, "knobs": values(run.scenario), "seed": run.seed, "counts": dict(run.counts)}
        return json.dumps(told, indent=1, default=str)
    if args.counts:
        wide = max(map(len, run.counts))
        return "\n".join(f"{k:<{wide}}  {v:g}" for k, v in run.counts.items())
    return f"{tell(run.trace)}\n\n{run.text}" if len(run.trace) <= SHORT else run.text


def _catalogue(scenarios: dict[str, Any]) -> str:
    out: list[str] = []
    for name, scenario in scenarios.items():
        out.append(f"{name}: {scenario.title}")
        out += [f"    {_flag(k):<24} {k.label}: {k.range}" for k in knobs(scenario)]
    return "\n".join(out)


def _flag(k: Knob) -> str:
    return f"--{k.flag}/--no-{k.flag}" if k.kind is bool else f"--{k.flag} VALUE"


def written(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all; `Refusal` says why it cannot be."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.touch()  # the system's own words for what is wrong with the place
        write(unfinished)
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        reason = (error.strerror or str(error)).lower()
        raise Refusal(f"cannot write {path}: {reason}; choose another place.") from error


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; it takes a whole number from 0")
    return int(text)
