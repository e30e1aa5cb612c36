"""`simlib demo`: the whole story in the terminal: two charges, one charge, and the same for real."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from simlib.cli.story import tell

CROWD = 5


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "demo", help="the whole story in ten seconds, here in the terminal", description=__doc__
    )
    parser.set_defaults(do=_demo)


def _demo(args: argparse.Namespace) -> int:
    began = time.perf_counter()
    from simlib.scenarios.double_tap import DoubleTap

    for number, (keys, title) in enumerate(((False, "Without a key"), (True, "With a key, same luck")), start=1):
        run = DoubleTap(keys=keys).run()
        print(f"{number}. {title}: you tap Pay, the answer is lost, the phone tries again.\n")
        print(f"{tell(run.trace)}\n\n   {run.text}\n", flush=True)
    _for_real()
    print(f"\n{time.perf_counter() - began:.1f} s. Turn the knobs yourself: simlib lab")
    return 0


def _for_real() -> None:
    """Eight requests on two keys against a real PostgreSQL."""
    from simlib import live

    with live.postgres() as server, server.connect() as conn:
        version = conn.execute("show server_version").fetchone()[0]
        print(f"3. For real: PostgreSQL {version}; one purchase sent three times, one {CROWD} times at once.\n")
        calls = (("pay 50.00 with key-1", 5000), ("the same once more", 5000), ("key-1, but 70.00", 7000))
        answers = []
        for words, cents in calls:
            answer = live.pay(conn, 1, "key-1", cents)
            answers.append(answer)
            print(f"   {words:<22} {answer.code} {'replayed' if answer.replayed else ''}".rstrip())
        crowd = _at_once(live, server)
        answers += crowd
        print(f"   {f'{CROWD} at once with key-2':<22} {' '.join(str(a.code) for a in crowd)}")
        charges = conn.execute("select count(*) from charges").fetchone()[0]
        same = len({bytes(a.body) for a in crowd}) == 1
    codes = ", ".join(f"{n} x {code}" for code, n in sorted(Counter(a.code for a in answers).items()))
    print(f"\n   {len(answers)} answers ({codes}), {charges} charges in the table;")
    print(f"   the {CROWD} answers to one key are {'the same byte for byte' if same else 'NOT the same'}.")


def _at_once(live: Any, server: Any) -> list[Any]:
    """The same purchase from several connections that start together."""
    start = Barrier(CROWD)

    def tap(_: int) -> Any:
        with server.connect() as conn:
            start.wait()
            return live.pay(conn, 1, "key-2", 2500)

    with ThreadPoolExecutor(CROWD) as pool:
        return list(pool.map(tap, range(CROWD)))
