"""The course's words, from one file: as a page, as links in the lessons, and to look up."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from simlib.course.lessons import link
from simlib.files import DATA
from simlib.table import Table

PAGE = "glossary.md"
_APART = re.compile(r"(```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|^#[^\n]*$|<[^>]*>)", re.MULTILINE | re.DOTALL)
"""What a link must not be set into: code, links, headings, HTML."""


@dataclass(frozen=True)
class Term:
    """A word, what it means in two sentences, the lesson that teaches it, and other spellings of it."""

    name: str
    says: str
    lesson: str
    also: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Its place on the page, as code hosts make it from the heading."""
        return re.sub(r"[^a-z0-9 -]", "", self.name.lower()).replace(" ", "-")


def terms() -> tuple[Term, ...]:
    """All terms, in the order in which the course teaches them."""
    rows = tomllib.loads((DATA / "glossary.toml").read_text(encoding="utf-8"))["term"]
    return tuple(Term(row["name"], row["says"], row["lesson"], tuple(row.get("also", ()))) for row in rows)


def glossary(word: str = "") -> Table:
    """The terms that hold this word, or all: term, meaning, lesson."""
    found = [t for t in terms() if any(word.lower() in name.lower() for name in (t.name, *t.also))]
    return Table(("term", "meaning", "lesson"), tuple((t.name, t.says, t.lesson) for t in found))


def page() -> str:
    """The glossary as a page of Markdown, for `notebooks/glossary.md`."""
    entries = "\n\n".join(
        f"### {t.name}\n\n{t.says} ([lesson {t.lesson}]({link(t.lesson)}))"
        for t in sorted(terms(), key=lambda t: t.name.lower())
    )
    return f"# Glossary\n\nThe course's words, in two sentences each.\n\n{entries}\n"


def target(term: Term) -> str:
    """Where a link to a term goes, with its meaning as the title that shows on hover."""
    title = term.says.replace('"', "'").replace("`", "")
    return f'{PAGE}#{term.anchor} "{title}"'


def linked(text: str, words: list[Term]) -> str:
    """Markdown in which the first mention of each of these terms is a link with its meaning as title.

    A term is taken out of `words` when it has been found. Code, links, headings and HTML stay as they are.
    """
    for term in list(words):
        pieces = _APART.split(text)
        for i in range(0, len(pieces), 2):
            spellings = "|".join(re.escape(name) for name in (term.name, *term.also))
            found = re.search(rf"(?<![\w-])({spellings})(?![\w-])", pieces[i], re.IGNORECASE)
            if found:
                before, after = pieces[i][: found.start()], pieces[i][found.end() :]
                pieces[i] = f"{before}[{found[0]}]({target(term)}){after}"
                text = "".join(pieces)
                words.remove(term)
                break
    return text
