"""Traces as Arrow tables, as Parquet files and under DuckDB's SQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simlib.table import Table

COLUMNS = ("time", "actor", "event", "request", "key", "attempt", "peer", "status", "value")
NAMES = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    {
        "time": pa.float64(),
        "actor": NAMES,
        "event": NAMES,
        "request": pa.int64(),
        "key": NAMES,
        "attempt": pa.int16(),
        "peer": NAMES,
        "status": NAMES,
        "value": pa.float64(),
    }
)

_CHARGES = """
create or replace temp view charges as
select request as intent, 1 as account_id, key, value as amount_cents, time from events where event = 'effect'
"""

_lock = threading.Lock()
_shared: duckdb.DuckDBPyConnection | None = None


def events(
    columns: Mapping[str, np.ndarray], kinds: Sequence[tuple[str, str, str, str]], key_name: Callable[[int], str | None]
) -> pa.Table:
    """The raw columns of a trace (`kind` numbers an actor, event, peer and status) as its Arrow table."""
    kind, request, value = columns["kind"], columns["request"], columns["value"]
    codes, places = np.unique(columns["key"], return_inverse=True)
    actor, event, peer, status = zip(*kinds, strict=True) if kinds else ((), (), (), ())
    fields = {
        "time": pa.array(columns["time"]),
        "actor": _named(actor, kind),
        "event": _named(event, kind),
        "request": pa.array(request, mask=request < 0),
        "key": _named([key_name(int(code)) for code in codes], places),
        "attempt": pa.array(columns["attempt"]),
        "peer": _named([name or None for name in peer], kind),
        "status": _named([name or None for name in status], kind),
        "value": pa.array(value, mask=np.isnan(value)),
    }
    return pa.table([fields[name] for name in COLUMNS], schema=SCHEMA)


def rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The rows of a trace's Arrow table, their values in the order of `COLUMNS`."""
    return zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True)


def write(table: pa.Table, path: str | Path) -> None:
    """Write an Arrow table as Parquet, zstd-compressed."""
    pq.write_table(table, path, compression="zstd")


def read(path: str | Path) -> pa.Table:
    """The Arrow table in a Parquet file."""
    return pq.read_table(path)


def query(text: str, *, tables: Mapping[str, pa.Table], parquet: Mapping[str, str] | None = None) -> Table:
    """Run SQL (DuckDB's dialect) over Arrow tables and Parquet files (a path, or a pattern of paths), each by name."""
    with _lock:
        con = _connection()
        for name, table in tables.items():
            con.register(name, table)
        for name, path in (parquet or {}).items():
            con.unregister(name)
            con.read_parquet(path).create_view(name, replace=True)
        result = con.execute(text)
        names = tuple(d[0] for d in result.description or ())
        return Table(names, tuple(result.fetchall()) if names else ())


def _connection() -> duckdb.DuckDBPyConnection:
    """The one DuckDB connection of this process (opening another costs 14 ms)."""
    global _shared
    if _shared is None:
        _shared = duckdb.connect()
        _shared.register("events", SCHEMA.empty_table())
        _shared.execute(_CHARGES)
    return _shared


def _named(names: Sequence[str | None], codes: np.ndarray) -> pa.Array:
    """A dictionary-encoded text column: the code of each row says which name it has; None is null."""
    seen: dict[str, int] = {}
    number = [-1 if n is None else seen.setdefault(n, len(seen)) for n in names]
    indices = np.array(number or [-1], dtype=np.int32)[codes]
    words = pa.array(list(seen), type=pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(indices, type=pa.int32(), mask=indices < 0), words)
