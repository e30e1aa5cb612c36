"""`attack(fn)`: everything that befalls a payment, one after another, and a scoreboard."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import IsolationLevel

from simlib.live.crowd import at_once
from simlib.live.exploring import ONE_CHARGE, PARTS, Report, explore
from simlib.live.pg.server import Postgres, postgres
from simlib.live.search.bank import Bank
from simlib.live.search.tree import Budget
from simlib.table import Table

CENTS, OTHER_CENTS = 5000, 7000
CROWD = 20
BUDGET = Budget(schedules=3_000, seconds=6.0)
MARKS = {"passed": "✓ passed", "failed": "✗ FAILED", "not applicable": "– not applicable"}
LEVELS = (IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE)


class _Failed(Exception):
    """The attack got through; the message says what happened."""


class _NotApplicable(Exception):
    """There is nothing for this attack to hold on to."""


@dataclass(frozen=True)
class Row:
    """How one attack went. `report` is there where schedules were searched."""

    attack: str
    result: str
    says: str
    seconds: float = field(compare=False)
    report: Report | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Scoreboard:
    """All attacks on a function, in order."""

    name: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether no attack got through."""
        return all(row.result != "failed" for row in self.rows)

    @property
    def table(self) -> Table:
        """The attacks as a table, without the times, which differ from run to run."""
        return Table(
            ("attack", "result", "what was seen"), tuple((r.attack, MARKS[r.result], r.says) for r in self.rows)
        )

    @property
    def story(self) -> Any:
        """The shortest schedule of the first attack that got through by a schedule; None if none did."""
        return next((r.report.story for r in self.rows if r.result == "failed" and r.report and r.report.story), None)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(row.seconds for row in self.rows)

    def __repr__(self) -> str:
        failed = sum(r.result == "failed" for r in self.rows)
        says = f"{failed} of {len(self.rows)} attacks got through" if failed else "survived every attack"
        return f"{self.name} {says}\n{self.table!r}"

    def _repr_html_(self) -> str:
        failed = sum(r.result == "failed" for r in self.rows)
        says = f"{failed} of {len(self.rows)} attacks got through" if failed else "survived every attack"
        story = self.story
        told = story._repr_html_() if story is not None else ""
        return f"<p><b>{self.name}</b> {says}</p>{self.table._repr_html_()}{told}"


def attack(fn: Callable[..., Any], *, budget: Budget = BUDGET, dsn: str | None = None) -> Scoreboard:
    """Attack a function that pays: `fn(conn, account_id, key, amount_cents)`, or `fn(conn, provider, account_id, ...)`.

    Its answers need `code` and `body`, as those of `pay`. It runs on the lesson's tables, empty for each attack, and is
    judged by them: one charge for each payment. `budget` bounds each search for schedules; a row says when it was cut.
    """
    if not callable(fn):
        raise ValueError(f"fn is {fn!r}; give the function itself, without brackets.")
    target = _Target(fn, dsn)
    rows = []
    with postgres(dsn):  # so that one server serves all attacks
        for name, strike in ATTACKS.items():
            rows.append(_struck(name, strike, target, budget))
    return Scoreboard(getattr(fn, "__name__", "fn"), tuple(rows))


@dataclass(frozen=True)
class _Target:
    """The function under attack, called in one way whether it takes a provider or not."""

    fn: Callable[..., Any]
    dsn: str | None

    @property
    def external(self) -> bool:
        code = getattr(self.fn, "__code__", None)
        return code is not None and "provider" in code.co_varnames[: code.co_argcount]

    def caller(self, bank: Bank) -> Callable[..., Any]:
        """`fn` with this provider."""
        if self.external:
            return lambda conn, *args: self.fn(conn, bank, *args)
        return self.fn

    def explore(self, *, key: str = "k", budget: Budget, sessions: int = 2, **how: Any) -> Report:
        args = [(1, key, CENTS)] * sessions
        invariant: Any = {"one charge": ONE_CHARGE}
        if self.external:
            invariant["the provider charged once"] = _charged_once
        return explore(
            self.fn, sessions, args=args, budget=budget, invariant=invariant, dsn=self.dsn, parts=PARTS, **how
        )


def _charged_once(conn: Any, provider: Bank) -> bool:
    return len(provider.charges()) == 1


Strike = Callable[[_Target, Budget], "str | Report"]


def _struck(name: str, strike: Strike, target: _Target, budget: Budget) -> Row:
    began = time.monotonic()
    report = None
    try:
        said = strike(target, budget)
        if isinstance(said, Report):
            report = said
            said = _searched(report)
        result = "passed"
    except _NotApplicable as error:
        result, said = "not applicable", str(error)
    except _Found as error:
        result, said, report = "failed", str(error), error.report
    except _Failed as error:
        result, said = "failed", str(error)
    except Exception as error:
        result, said = "failed", f"it raised {type(error).__name__}: {' '.join(str(error).split())[:80]}"
    return Row(name, result, said, time.monotonic() - began, report)


