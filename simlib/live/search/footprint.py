"""What a step touches, and when the order of two steps cannot matter.

Judged from the statement's text, by tables, and always to the safe side: what is not understood touches everything.

- BEGIN touches nothing (the snapshot is taken by the first statement), nor does the end of a transaction that wrote
  nothing.
- Two plain reads never disturb each other.
- What a transaction has written is seen by nobody before its COMMIT: at READ COMMITTED a write and another session's
  plain read may change places; the commit and that read may not. ROLLBACK and a crash free locks, so they count as
  commits do.
- Writes to the same table, or to tables tied by a foreign key, keep their order, whatever the rows: sequences and
  unique indexes are shared. A lock taken by a read counts as a write.
- Two steps that may both have to wait for a lock keep their order: who closes a circle is the deadlock's victim.
- At REPEATABLE READ a transaction's statements keep their order with every commit; at SERIALIZABLE reads and writes of
  one table do too, and a commit keeps its order with everything.
- Calls to a part (a provider, a broker, a second store) keep their order with other calls to the same part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from simlib.live.search.turns import Point

Names = frozenset[str]
NOTHING: Names = frozenset()

READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE = 2, 3, 4  # as psycopg numbers them

WORDS = (
    "abs any array_agg cast char_length clock_timestamp coalesce count date_trunc encode exists extract format "
    "gen_random_uuid greatest in json_agg json_build_object jsonb_agg jsonb_build_object least left length lower "
    "make_interval max md5 min now nullif numeric over right row_number statement_timestamp string_agg sum to_char "
    "trim upper values varchar interval all some and or not as on using set by select where when then else filter "
    "conflict returning from join lateral having limit"
)
HARMLESS = frozenset(WORDS.split())
"""Functions, and words that stand before a parenthesis, that touch nothing but what their statement names."""

PLAIN_BEGIN = ("BEGIN", "BEGIN TRANSACTION", "START TRANSACTION")

NOISE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)
WORD = re.compile(r'"((?:[^"]|"")+)"|([a-z_][a-z0-9_$]*)')
CALL = re.compile(r"([a-z_][a-z0-9_$.]*)\s*\(")
SOURCE = re.compile(r"\b(?:from|join|into|update|only|table)\s+((?:\w+\.)?[\"\w]+)")
LOCKS = re.compile(r"\bfor\s+(?:no\s+key\s+)?(?:update|share|key\s+share)\b")
CHANGES = re.compile(r"\b(?:insert|update|delete|merge)\b")


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which session takes the step, which tables (and parts) it reads, writes and makes visible.

    `tokens` are what it uses up or waits its turn for; `snapshot`: it sees what was committed before it, and only that;
    `wary`: reads and writes of one table disturb each other here (SERIALIZABLE); `everything`: not understood.
    """

    session: int | None = None
    reads: Names = NOTHING
    writes: Names = NOTHING
    commits: Names = NOTHING
    tokens: Names = NOTHING
    snapshot: bool = False
    wary: bool = False
    everything: bool = False
    waits: bool = False  # it may have to wait for a lock that another session holds

    @property
    def private(self) -> bool:
        """Whether no other session can tell that it happened."""
        return not (self.reads or self.writes or self.commits or self.tokens or self.everything or self.snapshot)


def dependent(a: Footprint, b: Footprint) -> bool:
    """Whether the order of the two steps may matter."""
    if a.session is not None and a.session == b.session:
        return True
    if a.tokens & b.tokens:
        return True
    if a.private or b.private:
        return False
    if a.everything or b.everything or (a.waits and b.waits):
        return True
    if a.writes & b.writes or a.commits & b.commits:
        return True
    if a.commits & (b.reads | b.writes) or b.commits & (a.reads | a.writes):
        return True
    if (a.snapshot and b.commits) or (b.snapshot and a.commits):
        return True
    return (a.wary or b.wary) and bool(a.writes & b.reads or a.reads & b.writes)


