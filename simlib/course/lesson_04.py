"""The exercises of lesson 04."""

from __future__ import annotations

from typing import Any

from simlib.course.check import NotYet, a_function
from simlib.policy.fingerprint import fingerprint

KEEP = {
    201: (True, "it was done, and every retry should hear the same"),
    402: (True, "a declined card is a final answer"),
    400: (False, "nothing began: the mended request may come with the same key"),
    409: (False, "it says something of this moment only"),
    429: (False, "it says something of this moment only"),
    422: (False, "it is about the other request; the first one's answer must stay"),
    500: (False, "the outage lasts a minute, and a saved 500 for as long as the key"),
    503: (False, "another try may do better"),
    504: (False, "nobody knows yet what happened"),
}
PAIRS: tuple[tuple[tuple[str, str, bytes], tuple[str, str, bytes], str], ...] = (
    (("POST", "/v1/charges", b'{"a":1,"b":2}'), ("POST", "/v1/charges", b'{ "b": 2, "a": 1 }'), "blanks and order"),
    (("POST", "/v1/charges", b'{"a":5000}'), ("POST", "/v1/charges", b'{"a":5000.0}'), "5000 and 5000.0"),
    (("POST", "/v1/charges", b'{"a":5000}'), ("POST", "/v1/charges", b'{"a":9900}'), "another amount"),
    (("POST", "/v1/charges", b'{"a":5000}'), ("POST", "/v1/refunds", b'{"a":5000}'), "another path"),
    (("POST", "/v1/charges", b'{"a":5000}'), ("PUT", "/v1/charges", b'{"a":5000}'), "another method"),
    (("POST", "/v1/charges", b""), ("POST", "/v1/charges", b""), "no body at all"),
)


def exercise_1(answer: Any) -> str:
    """The key of a purchase, for every try of it, before and after a restart."""
    fn = a_function(answer)
    memory: dict[str, str] = {}
    first, again = fn("shoes on Monday", memory), fn("shoes on Monday", memory)
    if not isinstance(first, str) or not first:
        raise NotYet(f"It gave {first!r}; a key is text.")
    if first != again:
        raise NotYet(
            "The retry of a purchase came with another key than its first try: to the server it is a new purchase."
        )
    if fn("shoes on Tuesday", memory) == first:
        raise NotYet("A second purchase of the same shoes came with the key of the first: it would be swallowed.")
    if fn("shoes on Monday", dict(memory)) != first:
        raise NotYet(
            "The phone was restarted between two tries, with its memory as it was, and the key is another one."
        )
    if fn("shoes on Monday", {}) == first:
        raise NotYet(
            "Two customers with a purchase of the same name got the same key; nobody must be able to guess one."
        )
    return "one key for a purchase, kept over a restart, and nobody can guess it."


def exercise_2(answer: Any) -> str:
    """Whether two requests are the same to a server that keeps keys."""
    fn = a_function(answer)
    for one, other, what in PAIRS:
        right, said = fingerprint(*one) == fingerprint(*other), fn(one, other)
        if bool(said) is not right:
            raise NotYet(f"{one} and {other} ({what}): yours says {said!r}.")
    return f"{len(PAIRS)} pairs: method, path and body count, blanks and the order of members do not."


def exercise_3(answer: Any) -> str:
    """Which answers to keep beside the key."""
    fn = a_function(answer)
    for status, (right, why) in KEEP.items():
        if bool(fn(status)) is not right:
            raise NotYet(f"{status}: {'keep it' if right else 'do not keep it'}; {why}.")
    return "what is final is kept, what may change is not."
