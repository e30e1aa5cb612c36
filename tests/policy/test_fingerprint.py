"""The fingerprint: equal for the same request however its JSON is written, different for any other."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.policy.fingerprint import canonical, fingerprint

PATH = "/v1/payments"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def post(body: str | bytes, path: str = PATH) -> str:
    return fingerprint("POST", path, body)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"amount_cents":5000,"currency":"eur"}', '{"currency":"eur","amount_cents":5000}'),
        ('{"amount_cents":5000}', '{"amount_cents": 5000}'),
        ('{"amount_cents":5000}', '{"amount_cents":5000.0}'),
        ('{"amount_cents":5000}', '{"amount_cents":5e3}'),
        ('{"note":"\\u00e9"}', '{"note":"é"}'),
        ('{"n":-0.0}', '{"n":0}'),
    ],
    ids=["order of members", "a blank", "a decimal point", "an exponent", "an escape", "minus zero"],
)
def test_the_same_request(first: str, second: str) -> None:
    assert post(first) == post(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"amount_cents":5000}', '{"amount_cents":"5000"}'),
        ('{"note":"\\u00e9"}', '{"note":"e\\u0301"}'),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ('{"a":null}', "{}"),
        ("", "{}"),
        ("not json", "not  json"),
    ],
    ids=["number or text", "composed or not", "order in a list", "null or absent", "empty or {}", "bytes"],
)
def test_another_request(first: str, second: str) -> None:
    assert post(first) != post(second)


def test_method_and_path_count_and_do_not_run_together() -> None:
    assert post("{}") != post("{}", "/v1/refunds")
    assert fingerprint("POST", PATH, "{}") != fingerprint("PUT", PATH, "{}")
    assert fingerprint("post", PATH, "{}") == fingerprint("POST", PATH, "{}")
    assert fingerprint("POST", "/a", b"bc") != fingerprint("POST", "/ab", b"c")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"a":1,"a":2}', "'a' twice"),
        ('{"x":{"a":1,"a":1}}', "'a' twice"),
        ('{"a":NaN}', "holds NaN"),
        ('{"a":-Infinity}', "holds -Infinity"),
        ('{"a":9007199254740993}', r"beyond 2\*\*53"),
        ('{"a":1e400}', "range of a double"),
        ('{"a":"\\ud800"}', "Unicode"),
        ('{"\\udead":1}', "Unicode"),
        ("[" * 100_000, "too deep"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "too deep"),
        ("9" * 5_000, r"beyond 2\*\*53"),
    ],
    ids=[
        "member twice",
        "twice within",
        "NaN",
        "infinity",
        "2**53+1",
        "1e400",
        "surrogate",
        "surrogate in a name",
        "deep",
        "deep {}",
        "long",
    ],
)
def test_json_that_cannot_be_told_apart_is_refused_in_one_sentence(body: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        post(body)
    assert str(error.value).count(".") <= 2


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_appendix_b_of_rfc_8785_writes_them(bits: str, text: str) -> None:
    """Given there as the 64 bits of a double; what a client writes for it is Python's own repr here."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(repr(number).encode()) == text.encode()


@pytest.mark.parametrize(("number", "text"), [("4.50", "4.5"), ("2e-3", "0.002"), ("1e16", "10000000000000000")])
def test_however_a_number_is_written_it_is_the_same_number(number: str, text: str) -> None:
    assert canonical(number.encode()) == text.encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_canonical_number_is_still_that_number(number: float) -> None:
    assert float(canonical(repr(number).encode())) == number


@given(st.integers(-(10**30), 10**30))
def test_whole_numbers_count_exactly_or_are_refused(number: int) -> None:
    body = str(number).encode()
    if abs(number) <= 2**53:
        assert canonical(body) == body
    else:
        with pytest.raises(ValueError, match=r"beyond 2\*\*53"):
            canonical(body)


def test_strings_escape_only_what_they_must() -> None:
    """RFC 8785, 3.2.2.2: control characters, quote and backslash; the solidus and all else stand as they are."""
    assert (
        canonical(rb'"\u20ac$\u000F\u000aA\u0027\u0042\u0022\u005c\\\"\/"')
        == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()
    )


def test_members_are_sorted_by_utf_16_not_by_code_point() -> None:
    assert canonical('{"\ufb33":1,"\U0001f600":2}'.encode()) == '{"\U0001f600":2,"\ufb33":1}'.encode()


@given(JSON, st.text(max_size=8), st.text(max_size=8))
def test_another_path_is_another_request(value: object, path: str, other: str) -> None:
    body = json.dumps(value)
    assert (post(body, path) == post(body, other)) is (path == other)


@given(JSON)
def test_blanks_and_the_order_of_members_never_count(value: object) -> None:
    def backwards(v: object) -> object:
        if isinstance(v, dict):
            return {k: backwards(v[k]) for k in reversed(list(v))}
        return [backwards(x) for x in v] if isinstance(v, list) else v

    assert post(json.dumps(value)) == post(json.dumps(backwards(value), indent=2, ensure_ascii=False))


@given(st.binary(max_size=60))
def test_any_bytes_have_a_fingerprint_or_one_sentence(body: bytes) -> None:
    try:
        assert len(post(body)) == 64
    except ValueError as error:
        assert "JSON" in str(error)  # noqa: PT017
