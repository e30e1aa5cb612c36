"""What holds for every scenario, whatever its knobs: no message is invented or forgotten, time does not go back, and a
run is a pure function of knobs and seed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib import knobs
from simlib.knobs import Knob
from simlib.scenarios import SCENARIOS
from simlib.scenarios.run import Run
from simlib.trace import Trace

SMALL = 30  # people, messages, clients: enough for trouble, few enough for many examples
SLOW = {"seconds": 20, "trials": 2}


def values(k: Knob) -> st.SearchStrategy[Any]:
    """Any value a knob takes, kept small where it is a number of things."""
    if k.kind is bool:
        found: st.SearchStrategy[Any] = st.booleans()
    elif k.choices:
        found = st.sampled_from(k.choices)
    else:
        assert k.low is not None
        assert k.high is not None
        high = max(k.low, min(k.high, SLOW.get(k.name, SMALL)))
        found = st.integers(int(k.low), int(high)) if k.kind is int else st.floats(k.low, high)
    return found | st.none() if k.optional else found


def scenarios(name: str) -> st.SearchStrategy[Any]:
    cls = SCENARIOS[name]
    return st.fixed_dictionaries({k.name: values(k) for k in knobs.knobs(cls)}).map(lambda chosen: cls(**chosen))


def digest(run: Run) -> str:
    """A run as one number: its trace, row by row, and its counts."""
    columns = [
        np.ascontiguousarray(run.trace.column(name)).tobytes() for name in ("time", "kind", "request", "attempt")
    ]
    return hashlib.sha256(b"".join(columns) + repr((run.trace.kinds, dict(run.counts))).encode()).hexdigest()


def messages(trace: Trace) -> Counter[tuple[str, str]]:
    """Messages that left, arrived and were lost, for every pair that talks: `sent` and `got` by (from, to)."""
    seen: Counter[tuple[str, str]] = Counter()
    for kind in trace.column("kind").tolist():
        actor, event, peer, _ = trace.kinds[kind]
        if event in ("send", "reply", "deliver", "redeliver", "copy"):
            seen["left", peer] += 1
        elif event in ("arrive", "receive"):
            seen["got", actor] += 1
        elif event == "lose":
            seen["lost", peer] += 1
    return seen


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=25)
@given(data=st.data())
def test_every_run_keeps_the_laws(name: str, data: st.DataObject) -> None:
    scenario, seed = data.draw(scenarios(name)), data.draw(st.integers(0, 2**32))
    run = scenario.run(seed)
    assert digest(run) == digest(scenario.run(seed)), "the same knobs and seed give the same run"
    assert np.all(np.diff(run.trace.column("time")) >= 0), "time does not go back"
    seen = messages(run.trace)
    for place in {to for _, to in seen}:
        arrived, lost = seen["got", place], seen["lost", place]
        assert arrived + lost <= seen["left", place], f"{place}: no message is invented"
        if name in ("double-tap", "delivery", "redelivery", "jitter", "outage", "two-generals") and arrived:
            assert arrived + lost == seen["left", place], f"{place}: and none is forgotten"
    assert run.text.startswith(type(scenario).__name__)


CHILD = """
import sys
from tests.scenarios.test_laws import digest
from simlib.scenarios import SCENARIOS
print(*(digest(SCENARIOS[name]().run(5)) for name in sys.argv[1:]))
"""


def test_another_process_with_other_hashes_gives_the_same_runs() -> None:
    names = list(SCENARIOS)
    here = [digest(SCENARIOS[name]().run(5)) for name in names]
    for hashes in ("1", "2"):
        child = subprocess.run(
            [sys.executable, "-c", CHILD, *names],
            env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": os.getcwd()},
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout.split() == here


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["double-tap", "delivery"])
def test_the_same_messages_get_lost_whichever_switch_is_off(name: str, seed: int) -> None:
    """A first try's fate does not depend on keys: the same requests and replies are lost on both sides."""
    sides = {
        "double-tap": [
            {"keys": keys, "reply_loss": 0.3, "request_loss": 0.2, "purchases": 200} for keys in (False, True)
        ],
        "delivery": [{"promise": promise} for promise in ("at least once", "effectively once")],
    }[name]
    lost = [
        SCENARIOS[name](**side).run(seed).trace.sql(
            "select request, attempt, status from events where event = 'lose' order by all"
        ).rows
        for side in sides
    ]  # fmt: skip
    assert lost[0] == lost[1]
