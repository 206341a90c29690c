"""Answers to HTTP requests that are turned away before the protocol sees them."""

from __future__ import annotations

import json

from starlette.responses import Response


def refused(status: int, message: str, *, retry_s: float | None = None) -> Response:
    """Return an answer that an MCP client can show: a JSON-RPC error that belongs to no request. `retry_s` becomes a
    Retry-After header of at least 1 s."""
    headers = {} if retry_s is None else {"Retry-After": str(max(1, round(retry_s)))}
    body: dict[str, object] = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return Response(json.dumps(body), status_code=status, media_type="application/json", headers=headers)
