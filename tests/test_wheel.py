"""The course from an installed wheel: lessons and data travel in it, and work is done in the learner's folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from simlib import files
from tests.lab import lab

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel laid out as an installer does, in a folder that goes before the clone on the path."""
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(site)
    return site


def run(installed: Path, cwd: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(cwd / "cache")}
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_lessons_and_data_travel_in_it(wheel: Path) -> None:
    """Everything under notebooks/ and data/ that is under version control, and nothing else of them."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("simlib/_course/")}
    listed = subprocess.run(
        ["git", "ls-files", "notebooks", "data"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a clone: no list of files")
    missing = {f"simlib/_course/{name}" for name in listed.stdout.split()} - inside
    assert missing == set()
    assert not [name for name in inside if "checkpoint" in name or "__pycache__" in name]


def test_no_tests_and_no_tools_travel_in_it(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top.partition("-")[0] for top in tops} == {"simlib"}


def test_files_are_found_inside_the_wheel(installed: Path, tmp_path: Path) -> None:
    probe = "import simlib.files as f; print(f.in_clone(), f.NOTEBOOKS, f.DATA.is_dir())"
    said = run(installed, tmp_path, "-c", probe).split()
    assert said == ["False", str(installed / "simlib" / "_course" / "notebooks"), "True"]


def test_demo_and_doctor_work_from_it(installed: Path, tmp_path: Path) -> None:
    assert "2 charges in the table" in run(installed, tmp_path, "-m", "simlib.cli", "demo")
    assert "PostgreSQL" in run(installed, tmp_path, "-m", "simlib.cli", "doctor")


def test_lab_copies_the_lessons_to_the_learner(installed: Path, tmp_path: Path) -> None:
    """The learner's copy is served, not the package's own files."""
    with lab(cwd=tmp_path, home=tmp_path, PYTHONPATH=str(installed)):
        copied = {path.name for path in (tmp_path / "simlib-course").glob("*.ipynb")}
    assert copied == {path.name for path in files.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")}
