"""Lesson 02: the same operation once, twice, three times. What is different afterwards, and what is one told?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from simlib.knobs import check, knob
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import Recorder
from simlib.views.diagram import diagrams
from simlib.views.looks import plural
from simlib.views.scene import Scene

MOST = 3
WORDS = {"send": "{status}", "effect": "changes something", "skip": "changes nothing", "receive": "{status}"}


@dataclass
class _Shop:
    """A little state to act on: a cart, a balance, orders, top-ups by their ids, a light."""

    quantity: int = 1
    balance: int = 0
    orders: int = 0
    topups: frozenset[str] = frozenset()
    order: str = "paid"
    light: bool = False
    version: int = 6


Operation = tuple[str, Callable[[_Shop], str]]


def _set(shop: _Shop) -> str:
    shop.quantity = 3
    return "200"


def _add(shop: _Shop) -> str:
    shop.quantity += 1
    return "200"


def _insert(shop: _Shop) -> str:
    shop.orders += 1
    return "201"


def _insert_once(shop: _Shop) -> str:
    known = "t-1" in shop.topups
    shop.topups |= {"t-1"}
    return "200" if known else "201"


def _delete(shop: _Shop) -> str:
    gone = shop.quantity == 0
    shop.quantity = 0
    return "404" if gone else "204"


def _ship(shop: _Shop) -> str:
    if shop.order != "paid":
        return "409"
    shop.order = "shipped"
    return "200"


def _versioned(shop: _Shop) -> str:
    if shop.version != 6:
        return "412"
    shop.version, shop.balance = 7, shop.balance + 500
    return "200"


def _toggle(shop: _Shop) -> str:
    shop.light = not shop.light
    return "200"


OPERATIONS: dict[str, Operation] = {
    "set the quantity to 3": ("PUT", _set),
    "add 1 to the quantity": ("POST", _add),
    "place an order": ("POST", _insert),
    "store top-up t-1": ("PUT", _insert_once),
    "remove it from the cart": ("DELETE", _delete),
    "ship if it is paid": ("POST", _ship),
    "add 500 if version is 6": ("POST", _versioned),
    "toggle the light": ("POST", _toggle),
}
"""The operation in words, to its HTTP method and what it does."""


@dataclass(frozen=True)
class Operations:
    """One operation, applied some times in a row. Idempotent: after the first time nothing changes any more."""

    title: ClassVar[str] = "Once, twice, three times"
    contrast: ClassVar[Contrast] = Contrast(
        "operation", ("add 1 to the quantity", "set the quantity to 3"), ("Says the change", "Says the result")
    )

    operation: str = field(
        default="add 1 to the quantity", metadata=knob("operation", "what is asked", choices=tuple(OPERATIONS))
    )
    times: int = field(default=2, metadata=knob("times", "how often it is applied", 1, MOST, 1))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """Plain arithmetic: the seed changes nothing."""
        method, act = OPERATIONS[self.operation]
        shop, recorder = _Shop(), Recorder()
        changes, replies = 0, []
        for time in range(1, self.times + 1):
            before = vars(shop).copy()
            recorder.add(
                time, "phone", "send", request=0, attempt=time, peer="server", status=f"{method}: {self.operation}"
            )
            reply = act(shop)
            changed = vars(shop) != before
            changes += changed
            replies.append(int(reply))
            recorder.add(time + 0.1, "server", "effect" if changed else "skip", request=0, attempt=time)
            recorder.add(time + 0.2, "server", "reply", request=0, attempt=time, peer="phone", status=reply)
            recorder.add(time + 0.3, "phone", "receive", request=0, attempt=time, peer="server", status=reply)
        counts: dict[str, float] = {"times": self.times, "changes": changes, "replies": len(set(replies))}
        return Run(self, seed, counts | {f"reply {i}": r for i, r in enumerate(replies, 1)}, recorder.freeze())

    def describe(self, counts: Mapping[str, float]) -> str:
        told = ", ".join(f"{counts[f'reply {i}']:.0f}" for i in range(1, self.times + 1))
        return f"{plural(counts['times'], 'time')}, {plural(counts['changes'], 'change')}, told {told}"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        good = counts["changes"] <= 1
        return Headline("changes once" if good else f"changes {counts['changes']:.0f} times", good=good)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        return self.diagrams(runs)

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=("phone", "server"), words=WORDS, timed=False)
