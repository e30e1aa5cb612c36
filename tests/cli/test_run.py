"""`simlib run`: flags made from knobs, the same run for the same words, one sentence for what cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simlib.cli import main
from simlib.knobs import knobs
from simlib.scenarios import SCENARIOS
from simlib.trace import Trace


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a command prints: on stdout, or on stderr when it refuses."""
    assert main(["run", *words]) == code
    captured = capsys.readouterr()
    assert (captured.err if code == 0 else captured.out) == ""
    return captured.out if code == 0 else captured.err


def counts(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, float]:
    return json.loads(said(capsys, *words, "--json"))["counts"]


def test_without_a_scenario_it_lists_them_with_their_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys)
    for name, scenario in SCENARIOS.items():
        assert f"{name}: {scenario.title}" in printed
        for k in knobs(scenario):
            assert f"--{k.flag}" in printed
            assert k.range in printed


def test_the_double_tap_is_told_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    without = said(capsys, "double-tap", "--no-keys")
    assert without.count("CHARGE 50.00") == 2
    assert "1 purchase, 2 charges, 1 duplicate" in without
    with_key = said(capsys, "double-tap", "--keys")
    assert with_key.count("CHARGE 50.00") == 1
    assert "1 purchase, 1 charge, 0 duplicates" in with_key


def test_the_same_words_give_the_same_run(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("double-tap", "--loss", "0.3", "--purchases", "200", "--seed", "11")
    assert counts(capsys, *words) == counts(capsys, *words)
    assert counts(capsys, *words) != counts(capsys, *words[:-1], "12")


def test_loss_turns_both_loss_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, "double-tap", "--loss", "0.25", "--json"))
    assert (told["knobs"]["reply_loss"], told["knobs"]["request_loss"]) == (0.25, 0.25)


def test_one_loss_can_be_turned_after_both(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, "double-tap", "--reply-loss", "0.5", "--loss", "0.25", "--json"))
    assert (told["knobs"]["reply_loss"], told["knobs"]["request_loss"]) == (0.5, 0.25)


def test_counts_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "double-tap", "--counts").splitlines()
    assert ["charges", "2"] in [line.split() for line in lines]


def test_the_trace_is_written_as_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.parquet"
    said(capsys, "double-tap", "--out", str(out))
    assert Trace.read(out).sql("select count(*) from charges").scalar() == 2
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("double-tap", "--loss", "1.5"), "loss (loss of requests and of replies) is 1.5; it takes 0 to 1, or story."),
        (("double-tap", "--loss", "-0.1"), "is -0.1; it takes 0 to 1"),
        (("double-tap", "--loss", "nan"), "is nan; it takes 0 to 1"),
        (("double-tap", "--loss=lots"), "is 'lots'; it takes 0 to 1"),
        (("double-tap", "--purchases", "0"), "is 0; it takes 1 to "),
        (("double-tap", "--purchases", "1.5"), "is '1.5'; it takes 1 to "),
        (("double-tap", "--purchases", "1" + "0" * 30), "it takes 1 to "),
        (("doubletap",), "there is no scenario 'doubletap'; did you mean double-tap."),
        (("zzz",), "there is no scenario 'zzz'; the scenarios are delivery, double-tap"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_one_sentence_and_leaves_nothing(
    words: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = said(capsys, *words, *(("--out", "run.parquet") if len(words) > 1 else ()), code=2)
    assert refused.startswith("simlib: ")
    assert refused.count("\n") == 1
    assert sentence in refused
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("--seed", "-1"), ("--seed", "x"), ("--seed", "9" * 50), ("--nope", "1"), ("--los", "0.1")]
)
def test_a_flag_that_is_none_is_one_sentence(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "double-tap", *words])
    assert ended.value.code == 2
    refused = capsys.readouterr().err
    assert refused.startswith("simlib: ")
    assert refused.count("\n") == 1


@pytest.mark.parametrize("place", ["nowhere/run.parquet", "."])
def test_a_place_that_cannot_be_written_is_one_sentence(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = said(capsys, "double-tap", "--out", str(tmp_path / place), code=2)
    assert refused.startswith(f"simlib: cannot write {tmp_path / place}: ")
    assert "errno" not in refused.lower()
    assert refused.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_early_is_no_error() -> None:
    """`simlib run double-tap | head -1` ends without a traceback."""
    command = f"{sys.executable} -m simlib.cli run double-tap | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
