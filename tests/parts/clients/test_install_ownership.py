"""`install` and `uninstall` change only a server that is provably outlive's, and keep the first original."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from outlive import limits
from outlive.parts.clients import registry
from outlive.parts.clients.registry import CLIENTS, Machine
from support.cli import Cli
from support.tiers import only

ALL = sorted(CLIENTS)
OVER_HTTP = sorted(set(ALL) - {"claude-desktop"})
URL = "https://jobs.example.org/mcp"
SECRET = "Bearer s3cret"  # a literal token, as a person pastes it
THEIRS = {"codex": {"url": "https://api.example.com/mcp/", "http_headers": {"Authorization": SECRET}},
          "cursor": {"url": "https://api.example.com/mcp/", "headers": {"Authorization": SECRET}}}  # fmt: skip


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


@pytest.mark.parametrize("client", THEIRS)
def test_a_server_of_another_product_over_http_is_refused(client: str, cli: Cli, home: Path) -> None:
    path = with_server(client, home, "github", THEIRS[client])
    before = path.read_bytes()
    named = (client, "--name", "github")
    errors = [cli.error(verb, *named, code="invalid_state", status=1) for verb in ("install", "uninstall")]
    other = (("--url", URL, "--token-env", "TOKEN"), ("--url", THEIRS[client]["url"]))
    errors += [cli.error("install", *named, *words, code="invalid_state", status=1) for words in other]
    assert all("--name" in error["hint"] for error in errors)
    assert "s3cret" not in json.dumps(errors)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]


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
