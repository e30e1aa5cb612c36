"""`simlib demo`: its numbers are those of the runs it makes, not words that stay when the code changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simlib.cli import main
from simlib.live import one_transaction
from simlib.scenarios import double_tap


def told(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_both_endings_and_the_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    """2 charges without a key, 1 with; 8 answers and 2 charges from PostgreSQL, one body a key."""
    printed = told(capsys)
    without, with_key, real = re.split(r"^[23]\. ", printed, flags=re.MULTILINE)
    assert "1 purchase, 2 charges, 1 duplicate" in without
    assert without.count("CHARGE") == 2
    assert "1 purchase, 1 charge, 0 duplicates" in with_key
    assert with_key.count("CHARGE") == 1
    assert "8 answers (7 x 201, 1 x 422), 2 charges in the table" in real
    assert "the same byte for byte" in real
    assert "NOT" not in real


def test_its_numbers_are_computed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator that loses nothing and a `pay` that ignores its key change what is printed."""
    run = double_tap.DoubleTap.run
    lossless = double_tap.DoubleTap(reply_loss=0, request_loss=0)
    monkeypatch.setattr(double_tap.DoubleTap, "run", lambda self, seed=7: run(lossless, seed))
    pay, calls = one_transaction.pay, iter(range(100))
    monkeypatch.setattr(
        "simlib.live.pay", lambda conn, account, key, cents: pay(conn, account, f"{next(calls)}", cents)
    )
    printed = told(capsys)
    assert "2 charges, 1 duplicate" not in printed
    assert "8 answers (8 x 201), 8 charges in the table" in printed
    assert "NOT the same" in printed


@pytest.mark.parametrize("dsn", ["postgresql://nobody:hush@127.0.0.1:1/none", "not a dsn"])
def test_a_wrong_dsn_is_one_sentence_without_its_password(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMLIB_DSN", dsn)
    assert main(["demo"]) == 2
    refused = capsys.readouterr().err
    assert refused.startswith("simlib: ")
    assert refused.count("\n") == 1
    assert "SIMLIB_DSN" in refused
    assert "hush" not in refused


def test_a_cache_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("SIMLIB_DSN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["demo"]) == 2
    refused = capsys.readouterr().err
    assert "The cache folder" in refused
    assert refused.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
