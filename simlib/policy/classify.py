"""What to do with an answer: is it done, worth another try, unknown, or final?"""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """What an answer, or its absence, says about the request."""

    SUCCESS = "success"
    TRANSIENT = "transient"
    """It was not done, and another try may do better."""
    UNKNOWN = "unknown"
    """It may or may not have been done; retry only with the same key."""
    PERMANENT = "permanent"
    """It was not done, and another try will get the same answer."""


TRANSIENT_HTTP: dict[int, str] = {
    408: "the server gave up waiting for the request (RFC 9110, 15.5.9)",
    429: "too many requests; slow down (RFC 6585, 4)",
    503: "overloaded or down for the moment (RFC 9110, 15.6.4)",
}
UNKNOWN_HTTP: dict[int, str] = {
    500: "the server broke somewhere on the way (RFC 9110, 15.6.1)",
    502: "a gateway heard nonsense from the server behind it (RFC 9110, 15.6.3)",
    504: "a gateway heard nothing in time from the server behind it (RFC 9110, 15.6.5)",
}

GRPC: dict[str, Outcome] = {
    "OK": Outcome.SUCCESS,
    "CANCELLED": Outcome.PERMANENT,
    "UNKNOWN": Outcome.UNKNOWN,
    "INVALID_ARGUMENT": Outcome.PERMANENT,
    "DEADLINE_EXCEEDED": Outcome.UNKNOWN,
    "NOT_FOUND": Outcome.PERMANENT,
    "ALREADY_EXISTS": Outcome.PERMANENT,
    "PERMISSION_DENIED": Outcome.PERMANENT,
    "RESOURCE_EXHAUSTED": Outcome.TRANSIENT,
    "FAILED_PRECONDITION": Outcome.PERMANENT,
    "ABORTED": Outcome.TRANSIENT,
    "OUT_OF_RANGE": Outcome.PERMANENT,
    "UNIMPLEMENTED": Outcome.PERMANENT,
    "INTERNAL": Outcome.UNKNOWN,
    "UNAVAILABLE": Outcome.TRANSIENT,
    "DATA_LOSS": Outcome.PERMANENT,
    "UNAUTHENTICATED": Outcome.PERMANENT,
}
"""gRPC status names, as in the gRPC documentation's "Status codes and their use in gRPC"."""


def classify_http(status: int, *, running: bool = False) -> Outcome:
    """What an HTTP status says; ValueError outside 100 to 599.

    `running` tells that this API answers 409 only while the same key is still being worked on; then 409 is worth
    another try, and otherwise it is a final no. Source: RFC 9110; RFC 6585.
    """
    if not 100 <= status <= 599:
        raise ValueError(f"{status!r} is not an HTTP status; they go from 100 to 599.")
    if status in TRANSIENT_HTTP or (status == 409 and running):
        return Outcome.TRANSIENT
    if status in UNKNOWN_HTTP:
        return Outcome.UNKNOWN
    return Outcome.SUCCESS if 200 <= status <= 299 else Outcome.PERMANENT


def classify_grpc(name: str) -> Outcome:
    """What a gRPC status name (`UNAVAILABLE`) says; ValueError for a name gRPC does not have.

    ABORTED is worth a try at a higher level (read again, then write); RESOURCE_EXHAUSTED when a hint says when.
    """
    if name not in GRPC:
        raise ValueError(f"{name!r} is not a gRPC status; they are {', '.join(GRPC)}.")
    return GRPC[name]
