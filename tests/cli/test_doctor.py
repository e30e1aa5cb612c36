"""`simlib doctor`: a line for each thing looked at, the mend beside what is broken, the exit code to match."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from simlib import files
from simlib.cli import class_size, doctor, main


@pytest.fixture(autouse=True)
def course_with_a_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "00_start_here.ipynb").write_text("{}")
    monkeypatch.setattr(files, "NOTEBOOKS", tmp_path)


def looked(capsys: pytest.CaptureFixture[str], code: int) -> dict[str, list[str]]:
    """What the doctor printed, by level."""
    assert main(["doctor"]) == code
    lines = capsys.readouterr().out.splitlines()
    return {level: [line for line in lines if line.startswith(level)] for level in ("ok", "warn", "fail")}


def test_what_works_is_said_and_postgres_is_really_started(capsys: pytest.CaptureFixture[str]) -> None:
    found = looked(capsys, 0)
    assert found["fail"] == []
    for word in ("Python", "widgets", "PostgreSQL", "port", "cache folder", "lesson"):
        assert any(word in line for line in found["ok"]), word


def test_no_postgres_is_a_failure_with_its_mend(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMLIB_DSN", "postgresql://127.0.0.1:1/none")
    found = looked(capsys, 1)
    assert len(found["fail"]) == 1
    assert "SIMLIB_DSN is right" in found["fail"][0]


def test_no_chromium_is_a_warning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "LOOKS", (doctor._chromium,))
    found = looked(capsys, 0)
    assert "lessons run in any browser" in found["warn"][0]


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "ROOM", 1e12)
    monkeypatch.setattr(doctor, "LOOKS", (doctor._disk,))
    assert looked(capsys, 0)["warn"]


def test_a_broken_installation_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing lessons and widgets without their part for the browser are told."""
    monkeypatch.setattr(files, "NOTEBOOKS", tmp_path / "nowhere")
    monkeypatch.setattr(doctor, "WIDGETS", ("numpy",))
    monkeypatch.setattr(doctor, "LOOKS", (doctor._course, doctor._widgets))
    assert len(looked(capsys, 1)["fail"]) == 2


def test_a_class_is_looked_at_before_it_comes_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory, cores, connections and ports: what will not hold is said with the number that would."""
    monkeypatch.setattr(class_size.psutil, "virtual_memory", lambda: SimpleNamespace(available=3_000_000_000))
    assert main(["doctor", "--class", "90"]) == 1
    said = capsys.readouterr().out
    assert "fail  memory for 90 learners: 27,000 MB wanted, 3,000 MB free" in said
    assert "It holds 10 learners" in said
    assert "90 learners may open 1080" in said
    assert "ports 9000 to 9089" in said or "of 9000 to 9089 is in use" in said


def test_no_number_of_learners(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["doctor", "--class", "0"])
    assert end.value.code == 2
    assert "it takes 1 to 200" in capsys.readouterr().err
