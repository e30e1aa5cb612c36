"""The Idempotency-Key header: quoted and bare are one key; what is no single key is refused with 400."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.keys import BadKey, parse_key

UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324"
PRINTABLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (UUID, UUID),
        (f'"{UUID}"', UUID),
        (f"  {UUID}\t", UUID),
        ("a" * 255, "a" * 255),
        ('"' + "a" * 255 + '"', "a" * 255),
        ('"a, b"', "a, b"),
        (r'"say \"hi\" \\"', 'say "hi" \\'),
    ],
)
def test_a_usable_key(header: str, key: str) -> None:
    assert parse_key(header) == key


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "missing or empty"),
        ("", "missing or empty"),
        ('""', "missing or empty"),
        ('"   "', "missing or empty"),
        ("   ", "missing or empty"),
        ("a" * 256, "256 characters"),
        ('"' + "a" * 256 + '"', "256 characters"),
        ('"unclosed', "never closes"),
        ('un"closed', "stray quote"),
        ('"a" "b"', "after its closing quote"),
        (r'"a\n"', "backslash"),
        ("a, b", "more than one key"),
        ("caf\u00e9", "printable ASCII"),
        ('"a\u0000b"', "printable ASCII"),
        ("a\u0000b", "printable ASCII"),
        ('"a";one=1', "after its closing quote"),
        ('"a\\', "backslash"),
        ("two words", "a blank"),
        ("a\u007fb", "printable ASCII"),
    ],
)
def test_no_usable_key(header: str | None, reason: str) -> None:
    with pytest.raises(BadKey, match=reason) as error:
        parse_key(header)
    assert error.value.status == 400


@given(
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='",'), min_size=1, max_size=255)
)
def test_bare_and_quoted_are_the_same_key(key: str) -> None:
    assert parse_key(key) == key == parse_key('"' + key.replace("\\", "\\\\") + '"')


@given(st.text(PRINTABLE, min_size=1, max_size=255).filter(lambda key: key.strip(" ")))
def test_every_printable_key_survives_quoting(key: str) -> None:
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert parse_key(quoted) == key


@given(st.text())
def test_any_text_gives_a_key_within_the_limits_or_a_refusal(header: str) -> None:
    try:
        key = parse_key(header)
    except BadKey as refusal:
        assert refusal.status == 400  # noqa: PT017
    else:
        assert 1 <= len(key) <= 255
        assert key.isascii()
