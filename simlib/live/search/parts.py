"""What is not the database: a provider, a broker, a second store. Their calls are points as well.

A part is any object; what the function under study gets is a stand-in whose calls wait for the session's turn. Where a
caller may lose an answer (`losses`), a part's call may be carried out and its answer get lost on the way, if the part's
`no_answer` says which exception its caller is told then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlib.live.search.turns import UNHEARD, Point, Session


class Part:
    """A session's view of a part: each call of a method is a point."""

    def __init__(self, real: Any, name: str, session: Session) -> None:
        self._real, self._name, self._session = real, name, session

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return self._call(found, name) if callable(found) else found

    def _call(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            order = self._session.pause(Point("part", f"{self._name}.{name}", losable=_lost(self._real) is not None))
            result = method(*args, **kwargs)
            if order == UNHEARD:
                raise _lost(self._real)(f"{self._name}.{name}: no answer in time")  # type: ignore[misc]
            return result

        return call


def _lost(real: Any) -> type[Exception] | None:
    """What a caller of this part is told when the answer does not come; None where that cannot be."""
    return getattr(real, "no_answer", None)
