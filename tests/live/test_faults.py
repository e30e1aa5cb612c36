"""Crash points do nothing until armed, and then kill for real."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading

import pytest

from simlib.live import faults

REACH = "from simlib.live.faults import armed; f = armed(); f.point('after-charge'); print('alive')"


@pytest.mark.parametrize("point", faults.POINTS)
def test_an_unarmed_process_passes_every_point(point: str) -> None:
    faults.armed({}).point(point)


@pytest.mark.parametrize(
    ("asked", "code"),
    [("", 0), ("after-charge", -signal.SIGKILL), ("after-charge:2", 0), ("before-commit", 0)],
)
def test_the_environment_arms_a_real_kill(asked: str, code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", REACH], env={faults.VARIABLE: asked}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == code
    assert ran.stdout == ("alive\n" if code == 0 else "")


def test_a_crash_as_an_exception_passes_every_handler_of_errors() -> None:
    def careless() -> None:
        with contextlib.suppress(Exception):
            faults.CrashAt("after-charge", how="raise").point("after-charge")

    with pytest.raises(faults.Crashed, match="the provider has charged"):
        careless()


def test_the_second_time_is_the_second_time() -> None:
    crash = faults.CrashAt("after-lease", nth=2, how="raise")
    crash.point("after-lease")
    crash.point("after-charge")
    with pytest.raises(faults.Crashed):
        crash.point("after-lease")
    crash.point("after-lease")


def test_a_slow_worker_stands_until_it_is_released() -> None:
    hold = faults.HoldAt("after-charge")
    worker = threading.Thread(target=hold.point, args=("after-charge",))
    worker.start()
    assert hold.reached.wait(5)
    assert worker.is_alive()
    hold.release()
    worker.join(5)
    assert not worker.is_alive()
    hold.point("after-charge")


@pytest.mark.parametrize("words", ["lunch", "after-charge:0", "after-charge:x", "after-charge:-1"])
def test_a_point_that_does_not_exist_is_told(words: str) -> None:
    with pytest.raises(ValueError, match=r"crash point|from 1 up"):
        faults.armed({faults.VARIABLE: words})
