"""Lesson 04's exercises: right answers pass, plausible wrong ones are told why."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

import simlib as sl
from simlib.course.check import check


def kept(purchase: str, memory: dict[str, str]) -> str:
    return memory.setdefault(purchase, str(uuid.uuid4()))


def test_a_key_for_a_purchase() -> None:
    assert check("04.1", kept).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda purchase, memory: str(uuid.uuid4()), "another key than its first try"),
        (lambda purchase, memory: "key", "would be swallowed"),
        (lambda purchase, memory: purchase, "nobody must be able to guess"),
        (lambda purchase, memory: None, "a key is text"),
    ],
)
def test_a_key_for_something_else(wrong: Any, says: str) -> None:
    assert says in check("04.1", wrong).says


def test_requests_that_are_the_same() -> None:
    assert check("04.2", lambda a, b: sl.fingerprint(*a) == sl.fingerprint(*b)).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda a, b: a == b, "blanks and order"),
        (lambda a, b: True, "another amount"),
        (lambda a, b: sl.fingerprint("", "", a[2]) == sl.fingerprint("", "", b[2]), "another path"),
    ],
)
def test_requests_that_are_not(wrong: Any, says: str) -> None:
    assert says in check("04.2", wrong).says


def test_answers_to_keep() -> None:
    assert check("04.3", lambda status: status in (201, 402)).passed


@pytest.mark.parametrize(
    ("wrong", "says"), [(lambda s: True, "400"), (lambda s: s == 201, "402: keep it"), (lambda s: s < 403, "400")]
)
def test_answers_not_to(wrong: Any, says: str) -> None:
    assert says in check("04.3", wrong).says
