"""A RabbitMQ of the tests' own: a node on free ports in a folder of its own, gone without a trace at the end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simlib.live import rabbit

SERVER = shutil.which("rabbitmq-server", path="/usr/lib/rabbitmq/bin") or shutil.which("rabbitmq-server")
STARTS_WITHIN = 120.0  # s


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def rabbitmq() -> Iterator[str]:
    """Start a node; gives its URL."""
    assert SERVER, "install rabbitmq-server"
    base = Path(tempfile.mkdtemp(prefix="simlib-rabbitmq-"))
    port, dist, epmd = free_ports(3)
    plugins = base / "enabled_plugins"
    plugins.write_text("[].")
    env = {
        **os.environ,
        "HOME": str(base),
        "RABBITMQ_NODENAME": f"simlib{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(dist),
        "ERL_EPMD_PORT": str(epmd),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_BASE": str(base),
        "RABBITMQ_CONF_ENV_FILE": str(base / "none.conf"),
        "RABBITMQ_CONFIG_FILE": str(base / "rabbitmq"),
        "RABBITMQ_MNESIA_BASE": str(base / "data"),
        "RABBITMQ_LOG_BASE": str(base / "log"),
        "RABBITMQ_PID_FILE": str(base / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
    }
    log = (base / "said").open("w")
    process = subprocess.Popen([SERVER], env=env, stdout=log, stderr=log, start_new_session=True)
    url = f"amqp://guest:guest@127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not _answers(url):
            assert process.poll() is None, (base / "said").read_text()
            assert time.monotonic() < deadline, (base / "said").read_text()
            time.sleep(0.2)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
        subprocess.run(["epmd", "-port", str(epmd), "-kill"], env=env, capture_output=True)
        log.close()
        shutil.rmtree(base)


def _answers(url: str) -> bool:
    try:
        with rabbit.channel(url):
            return True
    except rabbit.BrokerError:
        return False
