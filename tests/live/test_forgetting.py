"""Forgetting keys: dropping a day writes next to nothing and leaves nothing, deleting does neither."""

from __future__ import annotations

from typing import Any

from simlib.live.forgetting import cost


def test_dropping_is_cheaper_by_the_log_and_leaves_nothing(db: Any) -> None:
    with db.connect() as conn:
        table = cost(conn, 5_000)
        rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table}
        assert rows["drop the day"]["bytes_left"] == 0
        assert rows["delete rows"]["bytes_left"] > 5_000 * 600, "deleted rows stay on disk until they are cleaned up"
        assert rows["delete rows"]["log_bytes"] > 5 * rows["drop the day"]["log_bytes"]
        left = conn.execute("select count(*) from pg_inherits where inhparent = 'daily_keys'::regclass").fetchone()
        assert left == (0,), "it tidies up"
