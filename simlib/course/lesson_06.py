"""The exercises of lesson 06."""

from __future__ import annotations

from typing import Any

import psycopg

from simlib import knobs
from simlib.course.check import NotYet, a_function
from simlib.live.pg.server import postgres
from simlib.scenarios.recovery_points import RecoveryPoints

ROWS = (
    (("h", "started", None), 0.0, "h", "work", "nobody holds it: go on"),
    (("h", "started", 30.0), 10.0, "h", "running", "somebody works on it"),
    (("h", "charged", 30.0), 40.0, "h", "work", "the lease has run out: take over"),
    (("h", "done", None), 0.0, "h", "replay", "it is finished"),
    (("h", "done", 30.0), 10.0, "h", "replay", "it is finished, so nobody's lease matters"),
    (("h", "started", 30.0), 10.0, "other", "mismatch", "another request under the same key, whatever its state"),
    (("h", "started", None), 0.0, "other", "mismatch", "another request must not even take the lease"),
    (("h", "done", None), 0.0, "other", "mismatch", "a replay would answer another question"),
    (None, 0.0, "h", "work", "the key is new"),
)
START = """insert into payment_keys (account_id, key, request_hash, recovery_point, lease_id, locked_until)
values (%s, %s, 'h', 'charged', %s, clock_timestamp() + interval '30 seconds')"""
LOOK = "select recovery_point, response_code, lease_id from payment_keys where account_id = %s and key = %s"


def exercise_1(answer: Any) -> str:
    """A story with two charges, one measure left out."""
    if not isinstance(answer, RecoveryPoints):
        raise NotYet(f"Your answer is {answer!r}; give a story, such as sl.RecoveryPoints(fenced=False).")
    left_out = [name for name in ("fenced", "ends", "downstream") if not getattr(answer, name)]
    if len(left_out) > 1:
        raise NotYet(f"You left out {' and '.join(left_out)}; one of them is enough, and shows what that one is for.")
    run = answer.run()
    if run.counts["charges"] != 2:
        raise NotYet(f"{run.text.partition(': ')[2]}. Who could charge a second time, and what keeps them from it?")
    mended = knobs.replace(answer, fenced=True, ends=True, downstream=True).run()
    return f"left out: {left_out[0]}. With it, {mended.text.partition(': ')[2]}."


def exercise_2(answer: Any) -> str:
    """What to do with a request, from the row of its key."""
    fn = a_function(answer)
    for row, now, fingerprint, right, why in ROWS:
        said = fn(row, now, fingerprint)
        if said != right:
            raise NotYet(f"The row is {row}, it is {now:g} s, and the request's hash is {fingerprint!r}: {why}.")
    return f"{len(ROWS)} rows, and in each the right thing: the request first, then whether it is done, then the lease."


def exercise_3(answer: Any) -> str:
    """A last write that only the holder of the lease can make."""
    fn = a_function(answer)
    with postgres() as db, db.connect() as conn:
        for account, key in ((1, "k"), (1, "other"), (2, "k")):
            conn.execute(START, [account, key, "mine"])
        if fn(conn, 1, "k", "another's") is not False or _row(conn, 1, "k") != ("charged", None, "mine"):
            raise NotYet(
                "Its lease had run out and another worker held one of its own. It must write nothing and return False; "
                f"the row is {_row(conn, 1, 'k')} now."
            )
        if fn(conn, 1, "k", "mine") is not True:
            raise NotYet("The holder of the lease wrote, and was not told True.")
        if _row(conn, 1, "k")[:2] != ("done", 201):
            raise NotYet(f"After the holder's write the row is {_row(conn, 1, 'k')}; it should be done, with a 201.")
        for account, key in ((1, "other"), (2, "k")):
            if _row(conn, account, key) != ("charged", None, "mine"):
                raise NotYet(f"It wrote to the row of account {account} and key {key!r} too.")
        if fn(conn, 1, "k", "mine") is not False:
            raise NotYet("When it is done the lease is over: the same write once more must find nothing to do.")
    return "the holder writes, once; the late one changes nothing, and knows it."


def _row(conn: psycopg.Connection[Any], account: int, key: str) -> tuple[Any, ...]:
    row = conn.execute(LOOK, [account, key]).fetchone()
    return row if row is not None else ("gone",)
