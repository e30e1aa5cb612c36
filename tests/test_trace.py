"""The trace: what is recorded comes back as columns, SQL and Parquet, whichever world wrote it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.trace import EVENTS, INVARIANTS, WIDTH, Recorder, Trace

ROW = st.fixed_dictionaries(
    {
        "time": st.floats(0, 1e6),
        "actor": st.sampled_from(["phone", "server", "database", "naïve ✓"]),
        "event": st.sampled_from(list(EVENTS)),
    },
    optional={
        "request": st.integers(0, 2**40),
        "key": st.text(max_size=9) | st.none(),
        "attempt": st.integers(0, 9),
        "peer": st.sampled_from(["", "server"]),
        "status": st.sampled_from(["", "201"]),
        "value": st.floats(-1e9, 1e9),
    },
)


def recorded(rows: list[dict[str, object]]) -> Trace:
    log = Recorder()
    for row in rows:
        log.add(**row)  # type: ignore[arg-type]
    return log.freeze()


def charged(*keys: str | None) -> Trace:
    """A trace with one effect for each key; every one belongs to purchase 0."""
    log = Recorder()
    for at, key in enumerate(keys):
        log.add(float(at), "database", "effect", request=0, key=key, attempt=at + 1, value=5000)
    return log.freeze()


@given(st.lists(ROW, max_size=30))
def test_what_is_recorded_is_read_back_in_order_of_time(rows: list[dict[str, object]]) -> None:
    read = recorded(rows).to_arrow().to_pylist()
    expected = sorted(rows, key=lambda r: r["time"])  # type: ignore[arg-type,return-value]
    assert [r["event"] for r in read] == [r["event"] for r in expected]
    assert [r["request"] for r in read] == [r.get("request") for r in expected]
    assert [r["key"] for r in read] == [r.get("key") for r in expected]
    assert [r["value"] for r in read] == [r.get("value") for r in expected]


@given(st.lists(ROW, max_size=20))
def test_a_trace_survives_parquet(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]) -> None:
    path = tmp_path_factory.mktemp("trace") / "run.parquet"
    trace = recorded(rows)
    trace.write(path)
    assert Trace.read(path).to_arrow().to_pylist() == trace.to_arrow().to_pylist()


@pytest.mark.parametrize(
    ("trace", "per_key", "per_intent"),
    [
        (charged(), True, True),
        (charged("a"), True, True),
        (charged("a", "b"), True, False),
        (charged("a", "a"), False, False),
        (charged(None, None), True, False),
    ],
    ids=["nothing", "once", "a key per attempt", "one key twice", "no key twice"],
)
def test_an_invariant_is_true_exactly_where_its_promise_holds(trace: Trace, per_key: bool, per_intent: bool) -> None:
    assert trace.holds("at most one charge per key") is per_key
    assert trace.holds("at most one charge per intent") is per_intent


def test_every_invariant_runs_on_an_empty_trace() -> None:
    assert all(Recorder().freeze().holds(name) for name in INVARIANTS)


def test_queries_on_two_traces_do_not_mix() -> None:
    one, two = charged("a"), charged("a", "b")
    assert [t.sql("select count(*) from charges").scalar() for t in (one, two, one)] == [1, 2, 1]


def test_where_and_count_agree_with_sql() -> None:
    trace = charged("a", "b", "c")
    assert trace.count("effect") == trace.sql("select count(*) from events where event = 'effect'").scalar()
    assert trace.count("effect", actor="phone") == 0


def test_an_event_outside_the_grammar_is_refused() -> None:
    with pytest.raises(ValueError, match="'efect' is not an event"):
        Recorder().add(0.0, "server", "efect")


def test_a_million_rows_stay_under_a_hundred_bytes_each() -> None:
    log = Recorder(key_name=lambda code: f"k{code}")
    kind = log.kind("phone", "send", "server")
    for request in range(20_000):
        log.rows.extend((request * 0.1, kind, request, 1, request, np.nan))
    assert len(log.rows) == 20_000 * WIDTH
    assert log.freeze().to_arrow().nbytes / 20_000 < 100
