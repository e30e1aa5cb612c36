"""Every schedule of a twin: who goes next, who dies, whose answer is lost, when leases run out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.live.twin_museum import Piece, World
from tests.live.twins import PROVIDER, WAITS, Told, Twin

Move = tuple[str, int]
ANSWERED, FREE, PROMISE = "a last retry gets an answer", "no lease outlives its call", "the invariant"


@dataclass
class _Session:
    """One caller: its twin, the point before which it stands, and what it was told."""

    twin: Twin
    point: str = ""
    told: Told | None = None


@dataclass
class _Schedule:
    """A schedule being played."""

    piece: Piece
    world: World
    sessions: list[_Session] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)

    @classmethod
    def begin(cls, piece: Piece) -> _Schedule:
        left = Counter(crash=piece.crashes, lose=piece.losses, late=piece.expiries)
        schedule = cls(piece, piece.world(), left=left)
        for ask in piece.asks:
            schedule.sessions.append(_Session(piece.twin(schedule.world, ask)))
        for number in range(len(schedule.sessions)):
            schedule.go(number)
        return schedule

    def moves(self) -> list[Move]:
        going = [n for n, s in enumerate(self.sessions) if s.told is None]
        ended = [n for n, s in enumerate(self.sessions) if s.told is not None]
        found = [("go", n) for n in going if self.sessions[n].point != WAITS or self._can_go(n)]
        if self.left["lose"]:
            found += [("unheard", n) for n in going if self.sessions[n].point == PROVIDER]
            found += [("lose", n) for n in ended]
        if self.left["crash"]:
            found += [("crash", n) for n in going]
        if self.left["late"] and going and self.held():
            found.append(("late", -1))
        return found if going or not found else [("hear", -1), *found]

    def make(self, move: Move) -> None:
        kind, number = move
        if kind in self.left or kind == "unheard":
            self.left["lose" if kind == "unheard" else kind] -= 1
        if kind == "hear":  # all answers arrive
            self.left.clear()
        elif kind == "late":
            self.expire()
        elif kind in ("crash", "lose"):
            self._again(number)
        else:
            self.go(number, heard=False if kind == "unheard" else None)

    def go(self, number: int, heard: bool | None = None) -> None:
        session = self.sessions[number]
        try:
            session.point = session.twin.send(heard)
        except StopIteration as end:
            session.told = end.value

    def held(self) -> bool:
        return any(row.until > 0 for row in self.world.keys.rows.values())

    def expire(self) -> None:
        for row in self.world.keys.rows.values():
            row.until = -1.0

    def _again(self, number: int) -> None:
        session = self.sessions[number]
        session.twin.close()
        self.sessions[number] = _Session(self.piece.twin(self.world, self.piece.asks[number]))
        self.go(number)

    def _can_go(self, number: int) -> bool:
        """Whether the one that waits would find its key free or finished: another has ended since."""
        return all(s.told is not None or s.point == WAITS for n, s in enumerate(self.sessions) if n != number)


def broken(piece: Piece) -> tuple[int, set[str]]:
    """How many schedules there are, and what is broken in one of them or more."""
    found: set[str] = set()
    count = 0
    left: list[list[Move]] = [[]]
    while left:
        prefix = left.pop()
        schedule, crashed = _played(piece, prefix)
        made = list(prefix)
        while moves := schedule.moves():
            left.extend([*made, other] for other in moves[1:])
            made.append(moves[0])
            crashed |= moves[0][0] == "crash"
            schedule.make(moves[0])
            assert len(made) < 200, "a twin that does not end"
        count += 1
        assert count < 50_000, "a search that does not end"
        found |= _judged(schedule, crashed=crashed)
    return count, found


def _played(piece: Piece, moves: list[Move]) -> tuple[_Schedule, bool]:
    schedule = _Schedule.begin(piece)
    for move in moves:
        schedule.make(move)
    return schedule, any(kind == "crash" for kind, _ in moves)


def _judged(schedule: _Schedule, *, crashed: bool) -> set[str]:
    found = {FREE} if schedule.held() and not crashed else set()
    schedule.expire()
    for ask in dict.fromkeys(schedule.piece.asks):
        code = _alone(schedule.piece.twin(schedule.world, ask))
        if code == 409 or code >= 500:
            found.add(ANSWERED)
    codes = [session.told[0] for session in schedule.sessions if session.told is not None]
    if not schedule.piece.holds(schedule.world, codes):
        found.add(PROMISE)
    return found


def _alone(twin: Twin) -> int:
    try:
        while next(twin) != WAITS:
            pass
    except StopIteration as end:
        return end.value[0]
    return 409
