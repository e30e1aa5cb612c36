"""Where a server may stand: which account runs it, in which folder, and with a socket nobody else can reach.

PostgreSQL refuses to run as root, so root runs it under an account made for nothing else. That account cannot see
below a private folder such as root's home; then data and programs stand in a temporary folder instead, which goes
with the server.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simlib.live.pg import binaries
from simlib.live.pg.binaries import Binaries
from simlib.live.pg.errors import PostgresError

ACCOUNT = "simlib-postgres"


@dataclass(frozen=True)
class Account:
    """A user of this machine, by numbers."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Ground:
    """Programs that run, a folder for `data`, a short private folder for the `socket`, and who runs the server.

    `account` is None where the server runs as whoever asked for it; `temporary` folders go with the server.
    """

    binaries: Binaries
    data: Path
    socket: Path
    account: Account | None
    temporary: tuple[Path, ...]

    def own(self, path: Path, mode: int) -> None:
        """Give a path to the account that runs the server, and set its permissions."""
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)
        path.chmod(mode)


@contextmanager
def prepared(folder: Path) -> Iterator[Ground]:
    """Ground for a server whose private state is in `folder`; temporary parts are gone afterwards."""
    found = binaries.find()
    account = _lesser_account()
    made = [Path(tempfile.mkdtemp(prefix="simlib-", dir=_short_folder()))]
    try:
        socket = made[0]
        data = folder / f"data-{found.major}"
        if account is not None:
            out_of_reach = [p for p in (folder, found.folder) if not _reachable(p)]
            if out_of_reach:
                made.append(Path(tempfile.mkdtemp(prefix="simlib-data-")))
                made[1].chmod(0o711)
                data = made[1] / "data"
                found = binaries.copy_for(found, made[1])
        ground = Ground(found, data, socket, account, tuple(made))
        ground.own(socket, 0o700)
        yield ground
    finally:
        for path in made:
            shutil.rmtree(path, ignore_errors=True)


def _short_folder() -> str | None:
    """Where a socket's path stays under the 103 bytes that macOS takes (Linux takes 107), whatever TMPDIR says."""
    return None if len(os.fsencode(tempfile.gettempdir())) < 60 or sys.platform == "win32" else "/tmp"


def _lesser_account() -> Account | None:
    """For root, the account that runs the server, made when it is missing; None for everybody else."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        _make_account()
        entry = pwd.getpwnam(ACCOUNT)
    return Account(entry.pw_uid, entry.pw_gid)


def _make_account() -> None:
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        import pwd

        try:
            pwd.getpwnam(ACCOUNT)  # somebody else made it in the same moment
        except KeyError:
            raise PostgresError(
                f"PostgreSQL does not run as root, and the account {ACCOUNT!r} for it could not be made ({error}); "
                "make it by hand, run as another user, or set SIMLIB_DSN."
            ) from error


def _reachable(path: Path) -> bool:
    """Whether every folder above `path` lets every user through."""
    return all(p.stat().st_mode & stat.S_IXOTH for p in path.resolve().parents)
