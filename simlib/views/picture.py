"""The one widget that shows a scene: replaced in place without a flicker, and played where the scene has a clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from simlib.views import paper, svg, theme
from simlib.views.scene import Scene

_HERE = Path(__file__).parent


class Picture(anywidget.AnyWidget):
    """A scene on the screen, with a line of plain text under it.

    `show` replaces what is seen. `text` is read aloud when it changes; `trouble` says that it tells of a mistake.
    """

    _esm = (_HERE / "picture.js").read_text(encoding="utf-8")
    _css = theme.stylesheet() + (_HERE / "picture.css").read_text(encoding="utf-8")

    svg = traitlets.Unicode().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    clock = traitlets.List().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    trouble = traitlets.Bool(False).tag(sync=True)

    def __init__(self, scene: Scene, text: str = "") -> None:
        super().__init__()
        self.show(scene, text)

    @property
    def scene(self) -> Scene:
        """What is shown now."""
        return self._scene

    def show(self, scene: Scene, text: str = "") -> None:
        """Replace the picture and its text, in one message to the browser."""
        self._scene = scene
        with self.hold_sync():
            self.clock = [[t.moment, t.seconds, t.words] for t in scene.clock]
            self.alt = scene.alt
            self.text = text
            self.trouble = False
            self.svg = svg.paint(scene)

    def complain(self, sentence: str) -> None:
        """Say what is wrong; the picture stays."""
        with self.hold_sync():
            self.text = sentence
            self.trouble = True

    def __repr__(self) -> str:
        return self.text or self.alt

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return bundle(self, self._scene, repr(self))


def bundle(widget: Any, scene: Scene, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a notebook keeps of a widget: its view, and for where no widget runs a still picture and plain text."""
    data, about = paper.bundle(paper.png(scene), scene.alt, round(scene.width), text)
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {**data, "application/vnd.jupyter.widget-view+json": view}, about
