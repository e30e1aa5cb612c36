"""Who sends a request twice though its caller asked once: counted at a real server behind a connection that dies."""

from __future__ import annotations

import pytest

from simlib.live.layers import CLIENTS, resends, who_resends


@pytest.mark.parametrize(
    ("client", "method", "done", "told"),
    [
        ("aiohttp", "GET", 2, False),
        ("aiohttp", "PUT", 2, False),
        ("aiohttp", "DELETE", 2, False),
        ("aiohttp", "POST", 1, True),
        ("httpx", "GET", 1, True),
        ("httpx", "PUT", 1, True),
        ("httpx", "POST", 1, True),
        ("urllib3", "GET", 2, False),
        ("urllib3", "PUT", 2, False),
        ("urllib3", "POST", 1, True),
        ("urllib3, Retry for all methods", "POST", 2, False),
    ],
)
def test_a_request_asked_once_is_done_this_often(client: str, method: str, done: int, told: bool) -> None:
    """aiohttp and urllib3 repeat what HTTP calls idempotent; urllib3 repeats a POST only when told; httpx never."""
    times, error = resends(CLIENTS[client], method)
    assert times == done
    assert (error is not None) == told


def test_the_table_can_be_made_where_an_event_loop_runs() -> None:
    """A notebook's cell runs inside one."""
    import asyncio

    async def cell() -> list[int]:
        return who_resends(methods=("PUT",)).column("done")

    assert asyncio.run(cell()) == [2, 1, 2, 2]
