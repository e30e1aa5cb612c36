"""`simlib classroom` from outside: everybody has a JupyterLab and a role, and after Ctrl-C there is nothing."""

from __future__ import annotations

import csv
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from psycopg.conninfo import conninfo_to_dict

from simlib.cli import main


@contextmanager
def a_class(folder: Path, home: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A running class and its addresses by name."""
    process = subprocess.Popen(
        [sys.executable, "-m", "simlib.cli", "classroom", "--folder", str(folder), *words],
        env={**os.environ, "HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    addresses: dict[str, str] = {}
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.match(r"(\S+): (http://\S+)", line):
                addresses[found[1]] = found[2]
            if line.startswith("Ready"):
                break
        yield process, addresses
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def free_ports(count: int) -> int:
    """The first of some free ports in a row."""
    for first in range(21_000, 60_000, 100):
        probes = [socket.socket() for _ in range(count)]
        try:
            for port, probe in enumerate(probes, first):
                probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for probe in probes:
                probe.close()
    raise AssertionError("no free ports")


def test_everybody_has_a_lab_and_a_role_of_their_own_and_nothing_stays(tmp_path: Path) -> None:
    room, names = tmp_path / "room", tmp_path / "names"
    names.write_text("ada\nbob\n")
    with a_class(room, tmp_path, "--names", str(names), "--port", str(free_ports(2))) as (process, addresses):
        assert list(addresses) == ["ada", "bob"]
        for address in addresses.values():
            with urllib.request.urlopen(address, timeout=20) as answer:
                assert answer.status == 200
        assert (room / "addresses.csv").stat().st_mode & 0o077 == 0
        with (room / "addresses.csv").open(newline="") as table:
            assert dict(csv.reader(table)) == {"learner": "address", **addresses}
        everyone = psutil.Process(process.pid).children(recursive=True)
        users = {
            conninfo_to_dict(child.environ()["SIMLIB_DSN"])["user"]
            for child in everyone
            if "jupyterlab" in child.cmdline()
        }
        assert users == {"simlib_learner_ada", "simlib_learner_bob"}
        assert (room / "ada" / "00_start_here.ipynb").exists()
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert (process.returncode, printed) == (0, "Stopped.\n")
    _, alive = psutil.wait_procs(everyone, timeout=10)
    assert alive == []
    assert not (room / "addresses.csv").exists()


def test_a_learners_work_is_still_there_in_the_next_hour(tmp_path: Path) -> None:
    room = tmp_path / "room"
    (room / "01").mkdir(parents=True)
    (room / "01" / "00_start_here.ipynb").write_text("mine")
    with a_class(room, tmp_path, "--learners", "1", "--port", str(free_ports(1))):
        assert (room / "01" / "00_start_here.ipynb").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ada\nada\n", "names 'ada' twice"),
        ("", "has 0 names"),
        ("../x\n", "'../x' in"),
        ("Ada\n", "'Ada' in"),
    ],
)
def test_a_list_of_names_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    (tmp_path / "names").write_text(text)
    assert main(["classroom", "--names", str(tmp_path / "names")]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_a_port_in_the_row_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = free_ports(3)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first + 2))
        taken.listen()
        assert main(["classroom", "--learners", "3", "--port", str(first), "--folder", str(tmp_path / "room")]) == 2
    assert f"port {first + 2} is taken" in capsys.readouterr().err
    assert not (tmp_path / "room").exists()


@pytest.mark.parametrize("words", [["--learners", "0"], ["--learners", "many"], ["--learners", "201"]])
def test_a_number_of_learners_that_cannot_be(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["classroom", *words])
    assert end.value.code == 2
    assert "it takes 1 to 200" in capsys.readouterr().err
