"""What stays from one schedule to the next: the ground, the threads of the sessions, the function and its parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simlib.live.search.connections import dress
from simlib.live.search.footprint import Tables
from simlib.live.search.ground import Ground
from simlib.live.search.parts import Part
from simlib.live.search.turns import Session

LAPSE = """
update payment_keys set locked_until = clock_timestamp() - interval '1 second'
where (account_id, key) in (
    select account_id, key from payment_keys where locked_until > clock_timestamp() for update skip locked)"""
"""What happens when leases run out: those not locked at this moment end."""


@dataclass(frozen=True)
class Trouble:
    """How much may go wrong in one schedule: crashes, lost answers, leases that run out."""

    crashes: int = 0
    losses: int = 0
    expiries: int = 0


@dataclass(frozen=True)
class Study:
    """What is under study: the function, what each session calls it with, and what it finds around it.

    `parts` makes each part anew for a schedule, by the name of the parameter that takes it. `longest` is the number of
    moves after which a schedule counts as one that does not end.
    """

    fn: Callable[..., Any]
    args: Sequence[tuple[Any, ...]]
    parts: Mapping[str, Callable[[], Any]]
    trouble: Trouble = Trouble()
    isolation: int | None = None
    lapse: str = LAPSE
    longest: int = 200

    @property
    def wanted(self) -> tuple[str, ...]:
        """The parts that the function takes, in its order: the parameters after the connection that name one."""
        try:
            names = list(inspect.signature(self.fn).parameters)[1:]
        except (TypeError, ValueError):
            return ()
        found = []
        for name in names:
            if name not in self.parts:
                break
            found.append(name)
        return tuple(found)

    def twins(self, i: int, j: int) -> bool:
        """Whether two sessions do the same, so that their names may be swapped."""
        return self.args[i] == self.args[j]


class Arena:
    """Where schedules of one study are played."""

    def __init__(self, study: Study, ground: Ground) -> None:
        self.study = study
        self.ground = ground
        self.tables = Tables.of(ground.watch, ground.name)
        self.sessions = [Session(i) for i in range(len(study.args))]
        self.is_async = inspect.iscoroutinefunction(study.fn)
        self._wanted = study.wanted

    def fresh_parts(self) -> dict[str, Any]:
        """The parts of one schedule, as new."""
        return {name: self.study.parts[name]() for name in self._wanted}

    def call(self, i: int, parts: Mapping[str, Any]) -> tuple[Any, Callable[[], Any]]:
        """A session's libpq connection, as new, and a call of the function on it."""
        session, pgconn = self.sessions[i], self.ground.pgconn(i)
        conn = dress(pgconn, session, self.study.isolation, self.is_async)
        given = [Part(parts[name], name, session) for name in self._wanted]
        return pgconn, lambda: self.study.fn(conn, *given, *self.study.args[i])

    def close(self) -> None:
        """End the threads and drop the ground."""
        for session in self.sessions:
            session.close()
        self.ground.close()
