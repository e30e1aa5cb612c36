"""What to do with an answer: is it done, worth another try, unknown, or final? The tables, with their sources."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Outcome(Enum):
    """What an answer, or its absence, says about the request."""

    SUCCESS = "success"
    """It was done."""
    TRANSIENT = "transient"
    """Not now: another try may do better."""
    UNKNOWN = "unknown"
    """It may or may not have been done; a dropped connection and a time-out say the same. Retry only with the key."""
    PERMANENT = "permanent"
    """A final no: another try would get the same answer."""

    @property
    def served(self) -> bool:
        """Did the server do its part? It did when it said yes, or a final no; budgets and breakers count by this."""
        return self is Outcome.SUCCESS or self is Outcome.PERMANENT


class Status(NamedTuple):
    """One row of a table: what a status means for a retry, why, and who says so."""

    outcome: Outcome
    why: str
    source: str


HTTP: dict[int, Status] = {
    400: Status(Outcome.PERMANENT, "the request is malformed", "RFC 9110, 15.5.1"),
    401: Status(Outcome.PERMANENT, "log in first", "RFC 9110, 15.5.2"),
    402: Status(Outcome.PERMANENT, "the payment was declined", "RFC 9110, 15.5.3; Stripe API"),
    403: Status(Outcome.PERMANENT, "not allowed", "RFC 9110, 15.5.4"),
    404: Status(Outcome.PERMANENT, "no such thing", "RFC 9110, 15.5.5"),
    408: Status(Outcome.TRANSIENT, "the server gave up waiting for the request to arrive", "RFC 9110, 15.5.9"),
    409: Status(Outcome.PERMANENT, "a conflict; worth a retry where it means still running", "RFC 9110, 15.5.10"),
    410: Status(Outcome.PERMANENT, "gone for good", "RFC 9110, 15.5.11"),
    422: Status(
        Outcome.PERMANENT, "understood and refused; also a key reused for another request", "RFC 9110, 15.5.21"
    ),
    429: Status(Outcome.TRANSIENT, "too many requests: slow down", "RFC 6585, 4"),
    500: Status(Outcome.UNKNOWN, "the server broke somewhere on the way", "RFC 9110, 15.6.1"),
    501: Status(Outcome.PERMANENT, "the server cannot do this at all", "RFC 9110, 15.6.2"),
    502: Status(Outcome.UNKNOWN, "a gateway heard nonsense from the server behind it", "RFC 9110, 15.6.3"),
    503: Status(Outcome.TRANSIENT, "overloaded or down for the moment", "RFC 9110, 15.6.4"),
    504: Status(Outcome.UNKNOWN, "a gateway heard nothing in time from the server behind it", "RFC 9110, 15.6.5"),
}
"""The statuses worth naming. Every other 2xx is done, and everything else is final."""

_GRPC = "gRPC documentation, Status codes and their use in gRPC"

GRPC: dict[str, Status] = {
    "OK": Status(Outcome.SUCCESS, "done", _GRPC),
    "CANCELLED": Status(Outcome.PERMANENT, "the caller no longer wants it", _GRPC),
    "UNKNOWN": Status(Outcome.UNKNOWN, "an error that says nothing of what was done", _GRPC),
    "INVALID_ARGUMENT": Status(Outcome.PERMANENT, "wrong whatever the state of the system", _GRPC),
    "DEADLINE_EXCEEDED": Status(Outcome.UNKNOWN, "time ran out; it may have been done, or still be running", _GRPC),
    "NOT_FOUND": Status(Outcome.PERMANENT, "no such thing", _GRPC),
    "ALREADY_EXISTS": Status(Outcome.PERMANENT, "it is there already", _GRPC),
    "PERMISSION_DENIED": Status(Outcome.PERMANENT, "not allowed", _GRPC),
    "RESOURCE_EXHAUSTED": Status(Outcome.TRANSIENT, "too much asked for; retry when a hint says when", _GRPC),
    "FAILED_PRECONDITION": Status(Outcome.PERMANENT, "the state must be put right first", _GRPC),
    "ABORTED": Status(Outcome.TRANSIENT, "lost a race; begin again at a higher level: read, then write", _GRPC),
    "OUT_OF_RANGE": Status(Outcome.PERMANENT, "past the end", _GRPC),
    "UNIMPLEMENTED": Status(Outcome.PERMANENT, "the server cannot do this at all", _GRPC),
    "INTERNAL": Status(Outcome.UNKNOWN, "the server broke somewhere on the way", _GRPC),
    "UNAVAILABLE": Status(Outcome.TRANSIENT, "not reachable for the moment; keep the key, calls may break off", _GRPC),
    "DATA_LOSS": Status(Outcome.PERMANENT, "data is lost or damaged", _GRPC),
    "UNAUTHENTICATED": Status(Outcome.PERMANENT, "log in first", _GRPC),
}
"""All statuses gRPC has, by name."""


def classify_http(status: int, *, running: bool = False) -> Outcome:
    """What an HTTP status says; ValueError outside 100 to 599.

    `running` tells that this API answers 409 only while the same key is still being worked on; then 409 is worth
    another try, and otherwise it is a final no.
    """
    if not 100 <= status <= 599:
        raise ValueError(f"{status!r} is not an HTTP status; they go from 100 to 599.")
    if status == 409 and running:
        return Outcome.TRANSIENT
    if status in HTTP:
        return HTTP[status].outcome
    return Outcome.SUCCESS if 200 <= status <= 299 else Outcome.PERMANENT


def classify_grpc(name: str) -> Outcome:
    """What a gRPC status name (`UNAVAILABLE`) says; ValueError for a name gRPC does not have."""
    if name not in GRPC:
        raise ValueError(f"{name!r} is not a gRPC status; they are {', '.join(GRPC)}.")
    return GRPC[name].outcome
