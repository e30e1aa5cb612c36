"""The double tap: what the lesson says about it, and what no knob may break."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib.knobs import KnobError
from simlib.scenarios.double_tap import DoubleTap
from simlib.trace import Trace

LOSS = st.one_of(st.none(), st.floats(0, 1))
ANY = st.builds(
    DoubleTap,
    keys=st.booleans(),
    reply_loss=LOSS,
    request_loss=LOSS,
    purchases=st.integers(1, 40),
    attempts=st.integers(1, 6),
)
SEED = st.integers(0, 2**32)


def digest(trace: Trace) -> str:
    """The whole trace in one number."""
    table = trace.to_arrow()
    return hashlib.sha256(repr([table.column(name).to_pylist() for name in table.column_names]).encode()).hexdigest()


@pytest.mark.parametrize(
    ("keys", "text", "headline", "good"),
    [
        (False, "DoubleTap(keys=False, seed=7): 1 purchase, 2 charges, 1 duplicate", "2 charges", False),
        (True, "DoubleTap(keys=True, seed=7): 1 purchase, 1 charge, 0 duplicates", "1 charge", True),
    ],
    ids=["without", "with"],
)
def test_the_story(keys: bool, text: str, headline: str, good: bool) -> None:
    """One purchase, its first reply is lost, one retry: two charges without a key, one with it."""
    run = DoubleTap(keys=keys).run(seed=7)
    assert run.text == text
    assert (run.counts["attempts"], run.counts["lost"]) == (2, 1)
    shown = run.scenario.headline(run.counts)
    assert (shown.text, shown.good) == (headline, good)


def test_the_story_row_by_row() -> None:
    """The retry carries the same key, and the answer it gets is the saved one."""
    trace = DoubleTap(keys=True).run().trace
    told = trace.sql("select actor, event, attempt, status from events where event not in ('claim', 'save')").rows
    assert [tuple(row) for row in told] == [
        ("phone", "send", 1, None),
        ("server", "arrive", 1, None),
        ("database", "effect", 1, None),
        ("server", "reply", 1, "201"),
        ("network", "lose", 1, "reply"),
        ("phone", "timeout", 1, None),
        ("phone", "backoff", 1, None),
        ("phone", "send", 2, None),
        ("server", "arrive", 2, None),
        ("database", "replay", 2, "201"),
        ("server", "reply", 2, "201"),
        ("phone", "receive", 2, "201"),
    ]
    assert trace.sql("select count(distinct key) from events where key is not null").scalar() == 1


@given(ANY, SEED)
def test_messages_are_conserved_and_time_only_goes_on(scenario: DoubleTap, seed: int) -> None:
    """At the end nothing is under way: what was sent has arrived or was lost, each way."""
    trace = scenario.run(seed).trace
    assert trace.count("send") == trace.count("arrive") + trace.count("lose", status="request")
    assert trace.count("reply") == trace.count("receive") + trace.count("lose", status="reply")
    assert trace.count("arrive") == trace.count("reply")
    assert trace.count("timeout") == trace.count("backoff") + trace.count("give_up")
    assert (np.diff(trace.column("time")) >= 0).all()


@given(ANY, SEED)
def test_a_run_is_a_pure_function_of_its_knobs_and_its_seed(scenario: DoubleTap, seed: int) -> None:
    """Twice the same run, event for event."""
    assert digest(scenario.run(seed).trace) == digest(scenario.run(seed).trace)


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_another_process_with_another_hash_seed_runs_the_same(hash_seed: str) -> None:
    """Nothing hangs on the order of sets or on Python's hash."""
    program = (
        "from simlib.scenarios.double_tap import DoubleTap\n"
        "from tests.scenarios.test_double_tap import digest\n"
        "print(digest(DoubleTap(True, 0.3, 0.2, 50).run(11).trace))"
    )
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    told = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout
    assert told.strip() == digest(DoubleTap(True, 0.3, 0.2, 50).run(11).trace)


@given(st.floats(0, 1), st.floats(0, 1), SEED)
def test_the_same_messages_are_lost_with_keys_and_without(reply_loss: float, request_loss: float, seed: int) -> None:
    """Only the key differs: everything the phone and the network do is the same, at the same times."""
    without, with_key = (DoubleTap(keys, reply_loss, request_loss, 30).run(seed).trace for keys in (False, True))
    query = "select time, actor, event, request, attempt, status from events where actor in ('phone', 'network')"
    assert without.sql(query).rows == with_key.sql(query).rows


@given(ANY, SEED)
def test_with_a_key_there_is_at_most_one_charge_per_purchase(scenario: DoubleTap, seed: int) -> None:
    """Whatever is lost. Without the key the same promise is broken, below."""
    run = DoubleTap(True, scenario.reply_loss, scenario.request_loss, scenario.purchases, scenario.attempts).run(seed)
    assert run.counts["duplicates"] == 0
    assert run.counts["charges"] <= run.counts["purchases"]


@settings(max_examples=20)
@given(SEED)
def test_without_a_key_every_try_that_arrives_charges(seed: int) -> None:
    """The claim above fails as soon as the key is dropped."""
    run = DoubleTap(False, reply_loss=0.5, request_loss=0.2, purchases=100).run(seed)
    assert run.counts["charges"] == run.trace.count("arrive")
    assert run.counts["duplicates"] > 0
    assert not run.trace.holds("at most one charge per intent")
    assert (
        DoubleTap(True, reply_loss=0.5, request_loss=0.2, purchases=100)
        .run(seed)
        .trace.holds("at most one charge per intent")
    )


@given(ANY, SEED)
def test_counts_are_what_sql_over_the_trace_says(scenario: DoubleTap, seed: int) -> None:
    """Counted by numpy for speed, and by DuckDB here."""
    run = scenario.run(seed)
    (row,) = run.trace.sql(
        "select count(*) filter (event = 'effect'), count(*) filter (event = 'send'), count(*) filter (event = 'lose'),"
        " (select coalesce(sum(n - 1), 0) from (select count(*) as n from charges group by intent)) from events"
    ).rows
    assert [run.counts[name] for name in ("charges", "attempts", "lost", "duplicates")] == [int(n) for n in row]


@pytest.mark.parametrize(("name", "value"), [("reply_loss", 1.5), ("request_loss", -0.1), ("purchases", 0)])
def test_a_knob_beyond_its_range_names_itself(name: str, value: float) -> None:
    """Before anything runs."""
    with pytest.raises(KnobError, match=name):
        DoubleTap(**{name: value})


def test_few_purchases_are_drawn_as_a_story_and_many_as_numbers() -> None:
    """Both say the charges in words."""
    (story,) = DoubleTap().pictures([DoubleTap().run()])
    assert "charge 2" in story.words
    many = DoubleTap(reply_loss=0.3, request_loss=0.1, purchases=500)
    run = many.run()
    (bars,) = many.pictures([run])
    assert f"{run.counts['duplicates']:,}" in bars.words
