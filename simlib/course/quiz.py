"""A quiz: questions with their reasons, one at a time. The answers are in a file, not in the lesson."""

from __future__ import annotations

import hashlib
import html
import tomllib
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from simlib.course.lessons import link
from simlib.files import DATA


@dataclass(frozen=True)
class Question:
    """What is asked, what one may answer, which is right and why, and where the course shows it."""

    ask: str
    options: tuple[str, ...]
    right: str
    why: str
    lesson: str
    see: str

    def answered(self, option: str) -> str:
        """What to say to an answer."""
        verdict = "Yes." if option == self.right else f"No: {self.right[0].lower()}{self.right[1:]}."
        return f"{verdict} {self.why}"


def questions() -> tuple[Question, ...]:
    """All of them, in the course's order; options stand in an order that depends on nothing but the question."""
    rows = tomllib.loads((DATA / "quiz.toml").read_text(encoding="utf-8"))["question"]
    return tuple(
        Question(
            row["ask"],
            tuple(sorted(row["options"], key=lambda option: hashlib.sha256((row["ask"] + option).encode()).digest())),
            row["options"][0],
            row["why"],
            row["lesson"],
            row["see"],
        )
        for row in rows
    )


class Quiz(widgets.VBox):
    """Questions one after the other; `lesson="05"` asks only those of one lesson. `score` counts first answers."""

    def __init__(self, lesson: str | None = None) -> None:
        self._questions = [q for q in questions() if lesson in (None, q.lesson)]
        if not self._questions:
            raise ValueError(f"There are no questions about lesson {lesson!r}; leave it out to get all of them.")
        self._first: dict[int, str] = {}
        self._at = 0
        self._asked = widgets.HTML()
        self._options = widgets.ToggleButtons(style={"button_width": "auto"}, layout={"width": "auto"})
        self._says = widgets.HTML(layout={"min_height": "4.5em", "max_width": "60em"})
        self._back = widgets.Button(description="back")
        self._next = widgets.Button(description="next")
        self._back.on_click(lambda _: self._turn(-1))
        self._next.on_click(lambda _: self._turn(1))
        self._options.observe(self._answer, "value")
        super().__init__([self._asked, self._options, self._says, widgets.HBox([self._back, self._next])])
        self._turn(0)

    @property
    def score(self) -> tuple[int, int]:
        """How many first answers were right, of how many given."""
        right = sum(self._questions[i].right == option for i, option in self._first.items())
        return right, len(self._first)

    def __repr__(self) -> str:
        right, given = self.score
        of = f"a quiz of {len(self._questions)} question{'' if len(self._questions) == 1 else 's'}"
        return f"{of}, {right} of {given} right" if given else of

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return {**(super()._repr_mimebundle_(**kwargs) or {}), "text/plain": repr(self), "text/html": self._on_paper()}

    def _turn(self, by: int) -> None:
        self._at = min(len(self._questions) - 1, max(0, self._at + by))
        question = self._questions[self._at]
        number = f"{self._at + 1} of {len(self._questions)}"
        self._asked.value = f"<p>{number}</p><strong>{html.escape(question.ask)}</strong>"
        self._options.unobserve(self._answer, "value")  # new options choose their first one: no answer of anybody's
        self._options.options = question.options
        self._options.value = self._first.get(self._at)
        self._options.observe(self._answer, "value")
        self._options.tooltips = [f"answer: {option}" for option in question.options]
        self._back.disabled, self._next.disabled = self._at == 0, self._at == len(self._questions) - 1
        self._say()

    def _answer(self, change: Any) -> None:
        if change["new"] is not None:
            self._first.setdefault(self._at, change["new"])
            self._say()

    def _say(self) -> None:
        chosen = self._options.value
        if chosen is None:
            self._says.value = ""
            return
        question = self._questions[self._at]
        right, given = self.score
        place = f'<a href="{link(question.lesson)}">lesson {question.lesson}</a>, <em>{html.escape(question.see)}</em>'
        self._says.value = (
            f'<div role="status">{html.escape(question.answered(chosen))}<br>Shown in {place}.'
            f"<br>{right} of {given} right.</div>"
        )

    def _on_paper(self) -> str:
        """The questions without their answers, for paper and for those who only read."""
        asked = "".join(
            f"<li>{html.escape(q.ask)}<ul>{''.join(f'<li>{html.escape(o)}</li>' for o in q.options)}</ul></li>"
            for q in self._questions
        )
        return f"<ol>{asked}</ol>"
