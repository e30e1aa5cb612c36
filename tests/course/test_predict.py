"""A prediction: asked before anything runs, and set beside what happened afterwards."""

from __future__ import annotations

import pytest

from simlib.course.predict import Predict


@pytest.mark.parametrize(
    ("choice", "words"),
    [(None, "You made no guess; the next lesson asks again."), ("2", "You guessed it."), ("1", "You guessed 1.")],
)
def test_the_guess_is_set_beside_what_happened(choice: str | None, words: str) -> None:
    guess = Predict("How often?", [1, 2])
    guess.children[1].value = choice
    assert repr(guess.against(2)) == f"What happened: 2. {words}"


def test_on_paper_it_is_the_question_with_its_choices() -> None:
    guess = Predict("Is 1 < 2?", ["yes", "no"])
    assert guess._repr_mimebundle_()["text/plain"] == "Is 1 < 2? (yes / no)"
    assert "1 &lt; 2" in guess.children[0].value
