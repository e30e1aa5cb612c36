"""What to retry: every status in the course's tables, one test each."""

from __future__ import annotations

import pytest

from simlib.policy.classify import GRPC, HTTP, Outcome, Status, classify_grpc, classify_http


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206])
def test_done_is_done(status: int) -> None:
    assert classify_http(status) is Outcome.SUCCESS


@pytest.mark.parametrize("status", [408, 429, 503])
def test_worth_another_try(status: int) -> None:
    assert classify_http(status) is Outcome.TRANSIENT


@pytest.mark.parametrize("status", [500, 502, 504])
def test_worth_another_try_but_only_with_the_key(status: int) -> None:
    assert classify_http(status) is Outcome.UNKNOWN


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 412, 413, 415, 422, 451, 501, 505])
def test_a_final_no(status: int) -> None:
    assert classify_http(status) is Outcome.PERMANENT


def test_409_is_worth_another_try_only_where_it_means_still_running() -> None:
    assert classify_http(409) is Outcome.PERMANENT
    assert classify_http(409, running=True) is Outcome.TRANSIENT


@pytest.mark.parametrize("status", [99, 600, 0, -1])
def test_a_number_that_is_no_status_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match="not an HTTP status"):
        classify_http(status)


@pytest.mark.parametrize(("status", "served"), [(201, True), (402, True), (422, True), (500, False), (429, False)])
def test_a_final_no_is_a_server_that_works(status: int, served: bool) -> None:
    """A declined card must not open a breaker."""
    assert classify_http(status).served is served


def test_every_status_has_an_outcome() -> None:
    assert {classify_http(status) for status in range(100, 600)} == set(Outcome)


@pytest.mark.parametrize("name", ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"])
def test_grpc_worth_another_try(name: str) -> None:
    assert classify_grpc(name) is Outcome.TRANSIENT


def test_grpc_deadline_says_nothing_of_what_was_done() -> None:
    assert classify_grpc("DEADLINE_EXCEEDED") is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "name",
    [
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "FAILED_PRECONDITION",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
    ],
)
def test_grpc_a_final_no(name: str) -> None:
    assert classify_grpc(name) is Outcome.PERMANENT


@pytest.mark.parametrize("row", [*HTTP.values(), *GRPC.values()], ids=[str(status) for status in (*HTTP, *GRPC)])
def test_every_row_says_why_and_who_says_so(row: Status) -> None:
    assert row.why
    assert row.source.startswith(("RFC ", "gRPC documentation"))


def test_grpc_has_seventeen_names_and_no_others() -> None:
    assert len(GRPC) == 17
    with pytest.raises(ValueError, match="'TEAPOT' is not a gRPC status"):
        classify_grpc("TEAPOT")