@dataclass(frozen=True)
class Tables:
    """The tables of a schema, as far as independence needs to know them.

    `tied`: table to those its writes may lock or read, by foreign keys; `opaque`: tables whose writes run code
    (triggers, rules, functions as defaults), views, and whatever else hides what it touches.
    """

    names: Names
    tied: Mapping[str, Names]
    opaque: Names
    isolation: int = READ_COMMITTED

    @classmethod
    def of(cls, conn: psycopg.Connection[Any], schema: str) -> Tables:
        """The tables of a schema."""
        rows = conn.execute(LOOK, {"schema": schema}).fetchall()
        names = frozenset(name for name, *_ in rows)
        tied: dict[str, set[str]] = {name: {name} for name in names}
        for child, parent in conn.execute(KEYS, {"schema": schema}):
            if child in tied and parent in tied:
                tied[child].add(parent)
                tied[parent].add(child)
        opaque = frozenset(name for name, hides in rows if hides)
        said = conn.execute("show default_transaction_isolation").fetchone()
        level = {"repeatable read": REPEATABLE_READ, "serializable": SERIALIZABLE}.get(said[0] if said else "", 2)
        return cls(names, {name: frozenset(all_) for name, all_ in tied.items()}, opaque, level)

    def statement(self, text: str) -> Footprint:
        """What a statement touches, by its text alone."""
        bare = NOISE.sub(" ", text).lower()
        words = {quoted or plain for quoted, plain in WORD.findall(bare)}
        touched = frozenset(words & self.names)
        verb = bare.split(maxsplit=1)[0] if bare.strip() else ""
        if (
            verb not in ("select", "insert", "update", "delete", "with")
            or touched & self.opaque
            or ";" in bare.rstrip().rstrip(";")
            or any(name not in HARMLESS and name not in self.names for name in CALL.findall(bare))
            or any(not self._known(name, bare) for name in SOURCE.findall(bare))
        ):
            return Footprint(everything=True)
        if verb == "select" and not LOCKS.search(bare):
            return Footprint(reads=touched)
        if verb == "with" and not CHANGES.search(bare) and not LOCKS.search(bare):
            return Footprint(reads=touched)
        return Footprint(reads=touched, writes=frozenset().union(*(self.tied[name] for name in touched)))

    def _known(self, name: str, bare: str) -> bool:
        """Whether a word where a table's name stands is one of ours, or a name the statement itself gives."""
        plain = name.strip('"')
        return plain in self.names or bool(
            plain in ("set", "nothing", "skip", "of", "nowait", "select", "lateral", "unnest")
            or re.search(rf"\b{re.escape(plain)}\s+as\s+(?:not\s+)?(?:materialized\s*)?\(", bare)
        )


LOOK = """
select c.relname, c.relkind in ('v', 'm', 'f') or c.relhasrules
    or exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
    or exists (select from pg_constraint d where d.conrelid = c.oid and d.condeferrable)
    or exists (select from pg_attrdef a join pg_depend p on p.objid = a.oid and p.classid = 'pg_attrdef'::regclass
               and p.refclassid = 'pg_proc'::regclass where a.adrelid = c.oid and p.refobjid >= 16384)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and c.relkind in ('r', 'p', 'v', 'm', 'f')"""

KEYS = """
select c.relname, f.relname from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_class f on f.oid = k.confrelid
join pg_namespace n on n.oid = c.relnamespace
where k.contype = 'f' and n.nspname = %(schema)s"""


@dataclass
class Standing:
    """What a session's open transaction has done so far."""

    level: int = READ_COMMITTED
    open: bool = False
    held: Names = NOTHING
    everything: bool = False
    strange: bool = False  # it has changed settings: nothing about it is sure any more

    def next(self, session: int, point: Point, tables: Tables, others: Iterable[Standing], part: Names) -> Footprint:
        """The footprint of the step from this point."""
        if point.kind == "part":
            return Footprint(session, writes=part, commits=part)
        level = self.level if self.open else (point.isolation or tables.isolation)
        strict = level == SERIALIZABLE
        if self.strange:
            return Footprint(session, everything=True)
        if point.kind == "begin":
            return Footprint(session, everything=point.text.upper() not in PLAIN_BEGIN)
        if point.kind in ("commit", "rollback"):
            return self.end(session, strict=strict and self.open)
        found = tables.statement(point.text)
        if found.everything:
            return replace(found, session=session)
        autocommit = not self.open and not point.implicit
        elsewhere = frozenset().union(*(o.held for o in others))
        return replace(
            found,
            session=session,
            commits=found.writes if autocommit else NOTHING,
            snapshot=level >= REPEATABLE_READ,
            wary=strict,
            everything=strict and autocommit and bool(found.writes),
            waits=bool(found.writes & elsewhere) or any(o.everything for o in others),
        )

    def end(self, session: int, *, strict: bool = False) -> Footprint:
        """The footprint of a commit, a rollback or a crash now."""
        return Footprint(session, commits=self.held, everything=self.everything or strict)

    def did(self, point: Point, step: Footprint, rows: int, tables: Tables, *, still_open: bool) -> None:
        """Take note of a step that was made."""
        self.strange |= step.everything and point.kind in ("sql", "begin") and not CHANGES.match(point.text.lower())
        if not still_open:
            self.open, self.held, self.everything = False, NOTHING, False
            return
        if not self.open:
            self.open, self.level = True, point.isolation or tables.isolation
        if rows != 0:  # an insert that skipped or an update that found no row holds nothing
            self.held |= step.writes
        self.everything |= step.everything
