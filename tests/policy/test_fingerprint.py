"""The fingerprint: equal for the same request however its JSON is written, different for any other."""

from __future__ import annotations

import json

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
        ("[" * 100_000, "too deep"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "too deep"),
        ("9" * 5_000, r"beyond 2\*\*53"),
    ],
    ids=["member twice", "twice within", "NaN", "infinity", "2**53+1", "1e400", "surrogate", "deep", "deep {}", "long"],
)
def test_json_that_cannot_be_told_apart_is_refused_in_one_sentence(body: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        post(body)
    assert str(error.value).count(".") <= 2


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1e16", "10000000000000000"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("0.000001", "0.000001"),
        ("333333333.33333329", "333333333.3333333"),
        ("-0.0", "0"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
    ],
)
def test_numbers_are_written_as_rfc_8785_writes_them(number: str, text: str) -> None:
    assert canonical(number.encode()) == text.encode()


def test_members_are_sorted_by_utf_16_not_by_code_point() -> None:
    assert canonical('{"\ufb33":1,"\U0001f600":2}'.encode()) == '{"\U0001f600":2,"\ufb33":1}'.encode()


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
