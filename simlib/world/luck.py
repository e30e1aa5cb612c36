"""Same luck: every random number has a name, so turning one knob changes only what that knob causes.

A number is named by (seed, purpose, request, attempt). The purpose and the attempt choose a stream, the request is
the place in it, and a stream is always filled from its beginning. So what a request draws depends neither on the
order in which things happen nor on what else is drawn, and the same replies are lost with keys on and off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.random import PCG64, Generator
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]
Source: TypeAlias = Callable[[int], Numbers]
"""Gives the next n numbers of one stream; asking for 2 and then 3 gives the same five as asking for 5."""

FIRST = 1024  # numbers a stream draws at first; it then doubles whenever it runs out


_NONE = np.empty(0).data


class _State(ISeedSequence):
    """The state PCG64 begins with, as it is: the bits of a digest are as mixed as numpy's own mixing makes them."""

    __slots__ = ("_words",)

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: object = np.uint32) -> NDArray[np.uint64]:
        return self._words


class Luck:
    """All the luck of one run; `seed` is any whole number."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def generator(self, purpose: str, attempt: int = 0) -> Generator:
        """The stream of this name, from its beginning: the same on every platform and in every process."""
        name = hashlib.sha256(f"{self.seed}/{purpose}/{attempt}".encode()).digest()
        state: Any = _State(np.frombuffer(name, "<u8"))  # numpy's stubs do not know what its manual says
        return Generator(PCG64(state))

    def uniforms(self, purpose: str) -> Draws:
        """One number from 0 up to, not including, 1 for every request and attempt."""
        return Draws(lambda attempt: self.generator(purpose, attempt).random)


class Draws:
    """One number for every request and attempt, drawn in blocks when first asked for.

    `tries[attempt][request]` is the number, or IndexError if it has not been drawn yet: then `more` draws it. Hot
    code reads `tries` itself.
    """

    __slots__ = ("_open", "_sources", "tries")

    def __init__(self, open_stream: Callable[[int], Source]) -> None:
        self.tries: list[memoryview] = []
        self._open = open_stream
        self._sources: dict[int, Source] = {}

    def more(self, request: int, attempt: int) -> float:
        """Draw on until this request's number is there, and return it."""
        while len(self.tries) <= attempt:
            self.tries.append(_NONE)
        if attempt not in self._sources:
            self._sources[attempt] = self._open(attempt)
        drawn = self.tries[attempt]
        missing = request + 1 - len(drawn)
        block = self._sources[attempt](max(FIRST, len(drawn), missing))
        self.tries[attempt] = (np.concatenate((np.asarray(drawn), block)) if len(drawn) else block).data
        return self.tries[attempt][request]

    def at(self, request: int, attempt: int) -> float:
        """This request's number in this attempt."""
        try:
            return self.tries[attempt][request]
        except IndexError:
            return self.more(request, attempt)


class Dice:
    """What a policy gets as its `rng`: the uniform numbers that belong to one try of one request."""

    __slots__ = ("_draws", "_luck", "_purpose", "_rolled", "_try")

    def __init__(self, luck: Luck, purpose: str) -> None:
        self._luck = luck
        self._purpose = purpose
        self._draws: list[Draws] = []
        self._try = (0, 0)
        self._rolled = 0

    def of(self, request: int, attempt: int) -> Dice:
        """These dice, laid at the first number of this try."""
        self._try = (request, attempt)
        self._rolled = 0
        return self

    def random(self) -> float:
        """The next number of this try, from 0 up to, not including, 1."""
        if self._rolled == len(self._draws):
            self._draws.append(self._luck.uniforms(f"{self._purpose} {self._rolled}"))
        draws = self._draws[self._rolled]
        self._rolled += 1
        return draws.at(*self._try)
