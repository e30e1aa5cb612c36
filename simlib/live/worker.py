"""A server in a process of its own, so that it can be killed: the real SIGKILL of the lessons on crashes.

The child holds the reading end of a pipe; when its parent goes, however it goes, the pipe ends and the child with it.
Run as `python -m simlib.live.worker`, it reads its order as one JSON line and answers with one.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import weakref
from typing import Any

from simlib.live import faults
from simlib.live.serving import LOOPBACK, App, NotStarted, serve


class Worker:
    """A worker process: `url`, `pid`, `kill()` (SIGKILL), `stop()`, `again()` for a new one at the same address."""

    def __init__(self, factory: str, args: tuple[Any, ...], port: int, crash_at: str | None) -> None:
        self._order = (factory, args)
        environment = {name: value for name, value in os.environ.items() if name != faults.VARIABLE}
        if crash_at is not None:
            environment[faults.VARIABLE] = crash_at
        self._process = subprocess.Popen(
            [sys.executable, "-m", "simlib.live.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C in the notebook is not for it
            text=True,
        )
        self.stop = weakref.finalize(self, _end, self._process)
        order = {"factory": factory, "args": args, "port": port}
        answer = _told(self._process, order)
        if "error" in answer:
            self.stop()
            raise NotStarted(answer["error"])
        self.port: int = answer["port"]
        self.url = f"http://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, timeout: float = 30.0) -> int:
        """Wait until the process has died of itself (a crash point); its exit code, -9 after SIGKILL."""
        return self._process.wait(timeout)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def again(self, crash_at: str | None = None) -> Worker:
        """A new process at the same address, once this one is gone."""
        self.stop()
        return Worker(*self._order, port=self.port, crash_at=crash_at)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "running" if self._process.poll() is None else f"ended with {self._process.returncode}"
        return f"<worker at {self.url}, {state}>"


def spawn(factory: str, *args: Any, port: int = 0, crash_at: str | None = None) -> Worker:
    """Start `factory(*args)` as a server in its own process and return once it answers.

    `factory` is a dotted name (`simlib.live.http_app:app`) that gives an ASGI app; `args` must be JSON. `crash_at` is a
    crash point of `faults.POINTS`, `after-charge` or `after-charge:2`. Raises `NotStarted` with one sentence.
    """
    return Worker(factory, args, port, crash_at)


def load(factory: str) -> Any:
    """What a dotted name like `package.module:name` stands for; `NotStarted` says what is wrong with it."""
    module, _, name = factory.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise NotStarted(f"{factory!r} names nothing to serve ({error}); write it as package.module:name.") from None


def _told(process: subprocess.Popen[str], order: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    return json.loads(line) if line else {"error": f"The worker died at its start with {process.wait()}."}


def _end(process: subprocess.Popen[str]) -> None:
    """Let the worker finish what it has in hand, and kill it if that takes too long."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(8)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    """Serve what the order on stdin names, until stdin ends."""
    order = json.loads(sys.stdin.readline())
    try:
        app: App = load(order["factory"])(*order["args"])
        server = serve(app, port=order["port"])
    except Exception as error:
        print(json.dumps({"error": str(error) or repr(error)}), flush=True)
        return
    print(json.dumps({"port": server.port}), flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
