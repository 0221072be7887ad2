"""Replies of JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

JSON = "application/json"
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def reply(content: Any, status: int = 200) -> Response:
    """Return a reply of JSON that nobody may keep, for it is about somebody."""
    encoded = _ENCODER.encode(content).encode(errors="backslashreplace")  # lone surrogates, as JSON escapes them
    return Response(encoded, status, {"cache-control": "no-store", "x-content-type-options": "nosniff"}, JSON)
