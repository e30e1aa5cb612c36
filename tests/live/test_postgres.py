"""`postgres()`: a schema of one's own on a server that is simply there, and nothing of it afterwards."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simlib import live
from simlib.live.pg import binaries, schemas
from simlib.live.pg.server import Postgres
from simlib.trace import INVARIANTS
from tests.live.conftest import until

TABLES = {
    "daily_keys",
    "idempotency_keys",
    "orders",
    "charges",
    "payment_keys",
    "outbox",
    "processed_messages",
    "wallets",
    "topups",
    "products",
    "http_answers",
    "provider_calls",
    "queue_messages",
}


@pytest.fixture
def look(server: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """A connection of somebody else's, to see what is there."""
    with server.connect() as conn:
        yield conn


def schemas_on(conn: psycopg.Connection[Any]) -> set[str]:
    return {name for (name,) in conn.execute("select nspname from pg_namespace")}


def tables_in(conn: psycopg.Connection[Any]) -> set[str]:
    found = conn.execute("select tablename from pg_tables where schemaname = current_schema()")
    return {name for (name,) in found}


def test_a_connection_has_the_lessons_tables_and_commits_by_itself(db: Postgres) -> None:
    with db.connect() as conn:
        assert tables_in(conn) == TABLES
        assert conn.autocommit
        assert conn.execute("show transaction_isolation").fetchone() == ("read committed",)


def test_a_connection_takes_psycopgs_own_arguments(db: Postgres) -> None:
    with db.connect(autocommit=False, row_factory=psycopg.rows.dict_row) as conn:
        assert conn.execute("select 1 as one").fetchone() == {"one": 1}
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS


