"""How long a client lets a call last."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.parts.clients.patience import longest_call_ms

CODEX = """
[mcp_servers.other]
command = "other"
tool_timeout_sec = 5
[mcp_servers.jobs]
command = "outlive"
args = ["mcp"]
"""
OPENCODE = '{"mcp": {"outlive": {"type": "local", "command": ["outlive", "mcp"], "timeout": %s}}}'


def longest(place: Path, name: str, files: dict[str, str]) -> int:
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    (place / "project").mkdir(exist_ok=True)
    return longest_call_ms(name, {"HOME": str(place)}, str(place / "project"))


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("codex-mcp-client", {}, 50_000),
        ("codex-mcp-client", {".codex/config.toml": CODEX}, 50_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = 120"}, 110_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = 960"}, 900_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = 100000"}, 900_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = true"}, 50_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = inf"}, 900_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = nan"}, 900_000),
        ("codex-mcp-client", {".codex/config.toml": f"{CODEX}tool_timeout_sec = -inf"}, 50_000),
        ("codex-mcp-client", {".codex/config.toml": "no toml ["}, 50_000),
        ("codex-mcp-client", {".codex/config.toml": f"a = {'[' * 5000}{']' * 5000}"}, 50_000),
        (
            "codex-mcp-client",
            {
                ".codex/config.toml": f"{CODEX}tool_timeout_sec = 500",
                "project/.codex/config.toml": f"{CODEX}tool_timeout_sec = 90",
            },
            80_000,
        ),
        ("opencode", {".config/opencode/opencode.json": OPENCODE % 120000}, 110_000),
        ("opencode", {".config/opencode/opencode.json": OPENCODE % '"long"'}, 50_000),
        ("claude-code", {}, 900_000),
        ("claude-code", {"project/.mcp.json": '{"mcpServers": {"o": {"command": "outlive", "args": ["mcp"], "timeout": 70000}}}'}, 60_000),
        ("gemini-cli-mcp-client", {}, 570_000),
        ("gemini-cli-mcp-client-outlive", {}, 570_000),
        (
            "gemini-cli-mcp-client-jobs",
            {
                ".gemini/settings.json": '{"mcpServers": {"j": {"command": "outlive", "args": ["mcp"], "timeout": 90000}}}'
            },
            80_000,
        ),
        ("somebody", {".codex/config.toml": f"{CODEX}tool_timeout_sec = 120"}, 50_000),
    ],
)  # fmt: skip
def test_a_call_is_as_long_as_the_client_and_our_entry_allow(
    tmp_path: Path, name: str, files: dict[str, str], expected: int
) -> None:
    assert longest(tmp_path, name, files) == expected
