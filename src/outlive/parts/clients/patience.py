"""How long a client lets a call of a tool last, by what it is and by the entry that starts us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from outlive import limits
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.parts.clients import discover, registry
from outlive.parts.clients.edit import parsed
from outlive.parts.safe_file import ConfigFile

_MARGIN_MS = 10_000  # for the answer to be made and sent, at least
_MARGIN = 0.05  # of what the client allows: on a busy machine the call comes late
_MOST_MS = 900_000  # a build of ten minutes is one call


class _Patience(Value):
    """`member` of an entry bounds a call, in units of `unit_ms`; without it the client's own `default_ms` does."""

    client: str
    member: str
    unit_ms: int
    default_ms: int


# By the name that a client gives itself over MCP; measured but for OpenCode's default, which it documents.
# Gemini CLI adds a hyphen and the name of the server
_GEMINI = "gemini-cli-mcp-client"
_OF = {
    "claude-code": _Patience("claude-code", "timeout", 1, 100_000_000),
    "codex-mcp-client": _Patience("codex", "tool_timeout_sec", 1_000, 60_000),
    _GEMINI: _Patience("gemini", "timeout", 1, 600_000),
    "openclaw-bundle-mcp": _Patience("openclaw", "requestTimeoutMs", 1, 60_000),
    "opencode": _Patience("opencode", "timeout", 1, 5_000),
}


def longest_call_ms(name: str, env: Mapping[str, str], cwd: str | None) -> int:
    """Return how long a call of the client of this name may last: MCP_CALL_MS where nothing is known of it. Of several
    entries the shortest time counts."""
    patience = _OF.get(_GEMINI if name.startswith(f"{_GEMINI}-") else name)
    if patience is None:
        return limits.MCP_CALL_MS
    allowed = min(_bounds(patience, env, cwd), default=patience.default_ms)
    margin_ms = max(_MARGIN_MS, round(allowed * _MARGIN))
    return max(limits.MCP_CALL_MS, min(allowed - margin_ms, _MOST_MS))


def _bounds(patience: _Patience, env: Mapping[str, str], cwd: str | None) -> Iterator[int]:
    """Yield the bound of each of our entries. A file that cannot be read has none."""
    client, machine = registry.CLIENTS[patience.client], discover.this_machine(env, cwd)
    for level in registry.LEVELS:
        path = registry.file_of(client, level, machine)
        try:
            data = None if path is None else ConfigFile(discover.path_in_use(path)).read()
            servers = {} if data is None else parsed(client, data).get(client.keys)
        except (OutliveError, ValueError):
            continue
        for entry in servers.values() if isinstance(servers, dict) else ():
            if isinstance(entry, dict) and registry.is_ours(client, entry):
                given = entry.get(patience.member)
                if isinstance(given, (int, float)) and not isinstance(given, bool):
                    # In this order: nan, which TOML has beside inf, is then no bound either
                    yield round(max(0, min(limits.MAX_DURATION_MS, given * patience.unit_ms)))
                else:
                    yield patience.default_ms