def test_any_program_can_use_the_dsn(db: Postgres) -> None:
    """psql and plain psycopg land in the same schema."""
    with psycopg.connect(db.dsn) as conn:
        assert tables_in(conn) == TABLES
    psql = binaries.find().program("psql")
    told = subprocess.run([psql, db.dsn, "-Atc", "select current_schema()"], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == db.schema


@pytest.mark.parametrize("name", INVARIANTS)
def test_the_invariants_run_on_these_tables_as_they_are(db: Postgres, name: str) -> None:
    """One SQL text serves DuckDB over a trace and PostgreSQL over the tables, and it can say no."""
    rows = {
        "at most one charge per key": "(account_id, key, amount_cents) values (1, 'k', 1), (1, 'k', 1)",
        "at most one charge per intent": "(account_id, intent, amount_cents) values (1, 7, 1), (1, 7, 1)",
        "every charge has its key": "(account_id, amount_cents) values (1, 1)",
    }
    with db.connect() as conn:
        assert conn.execute(INVARIANTS[name].encode()).fetchone() == (True,)
        conn.execute(f"insert into charges {rows[name]}".encode())
        assert conn.execute(INVARIANTS[name].encode()).fetchone() == (False,)


def test_every_column_beyond_the_lessons_may_be_left_out(db: Postgres) -> None:
    with db.connect() as conn:
        conn.execute("insert into idempotency_keys (account_id, key, request_hash) values (1, 'k', 'h')")
        conn.execute("insert into payment_keys (account_id, key, request_hash) values (1, 'k', 'h')")
        conn.execute("insert into charges (account_id, amount_cents) values (1, 500)")
        conn.execute("insert into outbox (topic, payload) values ('receipt', '{}')")
        conn.execute("insert into processed_messages (consumer, message_id) values ('wallet', 'evt-1')")
        conn.execute("insert into wallets (id) values (1)")
        conn.execute("insert into topups (id, wallet_id, cents) values ('t', 1, 5)")
        conn.execute("insert into products (id, price_cents, version) values (1, 5, 4)")


def test_two_notebooks_do_not_see_each_others_rows(db: Postgres) -> None:
    with live.postgres() as other, db.connect() as mine, other.connect() as theirs:
        mine.execute("insert into wallets (id) values (1)")
        assert theirs.execute("select count(*) from wallets").fetchone() == (0,)


def test_the_schema_goes_with_the_block(look: psycopg.Connection[Any]) -> None:
    with live.postgres() as db:
        assert db.schema in schemas_on(look)
    assert db.schema not in schemas_on(look)


def test_the_schema_goes_when_the_block_fails(look: psycopg.Connection[Any]) -> None:
    with pytest.raises(ZeroDivisionError), live.postgres() as db:
        _ = 1 / 0
    assert db.schema not in schemas_on(look)


def test_a_cell_starts_it_in_one_line_and_may_run_again(look: psycopg.Connection[Any]) -> None:
    db = live.postgres().start()
    name = db.schema
    assert db.start().schema == name
    db.stop()
    db.stop()
    assert name not in schemas_on(look)
    assert db.start().schema != name  # and after a stop it starts afresh
    db.stop()


def test_one_that_is_forgotten_is_tidied_up(look: psycopg.Connection[Any]) -> None:
    """A cell that is run again binds its name to a new one; the old one's schema is not left until the kernel ends."""
    db = live.postgres().start()
    name = db.schema
    del db
    gc.collect()
    until(lambda: name not in schemas_on(look))


def test_a_forked_child_does_not_take_the_schema_along(db: Postgres) -> None:
    code = "import os, sys; from simlib import live; db = live.postgres().start(); pid = os.fork()\n"
    code += "if pid == 0: sys.exit(0)\n"
    code += "os.waitpid(pid, 0); db.connect().execute('select count(*) from charges'); print('still here')"
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("still here", 0), done.stderr


@pytest.mark.parametrize("prepared", [False, True], ids=["open", "prepared"])
def test_a_transaction_left_open_does_not_hold_up_the_end(look: psycopg.Connection[Any], prepared: bool) -> None:
    """A prepared transaction keeps its locks when its client is gone: for ever, unless somebody ends it."""
    with live.postgres() as db:
        conn = psycopg.connect(db.dsn)
        conn.tpc_begin(conn.xid(1, db.schema, "branch"))
        conn.execute("insert into wallets (id) values (1)")
        if prepared:
            conn.tpc_prepare()
    assert db.schema not in schemas_on(look)
    assert look.execute("select count(*) from pg_prepared_xacts").fetchone() == (0,)


def test_connecting_before_the_start_or_after_the_stop_says_so(server: Postgres) -> None:
    db = live.postgres()
    with pytest.raises(live.PostgresError, match=r"call start\(\) first\.$"):
        db.connect()
    db.start().stop()
    with pytest.raises(live.PostgresError, match=r"call start\(\) first\.$"):
        db.connect()


def test_the_password_is_not_shown(db: Postgres) -> None:
    password = str(conninfo_to_dict(db.dsn)["password"])
    assert len(password) > 20
    with db.connect() as conn:
        for shown in (repr(db), str(db), repr(conn), conn.info.dsn):
            assert password not in shown


@pytest.mark.parametrize(
    ("name", "value"), [("PGHOSTADDR", "192.0.2.1"), ("PGPORT", "1"), ("PGUSER", "nobody"), ("PGOPTIONS", "-c bad=1")]
)
def test_settings_meant_for_another_server_do_not_lead_astray(
    db: Postgres, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with db.connect() as conn:
        assert tables_in(conn) == TABLES


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_after_a_restart_what_was_committed_is_there(db: Postgres, mode: str) -> None:
    conn = db.connect()
    conn.execute("insert into wallets (id) values (1)")
    db.restart(mode)
    with pytest.raises(psycopg.OperationalError):
        conn.execute("select 1")
    with db.connect() as again:
        assert again.execute("select count(*) from wallets").fetchone() == (1,)


def test_after_somebody_elses_restart_the_schema_is_still_ours(db: Postgres) -> None:
    """The mark that a schema is in use is renewed, so that no sweep takes it."""
    with live.postgres() as other:
        other.restart("immediate")
    with db.connect(application_name="somebody") as conn:
        assert held(conn, db.schema)


def test_a_server_that_crashes_is_started_again(db: Postgres) -> None:
    with db.connect() as conn:
        conn.execute("insert into wallets (id) values (1)")
        psutil.Process(conn.info.backend_pid).parent().kill()

    def back() -> bool:
        try:
            with psycopg.connect(db.dsn) as conn:
                return conn.execute("select count(*) from wallets").fetchone() == (1,)
        except psycopg.OperationalError:
            return False

    until(back)


def held(conn: psycopg.Connection[Any], schema: str) -> bool:
    """Whether somebody holds the mark of this schema."""
    return conn.execute("select pg_try_advisory_lock(hashtext(%s))", [schema]).fetchone() == (False,)


@pytest.fixture
def theirs(server: Postgres) -> str:
    """A DSN as a team might give one: to a server that simlib did not start."""
    parts = {k: v for k, v in conninfo_to_dict(server.dsn).items() if k not in ("options", "application_name")}
    return make_conninfo("", **parts)


def test_a_dsn_of_ones_own_comes_first(
    theirs: str, look: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMLIB_DSN", theirs)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # no server of our own could be started
    with live.postgres() as db, db.connect() as conn:
        assert tables_in(conn) == TABLES
        with pytest.raises(live.PostgresError, match=r"^Only a server that simlib started can be restarted"):
            db.restart()
    assert db.schema not in schemas_on(look)


def test_its_other_options_are_kept(theirs: str) -> None:
    with live.postgres(make_conninfo(theirs, options="-c statement_timeout=7s")) as db, db.connect() as conn:
        assert conn.execute("show statement_timeout").fetchone() == ("7s",)
        assert tables_in(conn) == TABLES


def test_schemas_of_dead_kernels_are_swept(theirs: str, look: psycopg.Connection[Any]) -> None:
    """On a server that is not ours nobody else removes them. What is held, in use, new or not ours stays."""
    abandoned, kept = "simlib_1000_1_dead", "simlib_1000_1_held"
    used, new, foreign = "simlib_1000_1_used", schemas.new_name(), "simlibrary"
    for name in (abandoned, kept, used, new, foreign):
        look.execute(f"create schema {name}".encode())
    with psycopg.connect(theirs, autocommit=True) as holder, psycopg.connect(theirs, application_name=used):
        schemas.hold(holder, kept)
        with live.postgres(theirs):
            assert schemas_on(look) & {abandoned, kept, used, new, foreign} == {kept, used, new, foreign}
    for name in (kept, used, new, foreign):
        schemas.drop(look, name)


def test_it_is_there_in_one_line_as_the_notebooks_say() -> None:
    import simlib as sl

    assert sl.live.postgres is live.postgres


def test_the_sql_travels_with_the_package() -> None:
    assert (Path(live.__file__).parent / "sql" / "schema.sql").is_file()
