"""Where each client keeps its configuration, and what a server looks like there."""

from __future__ import annotations

import json
import os
import pwd
import shlex
from typing import Any

import pytest

from outlive.parts.clients import discover, registry
from outlive.parts.clients.registry import CLIENTS, Machine
from outlive.parts.sandbox.confinement import visible_paths

HERE = Machine("/home/me", {}, "/project")


def test_a_file_is_where_the_client_looks() -> None:
    rows: list[tuple[str, str, Any]] = [
        ("claude-code", ".claude.json", ".mcp.json"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", None),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("openclaw", ".openclaw/openclaw.json", None),
        ("goose", ".config/goose/config.yaml", ...),
        ("zed", ".config/zed/settings.json", ...),
    ]
    for client, users, projects in rows:
        assert registry.file_of(CLIENTS[client], registry.USER, HERE) == f"/home/me/{users}"
        if projects is not ...:
            path = registry.file_of(CLIENTS[client], registry.PROJECT, HERE)
            assert path == (f"/project/{projects}" if projects else None)
            assert registry.file_of(CLIENTS[client], registry.PROJECT, Machine("/home/me", {}, None)) is None


@pytest.mark.parametrize("empty", ["", "relative/home"])
def test_a_home_that_is_no_absolute_path_is_that_of_the_password_database_for_a_client_too(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", empty)
    machine = discover.this_machine({"HOME": empty, "XDG_CONFIG_HOME": "relative"}, None)
    theirs = pwd.getpwuid(os.getuid()).pw_dir
    assert registry.file_of(CLIENTS["goose"], registry.USER, machine) == f"{theirs}/.config/goose/config.yaml"


def test_a_client_that_was_told_to_look_elsewhere_does() -> None:
    rows: list[tuple[str, dict[str, str], str]] = [
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("claude-desktop", {"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("vscode", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("codex", {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("openclaw", {"OPENCLAW_STATE_DIR": "/o"}, "/o/openclaw.json"),
        ("openclaw", {"OPENCLAW_STATE_DIR": "/o", "OPENCLAW_CONFIG_PATH": "/p.json"}, "/p.json"),
    ]
    for client, env, path in rows:
        assert registry.file_of(CLIENTS[client], registry.USER, Machine("/home/me", env, None)) == path


def test_an_entry_has_the_words_of_its_client_and_is_read_again() -> None:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("opencode", {"type": "local", "command": ["/o", "mcp"], "environment": {"A": "1"}}),
        ("goose", {"type": "stdio", "name": "outlive", "cmd": "/o", "args": ["mcp"], "envs": {"A": "1"}}),
        ("zed", {"command": "/o", "args": ["mcp"], "env": {"A": "1"}}),
        ("vscode", {"type": "stdio", "command": "/o", "args": ["mcp"], "env": {"A": "1"}}),
    ]
    for client, entry in rows:
        made = registry.stdio_entry(CLIENTS[client], "outlive", "/o", ["mcp"], {"A": "1"})
        assert made == entry
        assert registry.words_of(made) == ["/o", "mcp"]
        assert registry.environment_of(made) == {"A": "1"}


def test_over_http_a_token_is_named_and_never_written() -> None:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("claude-code", {"type": "http", "url": "U", "headers": {"Authorization": "Bearer ${T}"}}),
        ("cursor", {"url": "U", "headers": {"Authorization": "Bearer ${env:T}"}}),
        ("vscode", {"type": "http", "url": "U", "headers": {"Authorization": "Bearer ${input:outlive-token}"}}),
        ("codex", {"url": "U", "bearer_token_env_var": "T"}),
        ("gemini", {"httpUrl": "U", "headers": {"Authorization": "Bearer ${T}"}}),
        ("openclaw", {"url": "U", "transport": "streamable-http", "headers": {"Authorization": "Bearer ${T}"}}),
        ("opencode", {"type": "remote", "url": "U", "headers": {"Authorization": "Bearer {env:T}"}}),
        ("windsurf", {"serverUrl": "U", "headers": {"Authorization": "Bearer ${env:T}"}}),
        ("roo", {"type": "streamable-http", "url": "U", "headers": {"Authorization": "Bearer ${env:T}"}}),
        ("amp", {"url": "U", "headers": {"Authorization": "Bearer ${T}"}}),
    ]
    for client, entry in rows:
        assert registry.http_entry(CLIENTS[client], "outlive", "U", "T") == entry
        assert "T" not in json.dumps(registry.http_entry(CLIENTS[client], "outlive", "U", None)).replace("HTTP", "")


def test_what_a_user_keeps_in_an_entry_stays() -> None:
    old = {"command": "x", "env": {"A": "1", "OUTLIVE_ROOT": "/old"}, "timeout": 5, "url": "U", "headers": {"B": "2"}}
    new = {"command": "y", "args": ["mcp"]}
    assert registry.merged(old, new) == {"command": "y", "args": ["mcp"], "env": {"A": "1"}, "timeout": 5}
    assert registry.merged(old, {"url": "V"}) == {"url": "V", "headers": {"B": "2"}, "timeout": 5}
    assert registry.merged(None, new) == registry.merged("?", new) == new


def test_one_of_ours_is_known_by_what_it_runs() -> None:
    rows: list[tuple[Any, bool]] = [
        ({"command": "outlive", "args": ["mcp"]}, True),
        ({"command": "/x/y/outlive"}, True),
        ({"command": "C:\\x\\outlive.exe"}, True),
        ({"command": "/usr/bin/python3", "args": ["-m", "outlive", "mcp"]}, True),
        ({"command": "uvx", "args": ["outlive", "mcp"]}, True),
        ({"command": "/x/outlive", "args": ["--root", "/r", "mcp"]}, True),
        ({"command": "npx", "args": ["files", "/home/me/outlive"]}, False),
        ({"url": "http://127.0.0.1:8330/mcp"}, True),
        ({"url": "http://127.0.0.1:8330/mcp", "headers": {"Authorization": "Bearer ${env:T}"}}, True),
        ({"url": "http://127.0.0.1:8330/mcp", "headers": {"Authorization": "Bearer secret"}}, False),
        ({"url": "http://127.0.0.1/mcp"}, False),
        ({"command": "/x/outlive/other"}, False),
        ({"command": "npx", "args": ["outlived"]}, False),
        ({"args": 1}, False),
        ([], False),
        ("a text", False),
        ({"command": "npx", "args": ["theirs"]}, False),
        ({"command": "mcp", "args": ["outlive"]}, False),
        ({"url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}, False),
        ({"url": "http://127.0.0.1:8330/mcp", "headers": {"authorization": "Bearer secret"}}, False),
        ({"url": "http://127.0.0.1:8330/other"}, False),
        ({"url": "http://127.0.0.1:8330/mcp", "type": "sse"}, False),
        ({"url": "http://127.0.0.1.example.com:8330/mcp"}, False),
    ]
    for entry, ours in rows:
        assert registry.is_ours(CLIENTS["cursor"], entry) is ours, entry


def test_a_server_of_another_product_over_http_is_none_of_ours_in_any_client() -> None:
    url, headers = "https://api.example.com/mcp/", {"Authorization": "Bearer s3cret"}
    usual = {"url": url, "headers": headers}
    entries: dict[str, dict[str, Any]] = {  # in the shape that each client documents
        **dict.fromkeys(("claude-desktop", "cursor", "amp", "zed"), usual),
        **{client: {"type": "http", **usual} for client in ("claude-code", "vscode")},
        "codex": {"url": url, "http_headers": headers},
        "gemini": {"httpUrl": url, "headers": headers},
        "openclaw": {"transport": "sse", **usual},
        "opencode": {"type": "remote", **usual},
        "cline": {"type": "streamableHttp", **usual},
        "goose": {"type": "streamable_http", "name": "x", "uri": url, "headers": headers},
        "roo": {"type": "streamable-http", **usual},
        "windsurf": {"serverUrl": url, "headers": headers},
    }
    assert entries.keys() == CLIENTS.keys()
    for client, entry in entries.items():
        assert registry.address_of(entry) == url, client
        assert not registry.is_ours(CLIENTS[client], entry), client


def test_what_the_clients_own_command_would_be_given() -> None:
    def told(client: str, scope: str = "user") -> str | None:
        entry = registry.stdio_entry(
            CLIENTS[client], "jobs", "/a b/outlive", ["mcp", "--isolate"], {"OUTLIVE_ROOT": "/j"}
        )
        return registry.own_command(CLIENTS[client], scope, "jobs", entry)

    words = shlex.split(str(told("claude-code", "project")))
    assert words[:-1] == ["claude", "mcp", "add-json", "--scope", "project", "jobs"]
    assert json.loads(words[-1]) == {
        "type": "stdio",
        "command": "/a b/outlive",
        "args": ["mcp", "--isolate"],
        "env": {"OUTLIVE_ROOT": "/j"},
    }
    assert told("codex") == "codex mcp add jobs --env OUTLIVE_ROOT=/j -- '/a b/outlive' mcp --isolate"
    assert told("codex", "project") is None
    assert told("gemini") == "gemini mcp add -s user -e OUTLIVE_ROOT=/j jobs '/a b/outlive' mcp --isolate"
    assert json.loads(str(told("vscode")).split("'")[1])["name"] == "jobs"
    assert str(told("openclaw")).startswith("openclaw mcp set jobs '{")
    assert told("cursor") is None
    assert told("claude-desktop") is None


def test_the_settings_of_every_client_in_a_project_are_kept_from_jobs_or_reported() -> None:
    for client in registry.CLIENTS.values():
        folder, _, file = (client.project or ".vscode/x").partition("/")
        assert folder in (visible_paths.SETTINGS if file else visible_paths.SETTING_FILES), client.project
