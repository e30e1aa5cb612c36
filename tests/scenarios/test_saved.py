"""Scenario files: written and read they are the same, and what is wrong with one is said with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib.cli import main
from simlib.scenarios import SCENARIOS
from simlib.scenarios.double_tap import DoubleTap
from simlib.scenarios.saved import (
    FOLDER,
    BadScenarioFile,
    course_scenarios,
    from_toml,
    load_scenario,
    save_scenario,
    to_toml,
)
from tests.scenarios.test_laws import scenarios


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read_back_exactly(name: str, data: st.DataObject) -> None:
    scenario = data.draw(scenarios(name))
    assert from_toml(to_toml(scenario)) == scenario


def test_the_courses_own_are_all_readable_and_cover_the_stories() -> None:
    kinds = {type(load_scenario(name)) for name in course_scenarios()}
    assert len(course_scenarios()) >= 12
    assert len(kinds) >= 8
    for name in course_scenarios():
        assert (FOLDER / f"{name}.toml").read_text(encoding="utf-8").startswith("# ")


def test_a_whole_number_will_do_and_what_is_not_named_stands_at_its_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('scenario = "double-tap"\n[knobs]\nreply_loss = 1\nrequest_loss = "none"\n', encoding="utf-8")
    assert load_scenario(path) == DoubleTap(reply_loss=1.0)
    save_scenario(DoubleTap(keys=True), path)
    assert load_scenario(path) == DoubleTap(keys=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('scenario = "double-tap"\n\n[knobs]\nreply_los = 0.1\n', "line 4: DoubleTap has no knob 'reply_los'. Did you"),
        ('scenario = "double-tap"\n[knobs]\nkeys = true\nreply_loss = 1.5\n', "line 4: reply_loss .* is 1.5; it takes"),
        ('scenario = "double-tap"\n[knobs]\nkeys = 1\n', "line 3: keys .* is 1; it takes on or off"),
        ('scenario = "double-tap"\n[knobs]\npurchases = nan\n', "line 3: purchases"),
        ('scenario = "dubble-tap"\n', "line 1: there is no scenario 'dubble-tap'; did you mean double-tap"),
        ("[knobs]\nkeys = true\n", "there is no scenario None"),
        ('scenario = "double-tap"\nseed = 7\n', "line 2: 'seed' is unknown"),
        ('scenario = "double-tap"\nknobs = 3\n', "line 2: knobs is 3"),
        ("scenario = double-tap\n", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, says: str) -> None:
    with pytest.raises(BadScenarioFile, match=says) as told:
        from_toml(text, "mine.toml")
    assert str(told.value).startswith("mine.toml")
    assert "\n" not in str(told.value)


def test_a_file_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(BadScenarioFile, match="There is no file nothing; the course's are"):
        load_scenario("nothing")


def test_the_command_line_runs_a_file_and_turns_a_knob_on_top(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / "reply_lost.toml")
    assert main(["run", path, "--counts"]) == 0
    assert "charges     2" in capsys.readouterr().out
    assert main(["run", path, "--keys", "--counts"]) == 0
    assert "charges     1" in capsys.readouterr().out


def test_a_bad_file_on_the_command_line_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('scenario = "jitter"\n[knobs]\nclients = -1\n', encoding="utf-8")
    assert main(["run", str(path)]) == 2
    said = capsys.readouterr().err
    assert "bad.toml, line 3: clients" in said
    assert said.count("\n") == 1
