"""The real side: `pay` against pgbench with the same statements, the middleware, the relay and the queue."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from simlib import live
from simlib.live import outbox, pg_queue
from simlib.live.consuming import consume
from simlib.live.idempotent import Idempotent
from simlib.live.one_transaction import CHARGE, CLAIM, SAVE
from simlib.live.pg.binaries import find
from simlib.live.pg.server import Postgres
from simlib.live.serving import serve

SHARE = 0.7  # of pgbench's rate, that one connection of `pay` should reach
ROUNDS = 7
SECONDS = 2.0  # a program is timed for, in every round
MESSAGES = 2_000
REQUESTS = 400
BODY = '{"charge_id":1,"amount_cents":5000,"currency":"eur"}'
VALUES = {
    "account_id": "1",
    "key": ":key",
    "fingerprint": f"'{'0' * 64}'",
    "amount_cents": "5000",
    "currency": "'eur'",
    "code": "201",
    "body": f"'{BODY}'",
}


def report() -> bool:
    """Print them; True when `pay` is fast enough beside pgbench."""
    with live.postgres() as db:
        good = _pay(db, clients=1)
        _pay(db, clients=8)
        _middleware(db)
        _queues(db)
    return good


def script() -> str:
    """The statements of a first `pay`, as pgbench reads them: one transaction, a key made up once."""
    statements = [_filled(statement) for statement in (CLAIM, CHARGE, SAVE)]
    return (
        "\n".join(["\\set key random(1, 9000000000000000000)", "begin;", *(f"{s};" for s in statements), "commit;"])
        + "\n"
    )


def _filled(statement: str) -> str:
    return re.sub(r"%\((\w+)\)s", lambda found: VALUES[found[1]], " ".join(statement.split()))


def _pay(db: Postgres, clients: int) -> bool:
    """Payments a second of so many connections, ours and pgbench's, in turn; both with fsync, READ COMMITTED."""
    seen = [(_ours(db, clients), _pgbench(db, clients)) for _ in range(ROUNDS)]
    share = median(ours / theirs for ours, theirs in seen)
    ours, theirs = (median(column) for column in zip(*seen, strict=True))
    asked = f" (at least {SHARE:g})" if clients == 1 else ""
    print(f"pay, {clients} connection(s): {ours:,.0f} a second, pgbench {theirs:,.0f}: {share:.2f} of it{asked}")
    return share >= SHARE or clients != 1


def _ours(db: Postgres, clients: int) -> float:
    made = [0] * clients

    def work(place: int, conn: psycopg.Connection) -> None:
        until = perf_counter() + SECONDS
        while perf_counter() < until:
            live.pay(conn, 1, str(uuid.uuid4()), 5000)
            made[place] += 1

    conns = [db.connect() for _ in range(clients)]
    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(conns)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for conn in conns:
        conn.close()
    return sum(made) / SECONDS


def _pgbench(db: Postgres, clients: int) -> float:
    where = conninfo_to_dict(db.dsn)
    env = {
        **os.environ,
        "PGHOST": str(where["host"]),
        "PGPORT": str(where["port"]),
        "PGUSER": str(where["user"]),
        "PGPASSWORD": str(where["password"]),
        "PGOPTIONS": str(where.get("options", "")),
    }
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "pay.sql"
        path.write_text(script())
        command = [_program(), "-n", "-M", "prepared", "-c", str(clients), "-T", f"{SECONDS:.0f}", "-f", str(path)]
        said = subprocess.run([*command, str(where["dbname"])], env=env, capture_output=True, text=True, check=True)
    found = re.search(r"tps = ([\d.]+)", said.stdout)
    assert found, said.stdout
    return float(found[1])


def _program() -> str:
    """pgbench of the server that runs here, or of the PATH."""
    own = find().program("pgbench")
    return str(own) if own.exists() else shutil.which("pgbench") or "pgbench"


async def _answer(request: Request) -> JSONResponse:
    return JSONResponse({"paid": True}, 201)


def _middleware(db: Postgres) -> None:
    """Milliseconds that the middleware adds to a request: two commits, with fsync."""
    routes = [Route("/pay", _answer, methods=["POST"])]
    kept = Starlette(routes=routes, middleware=[Middleware(Idempotent, dsn=db.dsn)])
    with serve(Starlette(routes=routes)) as bare, serve(kept) as ours:
        took = [(_request(bare.url), _request(ours.url)) for _ in range(ROUNDS)]
    plain, with_key = (median(column) * 1000 for column in zip(*took, strict=True))
    print(f"middleware: {with_key:.2f} ms a request, the bare route {plain:.2f} ms: {with_key - plain:.2f} ms for it")


def _request(url: str) -> float:
    """Seconds a request takes, on one connection."""
    with httpx.Client(headers={"Authorization": "Bearer token-of-account-1"}) as client:
        began = perf_counter()
        for _ in range(REQUESTS):
            client.post(f"{url}/pay", json={"n": 1}, headers={"Idempotency-Key": str(uuid.uuid4())}).raise_for_status()
        return (perf_counter() - began) / REQUESTS


def _queues(db: Postgres) -> None:
    with db.connect() as conn, db.connect() as broker:
        conn.execute("insert into wallets (id) values (1)")

        def publish(event: outbox.Event) -> None:
            pg_queue.publish(broker, event.topic, event.event_id, event.payload)

        with conn.transaction():
            for _ in range(MESSAGES):
                outbox.add(conn, "top-ups", {"wallet": 1, "cents": 1})
        relayed = _rate(partial(outbox.relay, conn, publish))
        handled = _rate(partial(consume, conn, partial(pg_queue.take, conn, "top-ups"), partial(pg_queue.ack, conn)))
        applied = conn.execute("select balance_cents from wallets").fetchone()
        assert applied == (MESSAGES,)
    print(f"relay, from outbox to queue: {relayed:,.0f} a second, each committed to the queue with fsync")
    print(f"queue and inbox: {handled:,.0f} a second on one connection: take, handle, ack; 3 commits")


def _rate(work: Callable[[], int]) -> float:
    began = perf_counter()
    done = work()
    assert done == MESSAGES, done
    return done / (perf_counter() - began)
