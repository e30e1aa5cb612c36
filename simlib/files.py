"""Where the course's own files are: beside the package in a clone, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_course"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

NOTEBOOKS = ROOT / "notebooks"
DATA = ROOT / "data"


def in_clone() -> bool:
    """True where the lessons being read are the working copy itself, not files of a wheel."""
    return not _INSTALLED.is_dir()
