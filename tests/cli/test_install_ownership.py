"""`install` and `uninstall` change only a server that is provably outlive's, and keep the first original."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from outlive import limits
from outlive.client_config import registry
from outlive.client_config.registry import CLIENTS, Machine
from support.cli import Cli
from support.tiers import only

ALL = sorted(CLIENTS)
OVER_HTTP = sorted(set(ALL) - {"claude-desktop"})
VERBS = ["install", "uninstall"]
URL = "https://jobs.example.org/mcp"
SECRET = "Bearer s3cret"  # a literal token, as a person pastes it
# A server of another product over HTTP, in the shape that each client documents
THEIRS: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "http", "url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "claude-desktop": {"url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "cursor": {"url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "vscode": {"type": "http", "url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "codex": {"url": "https://api.example.com/mcp/", "http_headers": {"Authorization": SECRET}},
    "gemini": {"httpUrl": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "openclaw": {"url": "https://api.example.com/mcp/", "transport": "sse", "headers": {"Authorization": SECRET}},
    "opencode": {"type": "remote", "url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "amp": {"url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "cline": {"type": "streamableHttp", "url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "goose": {
        "type": "streamable_http",
        "name": "x",
        "uri": "https://api.example.com/mcp/",
        "headers": {"Authorization": SECRET},
    },
    "roo": {"type": "streamable-http", "url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "windsurf": {"serverUrl": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
    "zed": {"url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}},
}


def with_server(client: str, home: Path, name: str, entry: dict[str, Any]) -> Path:
    """Write a configuration with one server, a comment in it where the client reads comments."""
    path = Path(str(registry.file_of(CLIENTS[client], registry.USER, Machine(str(home), {}, None))))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = registry.fragment(CLIENTS[client], name, entry)
    comment = {registry.JSON: "", registry.JSONC: "// mine\n", registry.TOML: "# mine\n", registry.YAML: "# mine\n"}[
        CLIENTS[client].syntax
    ]
    path.write_text(comment + text, encoding="utf-8")
    return path


def servers(client: str, path: Path) -> Any:
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("//"))
    if CLIENTS[client].syntax == registry.YAML:
        return YAML(typ="safe").load(text)["extensions"]
    found = tomllib.loads(text) if CLIENTS[client].syntax == registry.TOML else json.loads(text)
    for key in CLIENTS[client].keys:
        found = found[key]
    return found


def token(client: str, variable: str) -> list[str]:
    return ["--token-env", variable] if CLIENTS[client].token else []


@pytest.fixture
def home(place: Path) -> Path:
    return place / "home"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["github", "outlive"])
@pytest.mark.parametrize("client", only(lambda client: client in ("cursor", "codex"), ALL))
def test_a_server_of_another_product_over_http_is_refused(
    client: str, name: str, verb: str, cli: Cli, home: Path
) -> None:
    path = with_server(client, home, name, THEIRS[client])
    before = path.read_bytes()
    error = cli.error(verb, client, "--name", name, code="invalid_state", status=1)
    assert "--name" in error["hint"]
    assert "s3cret" not in json.dumps(error)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
        {"url": f"http://127.0.0.1:{limits.SERVE_PORT}/mcp", "headers": {"authorization": SECRET}},
        {"url": f"http://127.0.0.1:{limits.SERVE_PORT}/other"},
        {"url": f"http://127.0.0.1:{limits.SERVE_PORT}/mcp", "type": "sse"},
        {"url": f"http://127.0.0.1.example.com:{limits.SERVE_PORT}/mcp"},
        {"command": "npx", "args": ["server-filesystem", "/home/me/outlive"]},
        {"command": "npx", "args": ["theirs"]},
        {"command": "mcp", "args": ["outlive"]},
        "a text",
    ],
)
def test_a_server_that_may_be_another_one_is_refused(verb: str, entry: Any, cli: Cli, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"outlive": entry}}))
    before = path.read_bytes()
    cli.error(verb, "cursor", code="invalid_state", status=1)
    assert path.read_bytes() == before


def test_a_server_of_another_product_is_not_replaced_by_one_over_http(cli: Cli, home: Path) -> None:
    path = with_server("cursor", home, "github", THEIRS["cursor"])
    before = path.read_bytes()
    words = ("install", "cursor", "--name", "github", "--url", URL, "--token-env", "TOKEN")
    cli.error(*words, code="invalid_state", status=1)
    cli.error("install", "cursor", "--name", "github", "--url", THEIRS["cursor"]["url"], code="invalid_state", status=1)
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", only({"claude-code", "codex", "goose"}.__contains__, OVER_HTTP))
def test_a_server_at_the_usual_address_with_a_token_variable_is_outlive(client: str, cli: Cli, home: Path) -> None:
    url = f"http://127.0.0.1:{limits.SERVE_PORT}/mcp"
    told = cli.ok("install", client, "--url", url, *token(client, "TOKEN"))
    assert told["change"] == "added"
    assert cli.ok("install", client, "--url", url, *token(client, "OTHER"))["change"] in ("updated", "none")
    assert cli.ok("install", client)["change"] == "updated"
    assert registry.address_of(servers(client, Path(told["path"]))["outlive"]) is None
    cli.ok("install", client, "--url", url, *token(client, "TOKEN"))
    assert cli.ok("uninstall", client)["change"] == "removed"


@pytest.mark.parametrize("client", only({"claude-code", "codex", "goose"}.__contains__, OVER_HTTP))
def test_a_server_at_another_address_is_named_by_that_address(client: str, cli: Cli, home: Path) -> None:
    words = ("install", client, "--url", URL, *token(client, "TOKEN"))
    path = Path(cli.ok(*words)["path"])
    assert cli.ok(*words)["change"] == "none"
    before = path.read_bytes()
    for refused in (("install", client), ("uninstall", client), ("install", client, "--url", URL + "2")):
        assert "--url" in cli.error(*refused, code="invalid_state", status=1)["hint"]
    assert path.read_bytes() == before
    assert cli.ok("uninstall", client, "--url", URL)["change"] == "removed"
    assert "outlive" not in path.read_text()


@pytest.mark.parametrize("client", only(lambda client: client in ("claude-code", "codex"), ALL))
def test_the_first_original_is_kept_and_no_later_change_overwrites_it(client: str, cli: Cli, home: Path) -> None:
    path = with_server(client, home, "other", {"command": "npx", "args": ["other"]})
    first = path.read_bytes()
    original = path.with_name(path.name + ".before-outlive")
    changes = (
        ("install", "--arg=--isolate"),
        ("install", "--arg=--tools=exec"),
        ("install", "--name", "second"),
        ("uninstall",),
    )
    for number, (verb, *words) in enumerate(changes):
        told = cli.ok(verb, client, *words)
        assert told["written"]
        assert told["backup"] == str(original), number
        assert original.read_bytes() == first, number
    names = {one.name for one in path.parent.iterdir() if one.is_file()}
    assert names == {path.name, original.name}


def test_the_original_of_a_linked_file_is_kept_beside_its_target(cli: Cli, home: Path, place: Path) -> None:
    path = with_server("cursor", home, "other", {"command": "npx", "args": ["other"]})
    first = path.read_bytes()
    target = place / "dotfiles.json"
    path.rename(target)
    path.symlink_to(target)
    for verb, kept in (("install", f"{target}.before-outlive"), ("uninstall", None)) * 2 + (
        ("install", f"{target}.before-outlive"),
    ):
        assert cli.ok(verb, "cursor")["backup"] == kept
    assert Path(f"{target}.before-outlive").read_bytes() == first
