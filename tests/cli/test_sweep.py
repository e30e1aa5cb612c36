"""`simlib sweep`: the same sweep as in Python, from words; one sentence for what cannot be."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simlib.cli import main
from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.sweep import sweep

WORDS = ("double-tap", "--keys", "off,on", "--reply-loss", "0.1,0.3", "--purchases", "50", "--seeds", "4", "--quiet")


def test_it_prints_the_means_that_python_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *WORDS, "--count", "duplicates"]) == 0
    captured = capsys.readouterr()
    same = sweep(DoubleTap(), keys=[False, True], reply_loss=[0.1, 0.3], purchases=[50], seeds=range(4), progress=False)
    assert str(same.means("duplicates")) in captured.out
    assert "Sweep of 16 runs over keys, reply_loss, purchases" in captured.out
    assert captured.err == ""


def test_rows_and_figure_are_written(tmp_path: Path) -> None:
    rows, figure = tmp_path / "runs.parquet", tmp_path / "means.png"
    assert main(["sweep", *WORDS, "--out", str(rows), "--figure", str(figure), "--traces", str(tmp_path / "all")]) == 0
    assert pq.read_table(rows).num_rows == 16
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "all").glob("*.parquet"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "sweep what?"),
        (("double-tab",), "did you mean double-tap"),
        (("double-tap", "--reply-loss", "0.1,2"), "2"),
        (("double-tap", "--keys", "yes"), "--keys is 'yes'; it takes on or off"),
        (("double-tap", "--count", "money"), "counts no 'money'; it counts purchases, charges"),
        (("double-tap", "--quiet", "--seeds", "1", "--out", "/proc/no/runs.parquet"), "choose another place"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert main(["sweep", *words]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


def test_no_number_of_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["sweep", "double-tap", "--seeds", "0"])
    assert end.value.code == 2
    assert "it takes 1 to 100,000" in capsys.readouterr().err
