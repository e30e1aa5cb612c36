"""What to watch of a keyed API, in Prometheus' text: counted as answers go out, or read from the tables when asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST

TABLES: dict[str, tuple[str, str]] = {
    "simlib_oldest_unfinished_key_seconds": (
        "age of the oldest key whose request is not finished",
        """select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8
        from payment_keys where recovery_point <> 'done'""",
    ),
    "simlib_unfinished_keys": (
        "keys whose request is not finished",
        "select count(*)::float8 from payment_keys where recovery_point <> 'done'",
    ),
    "simlib_outbox_lag_seconds": (
        "age of the oldest message that is still to be sent",
        """select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8
        from outbox where published_at is null""",
    ),
    "simlib_key_rows": (
        "rows of the key tables, as the planner estimates them",
        """select coalesce(sum(greatest(reltuples, 0)), 0)::float8 from pg_class
        where oid in ('idempotency_keys'::regclass, 'payment_keys'::regclass)""",
    ),
    "simlib_key_bytes": (
        "bytes of the key tables with their indexes",
        """select (pg_total_relation_size('idempotency_keys') + pg_total_relation_size('payment_keys'))::float8""",
    ),
    "simlib_keys_charged_more_than_once": (
        "keys with more than one charge; must be 0",
        """select count(*)::float8 from (select 1 from charges where key is not null
        group by account_id, key having count(*) > 1) as twice""",
    ),
}
"""Name of each figure that is read from the tables: what it says, and the query."""


class Metrics:
    """The counters of one app."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.claims = self._counter("simlib_claims", "keys that were new and were worked on")
        self.replays = self._counter("simlib_replays", "saved answers served again")
        self.conflicts = self._counter("simlib_conflicts", "409: a duplicate while its key was running")
        self.mismatches = self._counter("simlib_mismatches", "422: a key that came with another request")
        self.refusals = self._counter("simlib_refusals", "requests turned away before their key was looked at")
        self.retries = self._counter("simlib_retries", "requests whose sender says that they are not its first try")
        self.requests = self._counter("simlib_requests", "requests to keyed routes")
        self.declines = self._counter("simlib_declines", "402: payments the provider declined")
        self.errors = self._counter("simlib_errors", "5xx: requests without a final answer")

    def count(self, status: int, *, replayed: bool) -> None:
        """Note the answer to a keyed request."""
        self.requests.inc()
        if replayed:
            self.replays.inc()
        elif status in (201, 402):
            self.claims.inc()
        if status == 402 and not replayed:
            self.declines.inc()
        for code, counter in ((409, self.conflicts), (422, self.mismatches)):
            if status == code:
                counter.inc()
        if status in (400, 401, 408, 413):
            self.refusals.inc()
        if status >= 500:
            self.errors.inc()

    async def text(self, conn: psycopg.AsyncConnection[Any]) -> bytes:
        """All of it, as Prometheus reads it."""
        figures = {name: await _figure(conn, query) for name, (_, query) in TABLES.items()}
        registry = CollectorRegistry()
        registry.register(_Figures(figures))
        return generate_latest(self._registry) + generate_latest(registry)

    def _counter(self, name: str, help: str) -> Counter:
        return Counter(name, help, registry=self._registry)


class _Figures:
    """What was read from the tables, as a collector."""

    def __init__(self, figures: dict[str, float]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, value in self._figures.items():
            yield GaugeMetricFamily(name, TABLES[name][0], value)


async def _figure(conn: psycopg.AsyncConnection[Any], query: str) -> float:
    row = await (await conn.execute(query.encode())).fetchone()
    return float(row[0]) if row else 0.0
