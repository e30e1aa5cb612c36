"""A question to answer before anything runs, and what became of the guess."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets


class Predict(widgets.VBox):
    """A question with choices. `against(truth)` later sets the guess beside what really happened."""

    def __init__(self, question: str, choices: Sequence[Any]) -> None:
        self._question = question
        self._choices = [str(choice) for choice in choices]
        self._buttons = widgets.ToggleButtons(
            options=self._choices,
            value=None,
            tooltips=[f"my guess: {choice}" for choice in self._choices],
            style={"button_width": "auto"},
        )
        asked = widgets.HTML(f"<strong>{html.escape(question)}</strong>", layout={"max_width": "60em"})
        super().__init__([asked, self._buttons])

    def against(self, truth: Any) -> str:
        """One sentence: what you guessed, and what it was."""
        return _Said(f"What happened: {truth}. {self._said(str(truth))}")

    def _said(self, truth: str) -> str:
        guess = self._buttons.value
        if guess is None:
            return "You made no guess; the next lesson asks again."
        return "You guessed it." if guess == truth else f"You guessed {guess}."

    def __repr__(self) -> str:
        return f"{self._question} ({' / '.join(self._choices)})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**(bundle or {}), "text/plain": repr(self)}


class _Said(str):
    """Text that a notebook shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
