"""Reading the Idempotency-Key header: one key, bare or quoted, or a clear refusal."""

from __future__ import annotations

LONGEST = 255


class BadKey(ValueError):
    """A header that names no usable key: `status` is the HTTP answer, `reason` one sentence for the caller."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


def parse_key(header: str | None) -> str:
    """The key in an Idempotency-Key header: the same for `8e03` and `"8e03"`.

    The draft makes the value a structured-field string, so quoted, with backslash before a quote or backslash
    (RFC 9651, 3.3.3); most callers send it bare, which is taken too. A key has 1 to 255 printable ASCII characters.

    Raises `BadKey` (status 400). Source: draft-ietf-httpapi-idempotency-key-header-07; Stripe's limit of 255.
    """
    text = (header or "").strip(" \t")
    key = _unquoted(text) if text.startswith('"') else _bare(text)
    if not key.strip(" "):
        raise BadKey("Idempotency-Key is missing or empty; send one key, for example a random UUID.")
    if len(key) > LONGEST:
        raise BadKey(f"Idempotency-Key has {len(key)} characters; at most {LONGEST} are taken.")
    return key


def _bare(text: str) -> str:
    _printable(text)
    for mark, what in ((",", "more than one key"), ('"', "a stray quote"), (" ", "a blank")):
        if mark in text:
            raise BadKey(f"Idempotency-Key holds {what}; send one key, quoted if it needs such characters.")
    return text


def _unquoted(text: str) -> str:
    _printable(text)
    key: list[str] = []
    rest = iter(text[1:])
    for mark in rest:
        if mark == '"':
            if next(rest, None) is not None:
                raise BadKey("Idempotency-Key goes on after its closing quote; send one quoted key and nothing else.")
            return "".join(key)
        if mark == "\\":
            mark = next(rest, "")
            if mark not in ('"', "\\"):
                raise BadKey('Idempotency-Key has a backslash before something other than " or \\; send one key.')
        key.append(mark)
    raise BadKey("Idempotency-Key opens a quote and never closes it; send one key, bare or in a pair of quotes.")


def _printable(text: str) -> None:
    odd = next((c for c in text if not " " <= c <= "~"), None)
    if odd is not None:
        raise BadKey(f"Idempotency-Key holds {odd!a}; only printable ASCII characters are taken.")
