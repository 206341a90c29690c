"""Answer what every client asks first, before the SDK is imported.

The SDK takes half a second to import, and some clients ask their model without our tools if these
are not listed by then. The answers here are made of the same declarations as the SDK's and equal
them, but for the order of members (tests/heart/mcp/test_first_answers.py). A message that is not known here, or that
clients do not send exactly so, is left to the SDK.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from outlive import parts
from outlive.core.members import object_of, parse_json, text_of
from outlive.mcp import introduction
from outlive.mcp.stdio import malformed

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # with a handshake, the newest last
MODERN_VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"  # of the members of a request's _meta, from MODERN_VERSION on
VERSION, CLIENT, CAPABILITIES = f"{PREFIX}protocolVersion", f"{PREFIX}clientInfo", f"{PREFIX}clientCapabilities"
_INTERNAL_ERROR = -32603  # of JSON-RPC
_SERVER = f"{PREFIX}serverInfo"
# The SDK's server takes no notice of these
_IGNORED = ("notifications/cancelled", "notifications/progress", "notifications/roots/list_changed")


class FirstAnswers:
    """Answers the first requests of one connection.

    `tools(client, capabilities)` returns the tools for a client of this name with these capabilities, as they stand in
    `tools/list`.
    Members: `replay` are the lines that put the session of the SDK's server into the right state,
    and `repeated` the ids of the requests among them, which are answered already. `listed`: the
    client has our tools.
    """

    def __init__(
        self,
        about: introduction.Introduction,
        tools: Callable[[str | None, dict[str, object]], list[dict[str, object]]],
    ) -> None:
        self.replay: list[bytes] = []
        self.repeated: list[int | str] = []
        self.listed = False
        self._about = about
        self._tools = tools
        self._modern: bool | None = None  # the era of the connection, None before its first request
        self._shaken = self._initialized = False
        self._has_jobs: Callable[[str | None], bool] | None = None  # for the message in hand
        self._client: str | None = None  # the name from the handshake, and
        self._capabilities: dict[str, object] = {}  # what was declared there

    def to(
        self, line: bytes, *, waiting: bool = False, has_jobs: Callable[[str | None], bool] | None = None
    ) -> bytes | None:
        """Return the answer to a message, b"" where none is due, None if the SDK has to answer. `waiting`: an earlier
        message waits, which a notification may be about. `has_jobs(client)` tells whether a client of this name may
        have jobs; it may take its time."""
        self._has_jobs = has_jobs
        message, wrong = malformed.judged(line)
        if wrong is not None:
            return _error(wrong)
        if message is None:
            return b""
        if not message.keys() <= {"jsonrpc", "id", "method", "params"}:
            return None
        params = message.get("params", {})
        if not isinstance(params, dict) or not isinstance(params.get("_meta", {}), dict):
            return None
        if "id" not in message:
            return None if waiting else self._noted(message.get("method"), line)
        return self._answered(message["id"], str(message.get("method")), params, line)

    def _noted(self, method: object, line: bytes) -> bytes | None:
        if method == "notifications/initialized" and self._shaken:
            if not self._initialized:
                self.replay.append(line)
            self._initialized = True
            return b""
        known = _IGNORED[:1] if self._modern else _IGNORED
        return b"" if self._modern is not None and method in known else None

    def _answered(self, number: int | str, method: str, params: dict[str, object], line: bytes) -> bytes | None:
        meta = object_of(params, "_meta")
        modern = method != "initialize" and VERSION in meta
        if self._modern not in (None, modern):  # a connection stays in its era, and the SDK says so
            return None
        result = (self._modern_result if modern else self._legacy_result)(method, params)
        if result is None:
            return None
        answer = json.dumps(
            {"jsonrpc": "2.0", "id": number, "result": result}, ensure_ascii=False, separators=(",", ":")
        ).encode()
        if self._modern is None or method == "initialize":  # the first request decides the era
            self.replay.append(line)
            self.repeated.append(number)
        self._modern = modern
        self._shaken = self._shaken or method == "initialize"
        self.listed = self.listed or method == "tools/list"
        return answer + b"\n"

    # --- protocols with a handshake ---

    def _legacy_result(self, method: str, params: dict[str, object]) -> dict[str, object] | None:
        if method == "initialize":
            return None if self._shaken or not _shakes_hands(params) else self._initialize(params)
        if params.keys() - {"_meta"} or not _is_meta(object_of(params, "_meta")):
            return None
        if method == "ping":
            return {}
        return self._list(method, self._client, self._capabilities) if self._shaken else None

    def _initialize(self, params: dict[str, object]) -> dict[str, object]:
        self._client = text_of(object_of(params, "clientInfo"), "name")
        self._capabilities = object_of(params, "capabilities")
        wanted = params["protocolVersion"]
        return {
            "capabilities": {name: one for name, one in self._about.capabilities.items() if name != "extensions"},
            "instructions": self._about.instructions,
            "protocolVersion": wanted if wanted in LEGACY_VERSIONS else LEGACY_VERSIONS[-1],
            "serverInfo": self._about.server,
        }

    # --- protocols without ---

    def _modern_result(self, method: str, params: dict[str, object]) -> dict[str, object] | None:
        meta = object_of(params, "_meta")
        client = meta.get(CLIENT, {"name": "", "version": ""})
        known = params.keys() == {"_meta"} and _is_meta(meta) and meta[VERSION] == MODERN_VERSION
        if not known or not _is_client(client) or not _is_capabilities(meta.get(CAPABILITIES)):
            return None
        if method == "server/discover":
            return {
                "cacheScope": "private",
                "capabilities": self._about.capabilities,
                "instructions": self._about.instructions,
                "resultType": "complete",
                "supportedVersions": [MODERN_VERSION],
                "ttlMs": 0,
                "_meta": {_SERVER: self._about.server},
            }
        name = text_of(object_of(meta, CLIENT), "name") if CLIENT in meta else None
        listed = self._list(method, name, object_of(meta, CAPABILITIES))
        if listed is None:
            return None
        ttl_ms, scope = introduction.TOOLS_CACHE if method == "tools/list" else (0, "private")
        about = {_SERVER: self._about.server}
        return {"resultType": "complete", **listed, "ttlMs": ttl_ms, "cacheScope": scope, "_meta": about}

    def _list(self, method: str, client: str | None, capabilities: dict[str, object]) -> dict[str, object] | None:
        if method == "tools/list":
            return {"tools": self._tools(client, capabilities)}
        name = next((part.empty_lists[method] for part in parts.every() if method in part.empty_lists), None)
        if name is None or self._has_jobs is None or self._has_jobs(client):
            return None
        return {name: []}


# --- what clients send. A shape that is not known here may be right all the same ---


def _is_meta(meta: dict[str, object]) -> bool:
    ours = {name for name in meta if name.startswith(PREFIX)}
    return ours <= {VERSION, CLIENT, CAPABILITIES} and type(meta.get("progressToken", "")) in (int, str)


def _shakes_hands(params: dict[str, object]) -> bool:
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and isinstance(params["protocolVersion"], str)
        and _is_client(params["clientInfo"])
        and _is_capabilities(params["capabilities"])
    )


def _is_client(client: object) -> bool:
    return (
        isinstance(client, dict)
        and {"name", "version"} <= client.keys() <= {"name", "version", "title", "description", "websiteUrl"}
        and all(isinstance(value, str) for value in client.values())
    )


def _is_capabilities(capabilities: object) -> bool:
    """Return whether these are capabilities of a client: objects of objects. `tasks` is deeper."""
    return (
        isinstance(capabilities, dict)
        and "tasks" not in capabilities
        and all(isinstance(one, dict) for one in capabilities.values())
        and all(
            isinstance(value, dict) or (name == "roots" and isinstance(value, bool))
            for name, one in capabilities.items()
            for value in one.values()
        )
    )


def refusal(line: bytes, message: str) -> bytes:
    """Return an error as the answer to a request, b"" to anything else."""
    try:
        request = parse_json(line)
    except ValueError:
        return b""
    if not isinstance(request, dict) or "method" not in request or type(request.get("id")) not in (int, str):
        return b""
    return _error(malformed.Fault(request["id"], _INTERNAL_ERROR, message))


def _error(fault: malformed.Fault) -> bytes:
    error = {"code": fault.code, "message": fault.message}
    return json.dumps({"jsonrpc": "2.0", "id": fault.number, "error": error}).encode() + b"\n"
