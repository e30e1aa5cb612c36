"""Another company's card provider, as our code sees it: `charge`, two ways to be told no, and a look at its books.

A call is one try: who retries is decided by whoever holds the key, at one layer only.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from simlib.live.client import DIRECT, NoAnswer, post_with_retry, post_with_retry_async
from simlib.live.retrying import HERE, Surroundings
from simlib.live.tape import NO_TAPE, Writer
from simlib.policy.classify import Outcome, classify_http
from simlib.policy.keys import LONGEST
from simlib.policy.retry import RetryPolicy

PATIENCE = 10.0  # seconds a charge may take, well under the lease of whoever asks


class ProviderError(Exception):
    """The provider did not give us a charge."""


class CardDeclined(ProviderError):
    """A final no: the same card will be declined again. An answer, to be saved like a success."""


class ProviderTimeout(ProviderError):
    """No answer in time, or the connection broke: the card may have been charged or not."""


class ProviderUnavailable(ProviderError):
    """The provider answered that it cannot now (409, 429, 5xx): another try with the same key may do better.

    `begun`: it broke at work (500, 502, 504), so the card may have been charged all the same.
    """

    def __init__(self, says: str, *, begun: bool = False) -> None:
        super().__init__(says)
        self.begun = begun


class ProviderRefused(ProviderError):
    """The provider found fault with the request itself (other 4xx): no try will mend it."""


@dataclass(frozen=True)
class ProviderCharge:
    """A row of the provider's books."""

    id: str
    amount_cents: int
    reference: str | None


class Charger(Protocol):
    """Whoever can be asked for a charge: a provider, or something that asks one with more care."""

    def charge(self, key: str, cents: int) -> str: ...


class Provider:
    """A provider at an address. `charge` returns its id for the charge, or raises a `ProviderError`."""

    def __init__(self, url: str, *, here: Surroundings = HERE, tape: Writer = NO_TAPE) -> None:
        self.url = url
        self.here = here
        self.tape = tape

    def charge(self, key: str, cents: int, timeout: float = PATIENCE, *, reference: str | None = None) -> str:
        """Charge the card once for this key. `reference` is our own name for it, by default the key; seconds."""
        try:
            answer = post_with_retry(**self._request(key, cents, timeout, reference))
        except NoAnswer as error:
            raise _silent(timeout) from error
        return _charged(answer)

    async def charge_async(
        self, key: str, cents: int, timeout: float = PATIENCE, *, reference: str | None = None
    ) -> str:
        """`charge` for asyncio."""
        try:
            answer = await post_with_retry_async(**self._request(key, cents, timeout, reference))
        except NoAnswer as error:
            raise _silent(timeout) from error
        return _charged(answer)

    def find(self, reference: str) -> ProviderCharge | None:
        """The first charge that carries our reference: what one looks for before trying again without a key."""
        found = self._books(reference=reference)
        return found[0] if found else None

    def charges(self) -> list[ProviderCharge]:
        """All charges, in the order they were made: what a reconciliation compares with our own books."""
        return self._books()

    def _request(self, key: str, cents: int, timeout: float, reference: str | None) -> dict[str, Any]:
        return {
            "url": f"{self.url}/charges",
            "body": {"amount_cents": cents, "reference": reference or key},
            "key": header_of(key),
            "policy": RetryPolicy(attempts=1, deadline=timeout, per_try=timeout),
            "here": self.here,
            "tape": self.tape,
            "actor": "server",
            "peer": "provider",
        }

    def _books(self, **asked: str) -> list[ProviderCharge]:
        answer = httpx.get(f"{self.url}/charges", params=asked, timeout=PATIENCE, **DIRECT)
        answer.raise_for_status()
        return [ProviderCharge(**row) for row in answer.json()["charges"]]


def header_of(key: str) -> str:
    """Any text as the value of an Idempotency-Key header: quoted, or its hash where a header cannot carry it."""
    if len(key) > LONGEST or not key.strip() or not all(" " <= c <= "~" for c in key):
        key = f"sha256-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _charged(answer: httpx.Response) -> str:
    status = answer.status_code
    if status == 201:
        return answer.json()["id"]
    said = _detail(answer)
    if status == 402:
        raise CardDeclined(said)
    if status in (409, 429) or status >= 500:
        begun = classify_http(status) is Outcome.UNKNOWN
        raise ProviderUnavailable(f"The provider answered {status}: {said}", begun=begun)
    raise ProviderRefused(f"The provider answered {status}: {said}")


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200]


def _silent(timeout: float) -> ProviderTimeout:
    return ProviderTimeout(f"The provider gave no answer (limit {timeout:g} s); the card may have been charged or not.")
