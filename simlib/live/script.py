"""What befalls the next requests: a list to be worked off in order, and after that chance, seeded."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

Fate = TypeVar("Fate")


class Script(Generic[Fate]):
    """The fates of a row of requests: first `listed`, then each of `shares` with its chance, else `otherwise`.

    Chance is drawn by (seed, purpose, number of the request), so the same request meets the same fate in every run.
    """

    def __init__(
        self,
        otherwise: Fate,
        *,
        listed: Iterable[Fate] = (),
        shares: Mapping[Fate, float] | None = None,
        seed: int = 7,
        purpose: str = "",
    ) -> None:
        self._otherwise = otherwise
        self._listed = deque(listed)
        self._shares = dict(shares or {})
        self._stream = f"{seed}/{purpose}"
        self._number = 0
        self._lock = threading.Lock()
        if any(not 0 <= share <= 1 for share in self._shares.values()) or sum(self._shares.values()) > 1 + 1e-9:
            raise ValueError(f"The shares are {list(self._shares.values())}; each goes from 0 to 1, all together to 1.")

    def extend(self, fates: Iterable[Fate]) -> None:
        """Put these at the end of the list."""
        with self._lock:
            self._listed.extend(fates)

    def next(self) -> Fate:
        """The fate of the next request."""
        with self._lock:
            self._number += 1
            if self._listed:
                return self._listed.popleft()
            luck = random.Random(f"{self._stream}/{self._number}").random()
        for fate, share in self._shares.items():
            luck -= share
            if luck < 0:
                return fate
        return self._otherwise
