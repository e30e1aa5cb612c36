"""A trace told in plain text: every message an arrow, every loss a cross, nothing told twice."""

from __future__ import annotations

from simlib.cli.story import tell
from simlib.trace import Recorder, Trace


def trace(*rows: tuple[float, str, str, int, str, str]) -> Trace:
    recorder = Recorder()
    for time, actor, event, attempt, peer, status in rows:
        recorder.add(time, actor, event, request=0, attempt=attempt, peer=peer, status=status)
    return recorder.freeze()


SENT = (0.0, "phone", "send", 1, "server", "")
ARRIVED = (0.1, "server", "arrive", 1, "phone", "")
REPLIED = (0.2, "server", "reply", 1, "phone", "201")
RECEIVED = (0.3, "phone", "receive", 1, "server", "201")


def lines(*rows: tuple[float, str, str, int, str, str]) -> list[str]:
    return tell(trace(*rows)).splitlines()


def test_a_message_is_one_arrow_from_lane_to_lane() -> None:
    head, there, back = lines(SENT, ARRIVED, REPLIED, RECEIVED)
    assert head.split() == ["phone", "server"]
    assert there.index("●") < there.index("▶")
    assert "try 1" in there
    assert back.index("◀") < back.index("●")
    assert "201" in back


def test_a_lost_request_and_a_lost_reply_end_in_a_cross_on_their_way() -> None:
    lost_request = (0.1, "network", "lose", 1, "server", "request")
    lost_reply = (0.3, "network", "lose", 1, "phone", "reply")
    _, request = lines(SENT, lost_request)
    assert request.index("●") < request.index("✗")
    _, _, reply = lines(SENT, ARRIVED, REPLIED, lost_reply)
    assert reply.index("✗") < reply.index("●")


def test_a_message_still_on_its_way_at_the_end_is_told() -> None:
    assert "send" in lines(SENT)[1]


def test_lanes_stand_in_the_usual_order_whoever_acts_first() -> None:
    rows = [(0.0, name, "crash", 0, "", "") for name in ("database", "relay", "server", "phone")]
    assert lines(*rows)[0].split() == ["phone", "server", "database", "relay"]


def test_no_line_ends_in_blanks() -> None:
    assert all(line == line.rstrip() for line in lines(SENT, ARRIVED, REPLIED, RECEIVED))
