"""Who waits for whom is seen while they wait, told the same each time, and drawn."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from simlib import live
from simlib.live import crowd, queue_picture, watch
from simlib.live.watch import Session, table
from simlib.views.scene import Line

QUEUE = (
    Session(40, (99,), "Lock: relation", "insert into charges"),
    Session(10, (40,), "Lock: transactionid", "insert into idempotency_keys"),
    Session(20, (40, 10), "Lock: transactionid", "x" * 99),
)


def pay(conn: Any) -> live.Response:
    return live.pay(conn, 1, "k", 500)


def test_a_chain_of_waiters_is_seen_with_its_blockers(db: Any) -> None:
    """Three statements in a row: each waits for a row lock that the one before it waits for or holds."""
    with db.connect() as holder, db.connect() as look, ThreadPoolExecutor(2) as pool:
        holder.execute("insert into wallets values (1)")
        with holder.transaction():
            holder.execute("update wallets set balance_cents = 1")
            update = "update wallets set balance_cents = balance_cents + 1"
            waiters = [pool.submit(run, db, update) for _ in range(2)]
            while sum(s.waits for s in live.sessions(look)) < 2:
                assert threading.main_thread().is_alive()
            first, *others = live.sessions(look)
            assert first.pid == holder.info.backend_pid
            assert first.statement.startswith("update wallets")
            assert {first.pid} <= {blocker for s in others for blocker in s.blockers}
            assert live.waiting(look).column("waits for")[:2] == ["", "1"]
        assert [w.result() for w in waiters] == ["UPDATE 1"] * 2
        assert live.sessions(look) == ()


def run(db: Any, statement: str) -> str | None:
    with db.connect() as conn:
        return conn.execute(statement).statusmessage


def test_other_notebooks_are_not_seen(server: Any, db: Any) -> None:
    with server.connect() as other, other.transaction(), db.connect() as look:
        other.execute("select 1")
        assert live.sessions(look) == ()
        assert [s.pid for s in live.sessions(look, [other.info.backend_pid])] == [other.info.backend_pid]


def test_each_stands_after_those_it_waits_for_and_a_circle_comes_last() -> None:
    def one(pid: int, *blockers: int) -> Session:
        return Session(pid, blockers, "", "")

    assert [s.pid for s in watch.queue([one(3, 2), one(2, 1), one(1)])] == [1, 2, 3]
    assert [s.pid for s in watch.queue([one(1, 2), one(2, 1), one(3)])] == [3, 1, 2]


def test_rows_hold_no_process_numbers_and_long_statements_are_cut() -> None:
    assert table(QUEUE).rows == (
        (1, "", "", "insert into charges"),
        (2, "1", "Lock: transactionid", "insert into idempotency_keys"),
        (3, "1, 2", "Lock: transactionid", "x" * 59 + "…"),
    )


def test_the_picture_says_who_waits_for_whom() -> None:
    scene = queue_picture.scene(QUEUE)
    assert scene.alt == "3 sessions; session 2 waits for session 1; session 3 waits for sessions 1 and 2."
    assert [w for w in scene.words if w.startswith("session")] == ["session 1", "session 2", "session 3"]
    assert sum(isinstance(i, Line) for i in scene.flat()) == 3


@pytest.mark.parametrize(
    ("seen", "alt"),
    [((), "No session is at work."), (QUEUE[:1], "1 session; nobody waits for another.")],
    ids=["nobody", "one"],
)
def test_the_picture_of_no_queue_says_so(seen: tuple[Session, ...], alt: str) -> None:
    assert queue_picture.scene(seen).alt == alt


def test_a_crowd_reads_the_same_each_time(db: Any) -> None:
    """Its text goes into saved notebooks, so who came first must not show."""
    texts = {repr(live.at_once(db, lambda conn, n=n: live.pay(conn, 1, f"k{n}", 500))) for n in range(3)}
    assert texts == {"5 sessions; sessions 2, 3, 4 and 5 wait for session 1."}


def test_a_crowd_shows_itself_and_draws_on_paper(db: Any) -> None:
    seen = live.at_once(db, pay, sessions=2)
    assert "session 2 waits for session 1" in seen._repr_html_()
    assert seen.figure().get_size_inches()[0] > 1
    assert seen.diagram().get_size_inches()[0] > 1


def test_the_trace_of_a_crowd_is_the_simulators_story(db: Any) -> None:
    """One claim, the others wait before it is done, one effect, the rest replayed: in that order."""
    trace = live.at_once(db, pay).trace
    events = [e for (e,) in trace.sql("select event from events where actor = 'database' order by time")]
    assert events == ["claim", *["wait"] * 4, "effect", "save", *["replay"] * 4]
    assert trace.sql("select count(distinct attempt), sum(value) from events").rows == ((5, 500.0),)
    assert trace.count("send") == trace.count("arrive") == trace.count("reply") == trace.count("receive") == 5
    assert trace.holds("at most one charge per intent")


def test_the_trace_of_a_crash_keeps_no_effect_of_the_dead(db: Any) -> None:
    trace = live.at_once(db, pay, sessions=3, kill_first=True).trace
    events = [e for (e,) in trace.sql("select event from events where actor = 'database' order by time")]
    assert events == ["claim", "wait", "wait", "crash", "claim", "effect", "save", "replay"]
    assert trace.count("receive") == 2


def test_the_trace_of_check_then_insert_breaks_the_invariant(db: Any) -> None:
    """The check can fail: this is what it is for."""

    def naive(conn: Any) -> live.Response:
        with conn.transaction():
            if not conn.execute("select 1 from charges where key = 'k'").fetchone():
                conn.execute(
                    "insert into charges (account_id, key, amount_cents) values (1, 'k', %(amount_cents)s)",
                    {"amount_cents": 500},
                )
        return live.Response(201, b"")

    trace = live.at_once(db, naive).trace
    assert trace.count("effect") == 5
    assert not trace.holds("at most one charge per intent")


def test_a_refusal_and_an_error_are_told(db: Any) -> None:
    with db.connect() as conn:
        pay(conn)
    refused = live.at_once(db, lambda conn: live.pay(conn, 1, "k", 900), sessions=1).trace
    assert refused.count("refuse", status="422") == 1
    broken = live.at_once(db, lambda conn: conn.execute("select 1/0"), sessions=1)
    assert broken.trace.count("crash", status="22012") == 1
    assert broken.answers[0].sqlstate == "22012"


def test_a_session_that_neither_ends_nor_waits_is_told(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "PATIENCE_SECONDS", 0.2)
    free = threading.Event()
    threading.Timer(1.0, free.set).start()
    with pytest.raises(TimeoutError, match="neither ended nor waited"):
        live.at_once(db, lambda conn: free.wait(10), sessions=1)
