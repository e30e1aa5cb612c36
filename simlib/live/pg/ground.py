"""Where a server may stand: which account runs it, in which folder, and with a socket nobody else can reach.

PostgreSQL refuses to run as root, so root runs it under an account made for nothing else. That account cannot see
below a private folder such as root's home; then the system's cache takes the place of the user's.
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

import platformdirs

from simlib.live.pg import binaries
from simlib.live.pg.binaries import Binaries
from simlib.live.pg.errors import PostgresError

ACCOUNT = "simlib-postgres"
SYSTEM_CACHE = Path("/var/cache/simlib-postgres")
PREFIX = "simlib-postgres-"  # of the names of socket folders


@dataclass(frozen=True)
class Account:
    """A user of this machine, by numbers."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Ground:
    """Programs that run, a folder for `data`, a short private folder for the `socket`, and who runs the server.

    `account` is None where the server runs as whoever asked for it; the socket's folder goes with the server.
    """

    binaries: Binaries
    data: Path
    socket: Path
    account: Account | None

    def own(self, path: Path, mode: int) -> None:
        """Give a path to the account that runs the server, and set its permissions."""
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)
        path.chmod(mode)


def cache_folder() -> Path:
    """Where a user's servers keep their state, made if need be; PostgresError where that cannot be."""
    folder = platformdirs.user_cache_path("simlib") / "postgres"
    try:
        if not folder.is_absolute():
            raise PermissionError(13, "neither XDG_CACHE_HOME nor HOME names a place for it")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_root() and not _passable(folder.parent):
            folder = SYSTEM_CACHE
            folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # the one sure way to know, whatever the reason would be
    except OSError as error:
        raise PostgresError(
            f"The cache folder {folder} cannot be written to ({error.strerror}); make it writable, "
            "or set XDG_CACHE_HOME to a folder that is."
        ) from error
    return folder


@contextmanager
def prepared(folder: Path) -> Iterator[Ground]:
    """Ground for a server whose state is in `folder`; the folder of its socket is gone afterwards."""
    found = binaries.find()
    account = _lesser_account()
    if account is not None:
        folder.chmod(0o711)  # lets the account through; what is in it stays private
        if not _passable(found.folder):
            found = binaries.copy_for(found, folder)
    socket = _socket_folder(account)
    try:
        ground = Ground(found, folder / f"data-{found.major}", socket, account)
        ground.own(socket, 0o700)
        yield ground
    finally:
        shutil.rmtree(socket, ignore_errors=True)


def _socket_folder(account: Account | None) -> Path:
    """A new folder whose path is short, plain and open to the account, whatever TMPDIR says.

    A socket's path has room for 103 bytes on macOS and 107 on Linux, and a comma would make two folders of it.
    """
    usual = Path(tempfile.gettempdir())
    good = len(os.fsencode(usual)) < 60 and not set(str(usual)) & set(",\"'")
    if account is not None:
        good = good and _passable(usual)
    base = usual if good or sys.platform == "win32" else Path("/tmp")
    try:
        return Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    except OSError as error:
        raise PostgresError(
            f"A folder for the server's socket cannot be made in {base} ({error.strerror}); "
            "free some space there, or set TMPDIR to a folder with a short path that you can write to."
        ) from error


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _lesser_account() -> Account | None:
    """For root, the account that runs the server, made when it is missing; None for everybody else."""
    if not _is_root():
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
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        said = " ".join(done.stderr.split()) or f"useradd gave {done.returncode}"
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "strerror", None) or str(error)
    import pwd

    try:
        pwd.getpwnam(ACCOUNT)  # made by us, or by somebody else in the same moment
    except KeyError:
        raise PostgresError(
            f"PostgreSQL does not run as root, and the account {ACCOUNT!r} for it could not be made (useradd: {said}); "
            "make it by hand, run as another user, or set SIMLIB_DSN."
        ) from None


def _passable(folder: Path) -> bool:
    """Whether this folder and every one above it lets every user through."""
    path = folder.resolve()
    return all(p.stat().st_mode & stat.S_IXOTH for p in (path, *path.parents))
