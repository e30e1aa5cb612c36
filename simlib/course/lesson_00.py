"""The exercises of lesson 00."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simlib.course.check import NotYet
from simlib.scenarios.double_tap import DoubleTap

SEEDS = (11, 12, 13)


def exercise_1(answer: Any) -> str:
    """A setting without keys in which at least one purchase in five is charged twice."""
    story = _story(answer)
    if story.keys:
        raise NotYet("In your setting every purchase carries a key; the question is what happens without.")
    if story.purchases < 100:
        raise NotYet(f"With {story.purchases} purchases luck decides; try at least 100.")
    for seed in SEEDS:
        counts = story.run(seed).counts
        if counts["duplicates"] < 0.2 * counts["purchases"]:
            raise NotYet(
                f"With seed {seed}, {counts['purchases']:,} purchases gave {counts['duplicates']:,} duplicates: "
                f"{counts['duplicates'] / counts['purchases']:.0%}. Which message has to get lost more often?"
            )
    return "at least one purchase in five is paid twice, with luck you had not seen as well."


def exercise_2(answer: Any) -> str:
    """A setting without keys that loses at least a tenth of all messages and charges nobody twice."""
    story = _story(answer)
    if story.keys:
        raise NotYet("With a key it is easy. Find one without.")
    for seed in SEEDS:
        counts = replace(story, purchases=max(500, story.purchases)).run(seed).counts
        if counts["lost"] < 0.1 * counts["attempts"]:
            raise NotYet(f"With seed {seed} only {counts['lost']:,} messages of {counts['attempts']:,} tries got lost.")
        if counts["duplicates"]:
            raise NotYet(
                f"With seed {seed}, {counts['duplicates']:,} purchases were charged again. "
                "Think of where a message can get lost before anything has been charged."
            )
    return "a lost request charges nobody: only a lost *reply* leaves a charge behind that the phone does not know of."


def exercise_3(answer: Any) -> str:
    """A function that pays, and pays again, on a real database without charging twice."""
    from simlib.live.one_transaction import pay
    from simlib.live.pg.server import postgres

    if not callable(answer):
        raise NotYet(f"Your answer is {answer!r}; write a function that takes a connection and a way to pay.")
    with postgres() as db, db.connect() as conn:
        for account in (1, 2):
            answer(conn, pay, account)
            answer(conn, pay, account)
            charged = conn.execute("select count(*) from charges where account_id = %s", [account]).fetchone()
            if charged is None or charged[0] == 0:
                raise NotYet(f"Account {account} bought twice and was never charged.")
            if charged[0] == 4:
                raise NotYet(f"Account {account} bought twice, each with one retry, and was charged 4 times.")
            if charged[0] != 2:
                raise NotYet(
                    f"Account {account} bought twice and was charged {charged[0]} time(s). A new purchase needs a key "
                    "of its own, and a retry needs the old one."
                )
    return "two purchases with a retry each gave two charges: one key for each intent, the same for all its tries."


def _story(answer: Any) -> DoubleTap:
    scenario = getattr(getattr(answer, "run", None), "scenario", answer)
    if not isinstance(scenario, DoubleTap):
        raise NotYet(f"Your answer is {type(answer).__name__}; give a setting such as sl.DoubleTap(purchases=1000).")
    return scenario
