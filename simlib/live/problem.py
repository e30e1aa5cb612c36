"""Answers that say what went wrong: `application/problem+json`, one sentence in `detail` (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


def problem(
    status: int, detail: str, *, kind: str = "about:blank", headers: Mapping[str, str] | None = None
) -> Response:
    """A problem answer. `kind` tells programs which problem it is, where the status alone does not."""
    body = {"type": kind, "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return Response(json.dumps(body), status, headers, MEDIA_TYPE)
