"""What travels between parts: plain tuples, made once a try and handed on unchanged.

Every message begins with its request (the intent, counted from 0) and its attempt (from 1), so a link or a queue
needs to know nothing else about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from simlib.policy.classify import Outcome, classify_http
from simlib.trace import NONE, Recorder

NO_KEY = NONE


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What a server says: an HTTP status, and how many seconds to stay away if it says so.

    `running` marks a 409 that means "this key is still being worked on". Answers are compared as objects: make each
    kind once and send it many times.
    """

    status: str
    retry_after: float | None = None
    running: bool = False
    outcome: Outcome = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", classify_http(int(self.status), running=self.running))


CREATED = Answer("201")
FAILED = Answer("500")
GIVEN_UP = Answer("503")
"""What a caller above is told when the calls below were given up."""

Request: TypeAlias = tuple[int, int, int, float]
"""(request, attempt, key, began): the key is a code, `NO_KEY` where none is carried; began, in seconds, is when the
first try of this request was sent, so whoever knows the deadline knows what is left of it."""

Reply: TypeAlias = tuple[int, int, int, float, Answer]
"""The request that it answers, and the answer."""

Receiver: TypeAlias = Callable[[float, Any], object]
"""Where a message goes: called with the time (seconds) and the message. Parts are connected by these alone."""


def nowhere(now: float, message: Any) -> None:
    """A receiver for those who are not connected yet, and for messages that nobody needs."""


class Kinds(dict[Answer, int]):
    """The kind of row that each answer makes at one place, as `Recorder.kind` numbers them; made when first needed."""

    def __init__(self, recorder: Recorder, actor: str, event: str, peer: str) -> None:
        super().__init__()
        self._make = partial(recorder.kind, actor, event, peer)

    def __missing__(self, answer: Answer) -> int:
        self[answer] = kind = self._make(answer.status)
        return kind


def key_text(code: int) -> str:
    """How a key's code is written in a trace: eight hex digits, different for every code below 2**32."""
    return f"{(0x8E03978E + code * 0x9E3779B1) % 2**32:08x}"
