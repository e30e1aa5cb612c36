"""Lesson 06: a payment that asks a provider on the way. One worker dies or falls behind; another one goes on."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from simpy import Event

from simlib.knobs import check, knob
from simlib.policy.verdict import Verdict
from simlib.scenarios.run import Contrast, Headline, Run
from simlib.trace import NAN, Recorder
from simlib.views.diagram import diagrams
from simlib.views.looks import plural
from simlib.views.scene import Scene
from simlib.world.clock import Clock
from simlib.world.keys import Keys, Row

Steps = Generator[Event, Any, None]

HOP = 0.1  # seconds a message or a statement takes
PROVIDER = 1.0  # seconds the provider takes
PATIENCE = 10.0  # seconds a person waits for an answer
PAUSE = 5.0  # seconds before another try
TRIES = 5
STALL = 35.0  # seconds a slow worker stands still
CENTS = 5000
LANES = ("phone", "worker 1", "worker 2", "database", "provider")
TROUBLES = {
    "none": "nothing",
    "dies after lease": "the first worker dies before it asks the provider",
    "dies after charge": "it dies when the provider has charged, and no row says so",
    "dies before commit": "it dies in the last transaction",
    "slow after charge": "it stands still for longer than its lease",
}
WORDS = {
    "claim": "key started",
    "effect": "card charged {n}",
    "save": "{status}",
    "replay": "done: saved answer",
    "refuse": "{status}",
    "lease": "lease taken",
    "take_over": "lease ran out: taken over",
    "fence": "lease is another's: nothing written",
    "crash": "dies {status}",
    "wait": "stands still",
}


@dataclass(frozen=True)
class RecoveryPoints:
    """The key's row says how far its payment has got; a lease says who works on it, and until when.

    `fenced`: every write names the lease it was made under, so a worker whose lease has run out changes nothing.
    `ends`: a lease ends by itself. `downstream`: the provider gets a key, and charges once for it.
    """

    title: ClassVar[str] = "Recovery points"
    contrast: ClassVar[Contrast] = Contrast("fenced", (False, True), ("Lease without a token", "Every write fenced"))

    trouble: str = field(
        default="slow after charge", metadata=knob("trouble", "what befalls the first worker", choices=tuple(TROUBLES))
    )
    fenced: bool = field(default=True, metadata=knob("fenced", "every write names its lease"))
    ends: bool = field(default=True, metadata=knob("lease ends", "after `lease` seconds another worker may take over"))
    downstream: bool = field(default=True, metadata=knob("key downstream", "the provider gets a key of its own"))
    lease: float = field(default=30.0, metadata=knob("lease", "how long a lease lasts", 5, 60, 1, unit="s"))

    def __post_init__(self) -> None:
        check(self)

    def run(self, seed: int = 7) -> Run:
        """A pure function of the knobs: nothing in it is left to luck."""
        story = _Story(self)
        story.clock.process(story.phone())
        story.clock.run()
        trace = story.recorder.freeze()
        counts = {
            "charges": trace.count("effect"),
            "receipts": story.receipts,
            "answers": trace.count("receive"),
            "done": int(story.done),
            "answered": int(story.answered),
        }
        return Run(self, seed, counts, trace)

    def describe(self, counts: Mapping[str, float]) -> str:
        ending = "the customer has an answer" if counts["answered"] else "the customer never has an answer"
        charges, receipts = plural(counts["charges"], "charge"), plural(counts["receipts"], "receipt")
        return f"{charges}, {receipts}, {ending}"

    def headline(self, counts: Mapping[str, float]) -> Headline:
        good = (counts["charges"], counts["receipts"], counts["answered"]) == (1, 1, 1)
        charges, receipts = plural(counts["charges"], "charge"), plural(counts["receipts"], "receipt")
        return Headline(f"{charges}, {receipts}" if counts["answered"] else "no answer, ever", good=good)

    def pictures(self, runs: Sequence[Run]) -> list[Scene]:
        return self.diagrams(runs)

    def diagrams(self, runs: Sequence[Run]) -> list[Scene]:
        return diagrams([run.trace for run in runs], lanes=LANES, words=WORDS)


class _Story:
    """One payment: the phone and two workers as SimPy processes, the row of the key, the provider's books."""

    def __init__(self, knobs: RecoveryPoints) -> None:
        self.knobs = knobs
        self.clock = Clock()
        self.recorder = Recorder()
        self.done = False
        self.receipts = 0
        self.answered = False
        self._keys = Keys(ends=knobs.ends, fenced=knobs.fenced)
        self._charged = False

    def phone(self) -> Steps:
        """Tap, wait, tap again: the first try meets worker 1, all others worker 2."""
        for attempt in range(1, TRIES + 1):
            worker = f"worker {min(attempt, 2)}"
            self._add("phone", "send", attempt, peer=worker, value=CENTS)
            answer = self.clock.event()
            self.clock.process(self.worker(worker, attempt, answer))
            told = yield answer | self.clock.timeout(PATIENCE)
            if answer in told:
                self._add("phone", "receive", attempt, peer=worker, status=str(answer.value))
                if answer.value == "201":
                    self.answered = True
                    return
            else:
                self._add("phone", "timeout", attempt, peer=worker)
            yield self.clock.timeout(PAUSE)
        self._add("phone", "give_up", TRIES, status="tries")

    def worker(self, name: str, attempt: int, answer: Event) -> Steps:
        """Claim, take the lease, charge, finish: and at each place what the knobs have in store."""
        trouble = self.knobs.trouble if attempt == 1 else "none"
        yield self.clock.timeout(HOP)
        self._add(name, "arrive", attempt, peer="phone")
        row, mine = self._lease(attempt)
        if mine is None:
            yield from self._reply(name, attempt, answer, "201" if row.finished else "409")
            return
        if trouble == "dies after lease":
            self._add(name, "crash", attempt)
            return
        if row.point == "started":
            yield from self._charge(name, attempt)
            if trouble == "dies after charge":
                self._add(name, "crash", attempt)
                return
            if trouble == "slow after charge":
                self._add(name, "wait", attempt)
                yield self.clock.timeout(STALL)
            if not self._write(attempt, row, mine, "charged"):
                return
            yield self.clock.timeout(HOP)
        if trouble == "dies before commit":
            self._add(name, "crash", attempt)
            return
        if not self._write(attempt, row, mine, "done"):
            return
        self.receipts += 1
        yield from self._reply(name, attempt, answer, "201")

    def _lease(self, attempt: int) -> tuple[Row, int | None]:
        """The key's row and this worker's lease on it; None where all is done, or somebody else does it."""
        verdict, row = self._keys.claim(self.clock.now, 1, "k", f"{CENTS}")
        if verdict is Verdict.REPLAY:
            self._add("database", "replay", attempt)
            return row, None
        if verdict is Verdict.NEW:
            self._add("database", "claim", attempt)
        mine = self._keys.lease(self.clock.now, row, self.knobs.lease)
        if mine is None:
            self._add("database", "refuse", attempt, status="held: 409")
        else:
            self._add("database", "lease" if verdict is Verdict.NEW else "take_over", attempt)
        return row, mine

    def _charge(self, name: str, attempt: int) -> Steps:
        """Ask the provider; with a key it charges once and gives the same answer again."""
        self._add(name, "send", attempt, peer="provider")
        yield self.clock.timeout(PROVIDER / 2)
        self._add("provider", "arrive", attempt, peer=name)
        if self._charged and self.knobs.downstream:
            self._add("provider", "replay", attempt)
        else:
            self._add("provider", "effect", attempt, value=CENTS)
        self._charged = True
        self._add("provider", "reply", attempt, peer=name, status="201")
        yield self.clock.timeout(PROVIDER / 2)
        self._add(name, "receive", attempt, peer="provider", status="201")

    def _write(self, attempt: int, row: Row, mine: int, point: str) -> bool:
        """Move the key on, unless the write is fenced and the lease is another's by now."""
        wrote = self._keys.finish(row, mine, 201) if point == "done" else self._keys.write(row, mine, point)
        if not wrote:
            self._add("database", "fence", attempt)
            return False
        self.done = row.finished
        self._add("database", "save", attempt, status="done, receipt queued" if point == "done" else point)
        return True

    def _reply(self, name: str, attempt: int, answer: Event, status: str) -> Steps:
        self._add(name, "reply", attempt, peer="phone", status=status)
        yield self.clock.timeout(HOP)
        if not answer.triggered:
            answer.succeed(status)

    def _add(
        self, actor: str, event: str, attempt: int, *, peer: str = "", status: str = "", value: float = NAN
    ) -> None:
        self.recorder.add(
            self.clock.now, actor, event, request=0, attempt=attempt, peer=peer, status=status, value=value
        )
