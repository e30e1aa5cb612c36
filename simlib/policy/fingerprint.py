"""Is it the same request? A hash of method, path and body that does not mind how the JSON was written down."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

import rfc8785


def fingerprint(method: str, path: str, body: bytes | str) -> str:
    """SHA-256 (64 hex digits) of the parts of a request that make it this request and no other.

    A JSON body counts in its canonical form (RFC 8785), so the order of members, blanks and `5000` against `5000.0`
    make no difference; an empty body, or one that is not JSON, counts byte for byte.

    Raises ValueError for JSON that cannot be told apart safely: a duplicate member, NaN or an infinity, an integer
    beyond 2**53, text that is not Unicode, or nesting too deep to read.
    """
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    parts = (method.upper().encode(), path.encode("utf-8", "surrogatepass"), canonical(raw))
    digest = hashlib.sha256()
    for part in parts:  # each part is preceded by its length, so that no two requests run together into one text
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def canonical(body: bytes) -> bytes:
    """A body in canonical JSON (RFC 8785); bytes that are not JSON come back as they are. ValueError as above."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_members, parse_int=_integer, parse_constant=_no_number
        )
    except (UnicodeDecodeError, json.JSONDecodeError):
        return body
    except RecursionError:
        raise ValueError("The JSON body is nested too deep to be read; send a flatter one.") from None
    try:
        return rfc8785.dumps(value)
    except rfc8785.FloatDomainError:
        raise ValueError("The JSON body holds a number beyond the range of a double; send it as a string.") from None
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):  # half of a surrogate pair, in a text or a name
        raise ValueError(
            "The JSON body holds half a character (a lone surrogate); send text that is Unicode."
        ) from None
    except RecursionError:
        raise ValueError("The JSON body is nested too deep to be read; send a flatter one.") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"The JSON body has the member {twice!r} twice; send it once.")
    return members


def _integer(digits: str) -> float:
    """JSON has one number type, a double; it holds every integer up to 2**53 and not every one beyond."""
    value = float(digits)
    if abs(value) > 2**53 or (len(digits) < 20 and int(digits) != value):
        raise ValueError("The JSON body holds an integer beyond 2**53; send it as a string.")
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"The JSON body holds {word}, which is not JSON; send a number or null.")
