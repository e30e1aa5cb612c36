"""A class on one server: nobody reads another's rows, nobody's runaway stops the others, nothing stays."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib import live
from simlib.live import classroom
from simlib.live.classroom import PREFIX, Limits
from simlib.live.pg.errors import PostgresError
from simlib.live.pg.server import Postgres
from tests.live.conftest import until

NAMES = ("ada", "bob")


@pytest.fixture
def room(server: Postgres) -> Iterator[dict[str, str]]:
    with classroom.open_class(server.dsn, NAMES) as enrolled:
        yield enrolled


@pytest.fixture
def teacher(server: Postgres) -> Iterator[psycopg.Connection[Any]]:
    with server.connect() as conn:
        yield conn


def one(conn: psycopg.Connection[Any], query: str) -> Any:
    row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def test_a_learner_has_the_lessons_tables_and_the_claim_works(room: dict[str, str]) -> None:
    with live.postgres(room["ada"]) as db, db.connect() as conn:
        assert one(conn, "select current_user") == f"{PREFIX}ada"
        assert [live.pay(conn, 1, "k", 5000).code for _ in range(2)] == [201, 201]
        assert one(conn, "select count(*) from charges") == 1
        crowd = live.at_once(db, lambda c: live.pay(c, 1, "many", 5000))
        assert [a.code for a in crowd.answers] == [201] * 5


@pytest.mark.parametrize(
    "attempt",
    [
        "select * from {theirs}.charges",
        "insert into {theirs}.charges (account_id, amount_cents) values (1, 1)",
        "drop schema {theirs} cascade",
        "drop table {theirs}.charges",
        "create table {theirs}.mine (i int)",
        "set role simlib_learner_ada",
        "alter role simlib_learner_ada password 'x'",
        "create role more",
        "create database more",
        "create table public.mine (i int)",
        "copy (select 1) to program 'true'",
        "select pg_read_file('postgresql.conf')",
        "alter system set work_mem = '1GB'",
    ],
)
def test_another_learner_is_refused(room: dict[str, str], attempt: str) -> None:
    with live.postgres(room["ada"]) as hers, live.postgres(room["bob"]) as his, his.connect() as conn:
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName)):
            conn.execute(attempt.format(theirs=hers.schema).encode())
        with hers.connect() as own:
            assert one(own, "select count(*) from charges") == 0


def test_nobody_sees_what_another_runs(room: dict[str, str]) -> None:
    with live.postgres(room["ada"]) as hers, hers.connect(), live.postgres(room["bob"]) as his, his.connect() as conn:
        seen = conn.execute("select query from pg_stat_activity where usename = %s", [f"{PREFIX}ada"]).fetchall()
        assert {text for (text,) in seen} == {"<insufficient privilege>"}


def test_nobody_can_end_anothers_session(room: dict[str, str]) -> None:
    with (
        live.postgres(room["ada"]) as hers,
        hers.connect() as victim,
        live.postgres(room["bob"]) as his,
        his.connect() as conn,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        conn.execute("select pg_terminate_backend(%s)", [victim.info.backend_pid])


def test_an_endless_statement_is_cancelled_though_its_limit_was_lifted(
    room: dict[str, str], teacher: psycopg.Connection[Any]
) -> None:
    """A learner may set `statement_timeout` to 0; the one who keeps the class cancels it all the same."""
    limits = Limits(statement=1)
    with live.postgres(room["ada"]) as db, db.connect() as conn, ThreadPoolExecutor(1) as pool:
        conn.execute("set statement_timeout = 0")
        endless = pool.submit(conn.execute, "select count(*) from (select generate_series(1, 1000000000000)) as t")
        said: list[str] = []
        until(lambda: said.extend(classroom.keep_order(teacher, limits)) or said)
        assert isinstance(endless.exception(), psycopg.errors.QueryCanceled)
        assert "ada: a statement was cancelled" in said[0]
        assert one(conn, "select 1") == 1, "the session itself lives on"


def test_an_endless_insert_is_cancelled_and_its_rows_go(room: dict[str, str], teacher: psycopg.Connection[Any]) -> None:
    limits = Limits(megabytes=5)
    with live.postgres(room["ada"]) as db, db.connect() as conn, ThreadPoolExecutor(1) as pool:
        endless = pool.submit(
            conn.execute, "insert into charges (account_id, amount_cents) select 1, generate_series(1, 1000000000)"
        )
        said: list[str] = []
        until(lambda: said.extend(classroom.keep_order(teacher, limits)) or said)
        assert isinstance(endless.exception(), psycopg.errors.QueryCanceled)
        assert "ada" in said[0]
        until(lambda: classroom.keep_order(teacher, limits) == [])
        assert one(conn, "select pg_total_relation_size('charges')") < 1_000_000


def test_rows_that_were_committed_bit_by_bit_go_too(room: dict[str, str], teacher: psycopg.Connection[Any]) -> None:
    with live.postgres(room["ada"]) as db, db.connect() as conn:
        conn.execute("insert into charges (account_id, amount_cents) select 1, 1 from generate_series(1, 50_000)")
        assert "ada: " in classroom.keep_order(teacher, Limits(megabytes=2))[0]
        assert one(conn, "select count(*) from charges") == 0
        assert classroom.keep_order(teacher, Limits(megabytes=2)) == []


def test_a_forgotten_transaction_is_ended(room: dict[str, str], teacher: psycopg.Connection[Any]) -> None:
    with live.postgres(room["ada"]) as db, db.connect(autocommit=False) as conn:
        conn.execute("lock table charges")
        until(lambda: any("kept a transaction open" in s for s in classroom.keep_order(teacher, Limits(idle=0))))
        with pytest.raises(psycopg.OperationalError):
            conn.execute("select 1")


def test_no_more_connections_than_agreed(server: Postgres) -> None:
    with (
        classroom.open_class(server.dsn, ["ada"], Limits(connections=2)) as enrolled,
        psycopg.connect(enrolled["ada"]),
        psycopg.connect(enrolled["ada"]),
        pytest.raises(psycopg.OperationalError, match="too many connections for role"),
    ):
        psycopg.connect(enrolled["ada"])


def test_the_other_learners_are_left_alone(room: dict[str, str], teacher: psycopg.Connection[Any]) -> None:
    with live.postgres(room["bob"]) as db, db.connect() as conn:
        live.pay(conn, 1, "k", 5000)
        assert classroom.keep_order(teacher) == []
        assert one(conn, "select count(*) from charges") == 1


def test_after_the_class_there_is_no_role_and_no_schema(server: Postgres, teacher: psycopg.Connection[Any]) -> None:
    with classroom.open_class(server.dsn, NAMES) as enrolled:
        left = live.postgres(enrolled["ada"]).start()
        schema = left.schema
    found = teacher.execute("select from pg_roles where starts_with(rolname, %s)", [PREFIX]).rowcount
    assert found == 0
    assert teacher.execute("select from pg_namespace where nspname = %s", [schema]).rowcount == 0
    left.stop()


def test_a_class_that_was_cut_short_is_cleared_by_the_next(server: Postgres, teacher: psycopg.Connection[Any]) -> None:
    teacher.execute("create role simlib_learner_old login")
    with classroom.open_class(server.dsn, ["ada"]):
        roles = teacher.execute("select rolname from pg_roles where starts_with(rolname, %s)", [PREFIX]).fetchall()
        assert roles == [(f"{PREFIX}ada",)]


def test_one_server_holds_one_class(room: dict[str, str], server: Postgres) -> None:
    with pytest.raises(PostgresError, match="has a class already"), classroom.open_class(server.dsn, ["eve"]):
        pass


def test_a_role_that_may_not_hold_a_class_is_told_so(server: Postgres, teacher: psycopg.Connection[Any]) -> None:
    teacher.execute("create role simlib_small login password 'small'")
    try:
        parts: dict[str, Any] = dict(conninfo_to_dict(server.dsn), user="simlib_small", password="small")
        small = make_conninfo(**parts)
        with pytest.raises(PostgresError, match="may not hold a class"), classroom.open_class(small, ["eve"]):
            pass
    finally:
        teacher.execute("drop role simlib_small")
