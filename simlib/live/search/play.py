"""One schedule, played for real: who goes next is chosen at every point, and what happens is written down.

A session that has been told to go either comes to its next point or waits for a lock. Which of the two is
PostgreSQL's word (`pg_blocking_pids`), and it is asked again for all who wait after every move.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.pq import TransactionStatus

from simlib.live.search import turns
from simlib.live.search.arena import Arena
from simlib.live.search.footprint import Footprint, Standing, dependent
from simlib.live.search.moves import CRASH, DELIVER, LATE, LOSE, NOBODY, STEP, UNHEARD, Move, encode, letter
from simlib.live.search.turns import Answer, Point

LOOK_AGAIN = 0.0004  # seconds a session may take before the server is asked whether it waits for a lock
PATIENCE = 20.0
HAND_BACK = Point("rollback", "ROLLBACK, as the connection is handed back")


class Diverged(Exception):
    """A schedule did not go as it went before: the next move on the list cannot be made."""


@dataclass(slots=True)
class Happened:
    """One move as it was made. `waits`: whom it had to wait for; `woken`: who could go on because of it;
    `answers`: the calls that ended with it, as (session, attempt, answer).
    """

    move: Move
    point: Point | None = None
    rows: int = -1
    waits: tuple[int, ...] = ()
    woken: list[int] = field(default_factory=list)
    answers: list[tuple[int, int, Answer]] = field(default_factory=list)


@dataclass
class _Seat:
    """A session in this schedule."""

    pgconn: Any = None
    attempt: int = 0
    visible: int = 0  # steps of this attempt that others could notice
    unnoticed: bool = False  # the last step was none of these: a crash now is the same as one before it
    standing: Standing = field(default_factory=Standing)
    under_way: tuple[Point, Footprint, Happened] | None = None
    over: bool = False  # its last answer was delivered
    undecided: bool = False  # it has an answer that may yet get lost


class Play:
    """One schedule. After `run`: `made` (its moves), `story`, `branches` (other ways not taken), `ending`."""

    def __init__(self, arena: Arena, *, reduce: bool) -> None:
        self.arena = arena
        self.reduce = reduce
        self.made: list[Move] = []
        self.story: list[Happened] = []
        self.branches: list[tuple[tuple[Move, ...], frozenset[Move]]] = []
        self.answers: list[tuple[int, int, Answer]] = []
        self.ending = "ended"  # or `same` (as another schedule), `idle` (nothing to expire), `endless`
        self.parts: dict[str, Any] = {}
        self._seats = [_Seat() for _ in arena.sessions]
        self._aside: dict[int, tuple[int, ...]] = {}
        self._asleep: frozenset[Move] = frozenset()
        self._now: Happened = Happened(Move(STEP, NOBODY))

    @property
    def code(self) -> str:
        """The schedule's short code."""
        return encode(self.made)

    @property
    def crashed(self) -> bool:
        return any(m.kind == CRASH for m in self.made)

    def run(self, prefix: Sequence[Move] = (), asleep: frozenset[Move] = frozenset()) -> Play:
        """Play from a clean ground: the moves of `prefix`, then whatever has not been tried.

        `asleep` are moves which, right after the prefix, would lead to schedules that others stand for.
        """
        arena = self.arena
        arena.ground.reset()
        self.parts = arena.fresh_parts()
        try:
            for i in range(len(self._seats)):
                self._begin(i)
            while self.ending == "ended" and (moves := self._moves()):
                if len(self.made) >= arena.study.longest:
                    self.ending = "endless"
                    break
                if len(self.made) == len(prefix):
                    self._asleep = asleep if len(self.made) == len(prefix) and not self._fresh else self._asleep
                    self._fresh = True
                move = self._choose(moves, prefix)
                if move is not None:
                    self._make(move)
        finally:
            self._clear()
        return self

    _fresh = False  # whether the prefix has been played

    # What can be done now.

    def _moves(self) -> list[Move]:
        """The moves that can be made; where an answer has just been given, only what becomes of it."""
        left = self._left()
        for i, seat in enumerate(self._seats):
            if seat.undecided:
                lost = [Move(kind, i) for kind in (LOSE, CRASH) if left[kind]]
                return [Move(DELIVER, i), *lost]
        found: list[Move] = []
        for i, seat in enumerate(self._seats):
            session = self.arena.sessions[i]
            if seat.over or i in self._aside or session.point is None or self._must_wait_for_twin(i):
                continue
            found.append(Move(STEP, i))
            if session.answer is not None:
                continue
            if left[CRASH] and seat.visible and not (self.reduce and seat.unnoticed):
                found.append(Move(CRASH, i))
            if left[LOSE] and session.point.losable:
                found.append(Move(UNHEARD, i))
        if found and left[LATE]:
            found.append(Move(LATE, NOBODY))
        return found

    def _left(self) -> dict[str, int]:
        trouble = self.arena.study.trouble
        kinds = [m.kind for m in self.made]
        return {
            CRASH: trouble.crashes - kinds.count(CRASH),
            LOSE: trouble.losses - kinds.count(LOSE) - kinds.count(UNHEARD),
            LATE: trouble.expiries - kinds.count(LATE),
        }

    def _must_wait_for_twin(self, i: int) -> bool:
        """Of sessions that do the same the first by name shows itself first: their names could be swapped."""
        if not self.reduce or self._seats[i].visible or self._seats[i].attempt > 1:
            return False
        if self._print(Move(STEP, i)).private:
            return False
        return any(
            self.arena.study.twins(i, j) and not self._seats[j].visible and self._seats[j].attempt == 1
            for j in range(i)
        )

    def _print(self, move: Move) -> Footprint:
        """What a move would touch."""
        if move.kind == LATE:
            found = self.arena.tables.statement(self.arena.study.lapse)
            return Footprint(None, found.reads, found.writes, found.writes, frozenset(["expiries"]), False, False, True)
        i = move.session
        seat = self._seats[i]
        if move.kind == DELIVER:
            return Footprint(i)
        if move.kind == LOSE:
            return Footprint(i, tokens=frozenset(["losses"]))
        if move.kind == CRASH:
            end = seat.standing.end(i)
            return Footprint(i, commits=end.commits, everything=end.everything, tokens=frozenset(["crashes"]))
        point = self.arena.sessions[i].point
        assert point is not None
        others = [s.standing for j, s in enumerate(self._seats) if j != i]
        part = frozenset([f"part {point.text.split('.')[0]}"])
        found = seat.standing.next(i, point, self.arena.tables, others, part)
        tokens = frozenset(["losses"]) if move.kind == UNHEARD else frozenset[str]()
        if point.kind in ("commit", "rollback"):
            woken = [s.under_way[1] for j, s in enumerate(self._seats) if i in self._aside.get(j, ()) and s.under_way]
            commits = found.commits.union(*(w.writes for w in woken))
            everything = found.everything or any(w.everything for w in woken)
            found = Footprint(i, found.reads, found.writes, commits, tokens, everything=everything)
        elif tokens:
            found = Footprint(i, found.reads, found.writes, found.commits, tokens)
        return found

    # Choosing.

    def _choose(self, moves: list[Move], prefix: Sequence[Move]) -> Move | None:
        k = len(self.made)
        if k < len(prefix):
            if prefix[k] in moves:
                return prefix[k]
            if moves[0].kind == DELIVER:
                return moves[0]
            raise Diverged(f"{encode(prefix)}: move {k + 1} cannot be made after {self.code or 'nothing'}.")
        awake = [m for m in moves if m not in self._asleep] if self.reduce else moves
        if not awake:
            self.ending = "same"
            return None
        prints = {m: self._print(m) for m in {*awake, *self._asleep}} if self.reduce else {}
        if self.reduce and (alone := self._private(awake, prints)) is not None:
            for crash in (m for m in awake if m == Move(CRASH, alone.session)):
                asleep = frozenset(m for m in self._asleep if not dependent(prints[m], prints[crash]))
                self.branches.append(((*self.made, crash), asleep))
            return alone
        last = self.made[-1].session if self.made else 0
        awake.sort(key=lambda m: (m.kind not in (STEP, DELIVER), m.session != last))
        first, *others = awake
        before = {*self._asleep, first}
        for move in others:
            asleep = (
                frozenset(m for m in before if not dependent(prints[m], prints[move])) if self.reduce else frozenset()
            )
            self.branches.append(((*self.made, move), asleep))
            before.add(move)
        if self.reduce:
            self._asleep = frozenset(m for m in self._asleep if not dependent(prints[m], prints[first]))
        return first

    def _private(self, moves: list[Move], prints: Mapping[Move, Footprint]) -> Move | None:
        """A step that nobody else can notice, and instead of which its session could only die: it needs no choice."""
        for move in moves:
            alone = all(m.session != move.session or m.kind in (STEP, CRASH) for m in moves)
            if move.kind == STEP and prints[move].private and alone:
                return move
        return None

    # Making a move.

    def _make(self, move: Move) -> None:
        if move.kind == DELIVER:
            self._seats[move.session].undecided, self._seats[move.session].over = False, True
            return
        self._now = Happened(move)
        self.made.append(move)
        self.story.append(self._now)
        match move.kind:
            case "late":
                if self.arena.ground.watch.execute(self.arena.study.lapse.encode()).rowcount == 0 and self._fresh:
                    self.ending = "idle"
            case "crash":
                self._crash(move.session)
            case "lose":
                self._begin(move.session)
            case _:
                self._step(move)
        self._settle()

    def _step(self, move: Move) -> None:
        i = move.session
        seat, session = self._seats[i], self.arena.sessions[i]
        assert session.point is not None
        step = self._print(move)
        seat.visible += not step.private
        seat.unnoticed = step.private
        self._now.point = session.point
        if session.answer is not None:  # it left a transaction open; whoever keeps the connections ends that
            seat.pgconn.exec_(b"rollback")
            session.point = None
            self._ended(i, session.answer)
            return
        session.rows = -1
        seat.under_way = (session.point, step, self._now)
        session.go(turns.UNHEARD if move.kind == UNHEARD else turns.GO)
        self._await(i)

    def _begin(self, i: int) -> None:
        """A new attempt, to its first point."""
        seat = self._seats[i]
        seat.attempt += 1
        seat.visible, seat.unnoticed, seat.standing, seat.undecided, seat.under_way = 0, False, Standing(), False, None
        seat.pgconn, job = self.arena.call(i, self.parts)
        self.arena.sessions[i].start(job)
        self._await(i)

    def _crash(self, i: int) -> None:
        seat, session = self._seats[i], self.arena.sessions[i]
        self.arena.ground.kill(seat.pgconn)
        if not seat.undecided:
            session.go(turns.CRASH)
            session.arrived(PATIENCE)
        self._now.point = session.point
        self._begin(i)

    def _await(self, i: int) -> None:
        """Wait until a session stands at a point, has ended, or is known to wait for a lock; then it is set aside."""
        session, seat = self.arena.sessions[i], self._seats[i]
        deadline = time.monotonic() + PATIENCE
        while not session.arrived(LOOK_AGAIN):
            waits = self._blocked([i])
            if i in waits:
                self._aside[i] = waits[i]
                self._now.waits = waits[i]
                return
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"Session {letter(i)} neither came to its next statement within {PATIENCE:.0f} s nor waits for a "
                    f"lock of another session; it was doing: {seat.under_way[0].text if seat.under_way else 'nothing'}."
                )
        self._landed(i)

    def _landed(self, i: int) -> None:
        """A session stands again: take note of what it did."""
        session, seat = self.arena.sessions[i], self._seats[i]
        self._aside.pop(i, None)
        still_open = seat.pgconn.transaction_status != TransactionStatus.IDLE
        if seat.under_way is not None:
            point, step, happened = seat.under_way
            happened.rows = session.rows
            seat.standing.did(point, step, session.rows, self.arena.tables, still_open=still_open)
            seat.under_way = None
        if session.answer is not None:
            if still_open and not seat.pgconn.status:
                session.point = HAND_BACK
            else:
                self._ended(i, session.answer)

    def _ended(self, i: int, answer: Answer) -> None:
        seat = self._seats[i]
        seat.standing = Standing()
        self._now.answers.append((i, seat.attempt, answer))
        self.answers.append((i, seat.attempt, answer))
        left = self._left()
        seat.undecided = answer.error is None and bool(left[LOSE] or left[CRASH])
        seat.over = not seat.undecided

    def _settle(self) -> None:
        """Every session that was set aside is either back at a point or still named as waiting.

        Where all that are left wait for each other, the server's deadlock detector is about to end one of them.
        """
        deadline = time.monotonic() + PATIENCE
        while self._aside:
            waits = self._blocked(list(self._aside))
            back = [i for i in self._aside if i not in waits and self.arena.sessions[i].arrived(LOOK_AGAIN)]
            for i in back:
                self._now.woken.append(i)
                self._landed(i)
            self._aside |= {i: waits[i] for i in self._aside if i in waits}
            stuck = all(seat.over or i in self._aside for i, seat in enumerate(self._seats))
            if not back and not stuck and all(i in waits for i in self._aside):
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"All sessions wait for a lock, for {PATIENCE:.0f} s and after {self.code}.")

    def _blocked(self, who: list[int]) -> dict[int, tuple[int, ...]]:
        """Which of these sessions wait for which other ones."""
        number = {seat.pgconn.backend_pid: i for i, seat in enumerate(self._seats) if seat.pgconn is not None}
        pid = {i: p for p, i in number.items()}
        found = self.arena.ground.blocked([pid[i] for i in who], list(number))
        return {number[p]: tuple(number[b] for b in by) for p, by in found.items()}

    def _clear(self) -> None:
        """Leave no call under way, however the schedule ended; who waits for a lock goes on once its holder is gone."""
        deadline = time.monotonic() + PATIENCE
        left = [i for i, seat in enumerate(self._seats) if seat.pgconn is not None]
        while left:
            for i in tuple(left):
                session, pgconn = self.arena.sessions[i], self._seats[i].pgconn
                if i in self._aside and not session.arrived(LOOK_AGAIN):
                    continue
                self._aside.pop(i, None)
                if session.answer is None and session.point is not None:
                    session.go(turns.CRASH)
                    session.arrived(PATIENCE)
                if pgconn.status == 0 and pgconn.transaction_status != TransactionStatus.IDLE:
                    pgconn.exec_(b"rollback")
                left.remove(i)
            if time.monotonic() > deadline:
                raise TimeoutError(f"A session still waits for a lock {PATIENCE:.0f} s after {self.code} was over.")
