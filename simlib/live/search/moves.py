"""The moves of a schedule, and its short code: `A3BA2` is three steps of session A, one of B, two of A."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

STEP, CRASH, LOSE, UNHEARD, LATE, DELIVER = "step", "crash", "lose", "unheard", "late", "deliver"
MARKS = {CRASH: "x", LOSE: "~", UNHEARD: "?"}
NOBODY = -1


class Move(NamedTuple):
    """What happens next, and to which session (from 0).

    `step`: it goes on to its next point; `crash`: it dies where it stands; `lose`: the caller does not hear its answer;
    `unheard`: it calls a part and does not hear the answer; `late`: leases run out (to nobody in particular);
    `deliver`: its answer reaches the caller, which needs no mark in the code.
    """

    kind: str
    session: int


def letter(session: int) -> str:
    """The name of a session in stories and codes."""
    return chr(ord("A") + session)


def encode(moves: Iterable[Move]) -> str:
    """The short code of a schedule: `Ax` a crash, `A~` a lost answer, `A?` a part not heard, `t` leases run out."""
    words = []
    for (kind, session), run in groupby(m for m in moves if m.kind != DELIVER):
        count = len(list(run))
        if kind == STEP:
            words.append(letter(session) + (str(count) if count > 1 else ""))
        else:
            words.append(("t" if kind == LATE else letter(session) + MARKS[kind]) * count)
    return "".join(words)


def decode(code: str) -> tuple[Move, ...]:
    """The moves of a code; ValueError if it is none."""
    if not re.fullmatch(r"(?:[A-Z](?:\d+|[x~?])?|t)*", code):
        raise ValueError(
            f"{code!r} is no schedule; a code is made of steps (A, A3), crashes (Ax), lost answers (A~), "
            "parts not heard (A?) and leases that run out (t), such as 'A3BA2'."
        )
    kinds = {mark: kind for kind, mark in MARKS.items()}
    moves: list[Move] = []
    for who, more in re.findall(r"([A-Zt])(\d+|[x~?])?", code):
        if who == "t":
            moves.append(Move(LATE, NOBODY))
        elif more in kinds:
            moves.append(Move(kinds[more], ord(who) - ord("A")))
        else:
            moves += [Move(STEP, ord(who) - ord("A"))] * int(more or 1)
    return tuple(moves)
