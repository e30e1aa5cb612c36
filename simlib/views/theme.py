"""What the pictures look like: colours by what they mean, sizes, and the font.

The hues are those of Okabe and Ito (Color Universal Design, 2008), told apart by people who see colours in
different ways; they are darkened on white and lightened on black until text in them reaches a contrast of 4.5
to 1 (WCAG 2.2, 1.4.3). No meaning rests on a colour alone: each has its shape, its dash or its word as well.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ink:
    """A colour by what it means, on a light and on a dark page.

    `follows` names the JupyterLab variable it takes where there is one. `reads` says that text is written in
    it, so that it must stand out from the page by 4.5 to 1; the others only fill and rule.
    """

    light: str
    dark: str
    follows: str = ""
    reads: bool = True


INKS: dict[str, Ink] = {
    "page": Ink("#ffffff", "#111111", "--jp-layout-color0", reads=False),
    "text": Ink("#16181d", "#f2f3f5", "--jp-content-font-color1"),
    "muted": Ink("#59616d", "#aab1bd"),
    "request": Ink("#0072b2", "#56b4e9"),
    "good": Ink("#007f5e", "#2fc49b"),
    "bad": Ink("#c44f00", "#ff8a3d"),
    "other": Ink("#a8467c", "#e89ac4"),
    "wait": Ink("#8a5f00", "#e69f00"),
    "amber": Ink("#e69f00", "#e69f00", reads=False),
    "rule": Ink("#d4d7dc", "#3d434c", reads=False),
    "band": Ink("#f0f1f3", "#1d2025", reads=False),
}

FONT = "DejaVu Sans"  # what paper uses
FONTS = "var(--jp-ui-font-family, system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif)"

HEADLINE = 28  # the number that matters
TITLE = 16
LABEL = 13
SMALL = 11

PANEL = 490  # width of one picture; two of them fit beside each other in a notebook

_NARROW = frozenset("iljtfrI.,:;'|!()[] -/")
_BROAD = frozenset("mwMWQOG@%€●◆■○")
_SCOPE = ".simlib"
_DARK = '[data-jp-theme-light="false"] .simlib, body.vscode-dark .simlib, .simlib[data-theme="dark"]'


def width(text: str, size: float, bold: bool = False) -> float:
    """About how wide a text is, in the units of its size; on the safe side for the fonts above."""
    ems = 0.0
    for c in text:
        ems += 0.37 if c in _NARROW else 0.93 if c in _BROAD else 0.68 if c.isupper() else 0.61
    return ems * size * (1.1 if bold else 1.0)


def css_colour(ink: str) -> str:
    """The colour as CSS: the page's own variable where a page sets one, else the light value."""
    return _CSS[ink]


def stylesheet() -> str:
    """The variables of all inks for a page, light and dark; pictures inside `.simlib` take their colours from
    it.
    """
    light = ";".join(f"--sl-{name}:{_jupyter(ink, ink.light)}" for name, ink in INKS.items())
    dark = ";".join(f"--sl-{name}:{_jupyter(ink, ink.dark)}" for name, ink in INKS.items())
    return f"{_SCOPE}{{{light}}}\n{_DARK}{{{dark}}}\n"


def contrast(one: str, other: str) -> float:
    """How far two colours (`#rrggbb`) stand apart, from 1 to 21, as WCAG 2.2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _jupyter(ink: Ink, value: str) -> str:
    return f"var({ink.follows}, {value})" if ink.follows else value


_CSS = {name: f"var(--sl-{name},{ink.light})" for name, ink in INKS.items()}