class _Found(_Failed):
    """A search found a schedule."""

    def __init__(self, report: Report) -> None:
        self.report = report
        which = ", ".join(report.violations)
        code = report.story.code if report.story else ""
        super().__init__(f"{report.violating:,} of {report.schedules:,} schedules break: {which}; e.g. {code}")


def _searched(report: Report) -> str:
    if report.violating:
        raise _Found(report)
    return f"{report.schedules:,} schedules{'' if report.complete else ', then the budget was spent'}"


def _retry(target: _Target, budget: Budget) -> str:
    with postgres(target.dsn) as db, db.connect() as conn:
        call = target.caller(Bank())
        first, again = (call(conn, 1, "k", CENTS) for _ in range(2))
        _same(first, again)
        _charges(conn, 1)
    return "the same answer, byte for byte"


def _other_body(target: _Target, budget: Budget) -> str:
    with postgres(target.dsn) as db, db.connect() as conn:
        call = target.caller(Bank())
        call(conn, 1, "k", CENTS)
        code = call(conn, 1, "k", OTHER_CENTS).code
        _charges(conn, 1)
    if code != 422:
        raise _Failed(f"the same key with another amount was answered {code}")
    return "422"


def _other_account(target: _Target, budget: Budget) -> str:
    with postgres(target.dsn) as db, db.connect() as conn:
        call = target.caller(Bank())
        _, theirs = (call(conn, account, "k", CENTS) for account in (1, 2))
        if getattr(theirs, "replayed", False):
            raise _Failed("account 2 was given the answer of account 1")
        _charges(conn, 2)
    return "each has a charge of its own"


def _crowd(target: _Target, budget: Budget) -> str:
    with postgres(target.dsn) as db:
        call = target.caller(Bank())
        if target.external:
            codes = _at_once(db, call)
        else:
            told = at_once(db, lambda conn: call(conn, 1, "k", CENTS), CROWD).answers
            codes = [getattr(answer, "code", type(answer).__name__) for answer in told]
        with db.connect() as conn:
            _charges(conn, 1)
    odd = [code for code in codes if code not in (200, 201, 409)]
    if odd:
        raise _Failed(f"of {CROWD} at once {len(odd)} were told {odd[0]}")
    return f"{CROWD} at once, one charge"


def _at_once(db: Postgres, call: Callable[..., Any]) -> list[Any]:
    from concurrent.futures import ThreadPoolExecutor

    def one(_: int) -> Any:
        with db.connect() as conn:
            return call(conn, 1, "k", CENTS).code

    with ThreadPoolExecutor(CROWD) as pool:
        return list(pool.map(one, range(CROWD)))


def _rollback(target: _Target, budget: Budget) -> str:
    if target.external:
        raise _NotApplicable("it commits as it goes")
    with postgres(target.dsn) as db:
        told = at_once(db, lambda conn: target.fn(conn, 1, "k", CENTS), kill_first=True).answers
        with db.connect() as conn:
            _charges(conn, 1)
    if not any(getattr(answer, "code", None) == 201 for answer in told):
        raise _Failed("the first was killed at work, and nobody else did it")
    return "the first was killed at work; one of the others did it"


def _crashes(target: _Target, budget: Budget) -> Report:
    return target.explore(sessions=1, crashes=1, budget=budget)


def _losses(target: _Target, budget: Budget) -> Report:
    return target.explore(sessions=1, losses=1, budget=budget)


def _expiries(target: _Target, budget: Budget) -> Report:
    if not target.external:
        raise _NotApplicable("it takes no lease")
    return target.explore(expiries=1, budget=budget)


def _schedules(level: IsolationLevel) -> Strike:
    def strike(target: _Target, budget: Budget) -> Report:
        return target.explore(isolation=level, budget=budget)

    return strike


def _three(target: _Target, budget: Budget) -> Report:
    return target.explore(sessions=3, budget=budget)


ATTACKS: dict[str, Strike] = {
    "a retry": _retry,
    "the same key, another amount": _other_body,
    "the same key, another account": _other_account,
    f"{CROWD} at once": _crowd,
    "the winner is killed": _rollback,
    "a crash at every statement": _crashes,
    "the caller hangs up": _losses,
    "leases that run out": _expiries,
    **{f"2 sessions, {level.name.replace('_', ' ')}": _schedules(level) for level in LEVELS},
    "3 sessions": _three,
}
"""Every attack by its name: it says what it saw, or raises."""


def _same(first: Any, again: Any) -> None:
    if first.body != again.body or first.code != again.code:
        raise _Failed(f"first {first.code} {_cut(first.body)}, then {again.code} {_cut(again.body)}")


def _charges(conn: psycopg.Connection[Any], wanted: int) -> None:
    row = conn.execute("select count(*) from charges").fetchone()
    if row != (wanted,):
        raise _Failed(f"{row[0] if row else 0} charges where there should be {wanted}")


def _cut(body: bytes) -> str:
    text = body.decode(errors="replace")
    return text if len(text) <= 40 else f"{text[:39]}…"
