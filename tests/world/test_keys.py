"""The rows of a key table: whose they are, what they are compared with, how long they and their leases last."""

from __future__ import annotations

import pytest

from simlib.policy.verdict import Verdict
from simlib.world.keys import Keys


def test_a_key_is_new_then_running_then_replayed() -> None:
    keys = Keys()
    verdict, row = keys.claim(0.0, 1, "k", "f")
    assert verdict is Verdict.NEW
    assert keys.claim(1.0, 1, "k", "f") == (Verdict.RUNNING, row)
    token = keys.lease(1.0, row, 30.0)
    assert token is not None
    assert keys.finish(row, token, 201)
    assert keys.claim(2.0, 1, "k", "f") == (Verdict.REPLAY, row)
    assert keys.claim(2.0, 1, "k", "g")[0] is Verdict.MISMATCH


@pytest.mark.parametrize(("scoped", "verdict"), [(True, Verdict.NEW), (False, Verdict.RUNNING)])
def test_a_key_belongs_to_its_account(scoped: bool, verdict: Verdict) -> None:
    keys = Keys(scoped=scoped)
    keys.claim(0.0, 1, "k", "f")
    assert keys.claim(0.0, 2, "k", "f")[0] is verdict


def test_a_claim_that_was_rolled_back_was_never_made() -> None:
    keys = Keys()
    keys.roll_back(keys.claim(0.0, 1, "k", "f")[1])
    assert keys.claim(0.0, 1, "k", "g")[0] is Verdict.NEW


def test_a_finished_key_is_kept_for_so_long_and_an_unfinished_one_for_ever() -> None:
    keys = Keys(keep=10.0)
    _, row = keys.claim(0.0, 1, "k", "f")
    assert keys.claim(11.0, 1, "k", "f")[0] is Verdict.RUNNING
    row.answer = 201
    assert keys.find(10.0, 1, "k") is row
    assert keys.find(10.1, 1, "k") is None
    assert keys.claim(10.1, 1, "k", "f")[0] is Verdict.NEW


@pytest.mark.parametrize("fenced", [True, False])
def test_whose_lease_ran_out_writes_nothing_if_it_is_fenced(fenced: bool) -> None:
    keys = Keys(fenced=fenced)
    _, row = keys.claim(0.0, 1, "k", "f")
    late = keys.lease(0.0, row, 30.0)
    assert late is not None
    assert keys.lease(29.0, row, 30.0) is None
    other = keys.lease(31.0, row, 30.0)
    assert other not in (None, late)
    assert keys.write(row, late, "charged") is not fenced
    assert (row.point == "started") is fenced


def test_a_lease_that_does_not_end_is_held_for_ever() -> None:
    keys = Keys(ends=False)
    _, row = keys.claim(0.0, 1, "k", "f")
    keys.lease(0.0, row, 30.0)
    assert keys.lease(1e9, row, 30.0) is None
