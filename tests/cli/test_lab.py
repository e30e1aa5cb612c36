"""`simlib lab` from outside: it answers where it says, to whom it should, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import psutil
import pytest

from simlib.cli import lab as cli_lab
from simlib.cli import main
from simlib.cli.jupyter import serving
from tests.lab import Lab, commands, lab


def get(address: str, token: str | None = None) -> bytes:
    headers = {"Authorization": f"token {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
        return answer.read()


def start_kernel(running: Lab) -> int:
    """Start a kernel through the server, as an opened lesson does; returns its process id."""
    request = urllib.request.Request(
        f"{running.base}/api/kernels",
        data=b"{}",
        headers={"Authorization": f"token {running.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        kernel = json.load(answer)["id"]
    found = [pid for pid, command in commands(running.process).items() if kernel in command]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_nothing_is_left_after_a_signal(tmp_path: Path, signum: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and a closed terminal end JupyterLab, its kernels and its folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with lab(cwd=tmp_path, home=tmp_path, TMPDIR=str(scratch)) as running:
        start_kernel(running)
        everyone = psutil.Process(running.process.pid).children(recursive=True)
        assert len(everyone) >= 2
        code, printed = running.stop(signum)
        assert (code, printed) == (0, "Stopped.\n")
        _, alive = psutil.wait_procs(everyone, timeout=10)
        assert alive == []
        assert list(scratch.iterdir()) == []


def test_the_printed_address_answers_and_only_with_its_token(tmp_path: Path) -> None:
    """The address is printed once it answers; without the token nobody gets in, and no argument shows it."""
    with lab(cwd=tmp_path, home=tmp_path) as running:
        assert b"JupyterLab" in get(running.address)
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(f"{running.base}/api/contents")
        assert refused.value.code == 403
        assert not any(running.token in command for command in commands(running.process).values())


def test_several_labs_at_once_each_find_a_port(tmp_path: Path) -> None:
    """Whoever starts a second course gets another port; neither is asked to choose."""
    with lab(cwd=tmp_path, home=tmp_path) as one, lab(cwd=tmp_path, home=tmp_path) as other:
        assert one.base != other.base
        assert b"JupyterLab" in get(one.address)
        assert b"JupyterLab" in get(other.address)


def test_a_port_asked_for_is_the_port(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with lab("--port", str(port), cwd=tmp_path, home=tmp_path) as running:
        assert running.base == f"http://127.0.0.1:{port}"


def test_no_news_are_asked_for_and_nothing_to_install_is_offered(tmp_path: Path) -> None:
    """The settings that JupyterLab reads switch its requests to the outside off."""
    with lab(cwd=tmp_path, home=tmp_path) as running:
        plugin = "@jupyterlab/apputils-extension:notification"
        answer = json.loads(get(f"{running.base}/lab/api/settings/{plugin}", running.token))
        properties = answer["schema"]["properties"]
        assert properties["fetchNews"]["default"] == "false"
        assert properties["checkForUpdates"]["default"] is False


def test_a_taken_port_is_one_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert main(["lab", "--port", str(port), "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"simlib: port {port} is taken; choose another with --port, or leave --port out to get a free one.\n"
    )


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "", "9" * 5000, "٨٨٨٨"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lab", f"--port={port}"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "it takes 1 to 65535" in said


def test_an_unknown_lesson_is_one_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "quantum", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("simlib: there is no lesson 'quantum'; ")
    assert said.count("\n") == 1


def test_help_loads_none_of_the_heavy_parts() -> None:
    """A command line that only starts JupyterLab does not wait for numpy, DuckDB or matplotlib."""
    probe = "import sys, simlib.cli; print(sorted({'numpy', 'duckdb', 'matplotlib', 'simpy'} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"


def test_a_port_that_was_taken_meanwhile_is_given_up_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Between the look and the start somebody else may have had it: two who start in the same moment."""
    opened: list[str] = []

    def shown(address: str) -> None:
        opened.append(address)
        signal.raise_signal(signal.SIGINT)  # the learner has seen it, and stops

    monkeypatch.setattr(cli_lab, "_has_screen", lambda: True)
    monkeypatch.setattr(cli_lab.webbrowser, "open", shown)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        free = cli_lab.free_port()
        serve = partial(serving, tmp_path)
        cli_lab.keep_open(serve, [holder.getsockname()[1], free], "/lab", browser=True)
    assert [f"http://127.0.0.1:{free}/lab" in address for address in opened] == [True]
    assert capfd.readouterr().out.endswith("Stopped.\n")
