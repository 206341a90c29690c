"""`install` and `uninstall`: other people's files are changed in one place, or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from outlive import limits
from outlive.errors import OutliveError
from outlive.parts.clients import edit as change_module
from outlive.parts.clients import make_entry, registry
from outlive.parts.clients.discover import start_command, survey
from outlive.parts.clients.registry import CLIENTS, Machine
from outlive.parts.safe_file import ConfigFile
from outlive.system import workspaces
from support.cli import Cli, environment
from support.preloaded import OUTLIVE
from support.tiers import only
from support.wait import until

ALL = sorted(CLIENTS)
# Six shapes of files and entries; one test tries by default that the file of each client itself is written
ONE_OF_EACH_SHAPE = only(
    lambda client: client in ("claude-code", "codex", "goose", "openclaw", "opencode", "vscode"), ALL
)
PROJECTS = [name for name in ALL if CLIENTS[name].project]
OTHER = {"command": "npx", "args": ["other"]}


@pytest.fixture
def home(place: Path) -> Path:
    return place / "home"


def file_of(client: str, home: Path, scope: str = "user", work: Path | None = None) -> Path:
    machine = Machine(str(home), {}, str(work))
    return Path(str(registry.file_of(CLIENTS[client], scope, machine)))


def read(client: str, path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if CLIENTS[client].syntax == registry.YAML:
        return YAML(typ="safe").load(text)
    return tomllib.loads(text) if CLIENTS[client].syntax == registry.TOML else json.loads(text)


def servers(client: str, path: Path) -> Any:
    found = read(client, path)
    for key in CLIENTS[client].keys:
        found = found[key]
    return found


def with_others(client: str, path: Path) -> bytes:
    """A configuration as a user has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if CLIENTS[client].syntax == registry.TOML:
        path.write_text('model = "x" # mine\n\n[mcp_servers.other]\ncommand = "npx"\nargs = ["other"]\n')
    elif CLIENTS[client].syntax == registry.YAML:
        path.write_text(
            "theme: dark # mine\nextensions: # all\n  # first\n  other:\n    command: npx\n    args: ['other']\n\n# last\nx: [1,  2]\n"
        )
    else:
        value: dict[str, Any] = {"other": OTHER}
        for key in reversed(CLIENTS[client].keys):
            value = {key: value, "theme": "dark"}
        path.write_text(json.dumps(value, indent=4) + "\n")
    return path.read_bytes()


@pytest.mark.parametrize("client", only(lambda client: client in ("claude-code", "codex"), ALL))
def test_a_client_gets_an_entry_that_starts_the_server_on_the_same_root(
    client: str, cli: Cli, home: Path, root: Path
) -> None:
    path = file_of(client, home)
    told = cli.ok("install", client)
    entry = servers(client, path)["outlive"]
    assert (told["path"], told["change"], told["written"], told["backup"]) == (str(path), "added", True, None)
    assert told["entry"] == entry
    words = registry.words_of(entry)
    assert words and words[1:] == ["mcp"]
    assert registry.environment_of(entry) == {"OUTLIVE_ROOT": str(root)}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # As a desktop starts it: no PATH, no variable of ours but what the entry says
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    env |= registry.environment_of(entry)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
    done = subprocess.run(words, input=asked, env=env, capture_output=True, check=False, timeout=60)
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "outlive", done.stderr


@pytest.mark.parametrize("client", ALL)
def test_what_was_there_stays_and_uninstall_brings_it_back(client: str, cli: Cli, home: Path) -> None:
    path = file_of(client, home)
    before = with_others(client, path)
    path.chmod(0o640)
    told = cli.ok("install", client)
    assert told["change"] == "added"
    assert servers(client, path).keys() == {"other", "outlive"}
    assert servers(client, path)["other"] == OTHER
    assert Path(told["backup"]).read_bytes() == before
    assert [stat.S_IMODE(Path(one).stat().st_mode) for one in (path, told["backup"])] == [0o640, 0o640]
    gone = cli.ok("uninstall", client)
    assert (gone["change"], gone["written"]) == ("removed", True)
    assert path.read_bytes() == before
    assert gone["backup"] is None, "the file is as it was"
    again = cli.ok("uninstall", client)
    assert (again["change"], again["written"], again["backup"]) == ("none", False, None)
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]


def test_the_original_of_a_file_that_was_changed_since_is_kept(cli: Cli, home: Path) -> None:
    path = file_of("cursor", home)
    before = with_others("cursor", path)
    backup = cli.ok("install", "cursor")["backup"]
    path.write_text(path.read_text() + "\n")
    assert cli.ok("uninstall", "cursor")["backup"] == backup
    assert Path(backup).read_bytes() == before


def test_an_entry_that_somebody_else_wrote_is_taken_out_and_no_copy_is_left(cli: Cli, home: Path) -> None:
    path = file_of("cursor", home)
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"outlive": {"command": "outlive", "args": ["mcp"]}, "other": OTHER}}))
    assert cli.ok("uninstall", "cursor")["backup"] is None
    assert servers("cursor", path) == {"other": OTHER}
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_all_clients_lose_it_and_one_that_cannot_be_changed_is_named(cli: Cli, home: Path) -> None:
    for client in ("codex", "cursor", "gemini"):
        with_others(client, file_of(client, home))
    cli.ok("install", "--all", "--yes")
    file_of("gemini", home).chmod(0o400)
    assert [one["change"] for one in cli.ok("uninstall", "--all", "--print")["clients"]] == ["removed"] * 3
    error = cli.error("uninstall", "--all", code="io_error")
    assert error["message"].startswith("1 of 3 files could not be changed. Gemini CLI: "), error
    assert {one["client"]: one["written"] for one in error["details"]["clients"]} == {
        "codex": True,
        "cursor": True,
        "gemini": False,
    }
    file_of("gemini", home).chmod(0o600)
    assert [one["client"] for one in cli.ok("uninstall", "--all")["clients"]] == ["gemini"]
    assert "No client" in cli.ok("uninstall", "--all")["hint"]
    assert not list(home.rglob("*.before-outlive"))
    cli.error("uninstall", "--all", "codex", code="invalid_argument", status=2)
    cli.error("uninstall", code="invalid_argument", status=2)


def test_a_file_that_install_all_could_not_write_makes_it_fail(cli: Cli, home: Path) -> None:
    for client in ("codex", "cursor"):
        with_others(client, file_of(client, home))
    file_of("codex", home).chmod(0o400)
    error = cli.error("install", "--all", "--yes", code="io_error")
    assert error["message"].startswith("1 of 2 files could not be changed. Codex: "), error
    assert servers("cursor", file_of("cursor", home)).keys() == {"other", "outlive"}


@pytest.mark.parametrize("client", PROJECTS)
def test_a_project_has_a_file_of_its_own(client: str, cli: Cli, home: Path, work: Path) -> None:
    told = cli.ok("install", client, "--for", "project", "--command", "outlive")
    path = file_of(client, home, "project", work)
    assert told["path"] == str(path)
    assert registry.words_of(servers(client, path)["outlive"]) == ["outlive", "mcp"]
    assert not file_of(client, home).exists()
    assert told["hint"].endswith(" runs, start it again: it reads the file then.")
    assert "hint" not in cli.ok("install", client, "--for", "project", "--command", "outlive"), "nothing was changed"
    assert cli.ok("uninstall", client, "--for", "project")["change"] == "removed"


@pytest.mark.parametrize("client", ONE_OF_EACH_SHAPE)
def test_print_writes_nothing_and_shows_what_to_merge(client: str, cli: Cli, home: Path) -> None:
    path = file_of(client, home)
    told = cli.ok("install", client, "--print")
    assert (told["change"], told["written"]) == ("added", False)
    assert not path.parent.exists() or not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(told["fragment"], encoding="utf-8")
    assert servers(client, path) == {"outlive": told["entry"]}
    assert cli.ok("install", client, "--print")["change"] == "none"
    assert cli.ok("uninstall", client, "--print")["change"] == "removed"
    assert servers(client, path) == {"outlive": told["entry"]}
    human = cli.text("install", client, "--print", "--name", "second", "--human").stdout
    assert "would be added to" in human
    words = registry.words_of(told["entry"])
    assert words and words[0] in human


def test_comments_and_the_rest_of_an_entry_stay(cli: Cli, home: Path) -> None:
    path = file_of("vscode", home)
    path.parent.mkdir(parents=True)
    before = (
        '{\n\t// of the team\n\t"servers": {\n\t\t"outlive": {\n\t\t\t"command": "/old/outlive", // moved\n'
        '\t\t\t"args": ["mcp"],\n\t\t\t"env": { "A": "1" },\n\t\t\t"dev": { "watch": "x" }, // mine\n\t\t},\n\t},\n}\n'
    )
    path.write_text(before)
    told = cli.ok("install", "vscode", env={"OUTLIVE_ROOT": None, "XDG_DATA_HOME": None, "XDG_CONFIG_HOME": None})
    assert told["change"] == "updated"
    assert told["entry"] == {
        "type": "stdio", "command": told["entry"]["command"], "args": ["mcp"], "env": {"A": "1"}, "dev": {"watch": "x"}
    }  # fmt: skip
    assert path.read_text() == before.replace("/old/outlive", told["entry"]["command"]).replace(
        " }, // mine\n", ' }, // mine\n\t\t\t"type": "stdio",\n'
    )


NEEDED: dict[str, dict[str, Any]] = {
    "claude-code": {"alwaysLoad": True},
    "codex": {"required": True, "tool_timeout_sec": 960},
    "openclaw": {"requestTimeoutMs": 960_000},
    "opencode": {"enabled": True, "timeout": 960_000},
    "cline": {"timeout": 120},
    "roo": {"timeout": 120},
    "goose": {"description": "Commands as jobs that outlive the session", "enabled": True, "timeout": 300},
}


@pytest.mark.parametrize("client", NEEDED)
def test_what_a_client_needs_besides_is_written_and_told_with_its_reason(client: str, cli: Cli, home: Path) -> None:
    path = file_of(client, home)
    told = cli.ok("install", client)
    entry = servers(client, path)["outlive"]
    assert {name: entry.get(name) for name in NEEDED[client]} == NEEDED[client]
    assert {one["member"]: one["value"] for one in told["besides"]} == NEEDED[client]
    assert all(one["why"] for one in told["besides"])
    cli.ok("uninstall", client)
    assert "outlive" not in path.read_text()
    shown = cli.text("install", client, "--human").stdout
    assert all(f"{name} = " in shown for name in NEEDED[client])


def test_a_member_that_the_user_set_stays_as_it_is(cli: Cli, home: Path) -> None:
    path = file_of("codex", home)
    cli.ok("install", "codex")
    path.write_text(path.read_text().replace("required = true", "required = false"))
    told = cli.ok("install", "codex", "--approve")
    assert told["change"] == "updated"
    entry = servers("codex", path)["outlive"]
    assert (entry["required"], entry["default_tools_approval_mode"]) == (False, "approve")
    assert [one["member"] for one in told["besides"]] == ["tool_timeout_sec", "default_tools_approval_mode"]
    assert cli.ok("install", "codex")["change"] == "none"


def test_only_an_entry_that_can_allow_calls_is_told_to(cli: Cli, home: Path) -> None:
    cli.ok("install", "gemini", "--approve")
    assert servers("gemini", file_of("gemini", home))["outlive"]["trust"] is True
    assert "trust" not in cli.ok("install", "gemini", "--name", "other")["entry"]
    refused = cli.error("install", "cursor", "--approve", code="invalid_argument", status=2)
    assert "Cursor" in refused["hint"]


def test_a_linked_dotfile_stays_a_link(cli: Cli, home: Path, place: Path) -> None:
    real = place / "dotfiles" / "claude.json"
    before = with_others("claude-code", real)
    link = file_of("claude-code", home)
    link.symlink_to(real)
    told = cli.ok("install", "claude-code")
    assert link.is_symlink()
    assert "outlive" in servers("claude-code", real)
    assert told["path"] == str(link)
    assert Path(told["backup"]) == real.with_name("claude.json.before-outlive")
    cli.ok("uninstall", "claude-code")
    assert link.is_symlink()
    assert real.read_bytes() == before


def test_no_file_of_a_user_is_written_through_a_link_that_a_job_may_have_made(
    cli: Cli, work: Path, place: Path
) -> None:
    """A variable may have the file of a client lie in a project."""
    (place / "victim").write_text("{}")
    (work / ".claude.json").symlink_to(place / "victim")
    (work / "config.toml").symlink_to(place / "made")
    for client, variable in (("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")):
        error = cli.error("install", client, code="io_error", env={variable: str(work)})
        assert "A job may have made this link" in error["hint"]
    assert (place / "victim").read_text() == "{}" and not (place / "made").exists()
    (work / "config.toml").unlink()
    assert cli.ok("install", "codex", env={"CODEX_HOME": str(work)})["written"]


@pytest.mark.parametrize("folder", [False, True])
def test_no_file_of_a_project_is_written_through_a_link_that_leads_out_of_it(
    cli: Cli, work: Path, place: Path, folder: bool
) -> None:
    """A job may have made the link, to have something written where it may not."""
    target = place / "elsewhere"
    target.mkdir()
    (work / ".cursor").symlink_to(target) if folder else (work / ".cursor").mkdir()
    if not folder:
        (work / ".cursor/mcp.json").symlink_to(target / "mcp.json")
    for verb in ("install", "uninstall"):
        if verb == "uninstall":
            (target / "mcp.json").write_text('{"mcpServers": {"outlive": {"command": "outlive", "args": ["mcp"]}}}')
        error = cli.error(verb, "cursor", "--for", "project", code="io_error")
        assert "out of the project" in error["message"]
    assert [path.name for path in target.iterdir()] == ["mcp.json"]
    assert "outlive" in (target / "mcp.json").read_text()
    (work / ".cursor/mcp.json").unlink()
    (work / ".cursor").unlink() if folder else (work / ".cursor").rmdir()
    (work / "inside").mkdir()
    (work / ".cursor").symlink_to("inside")
    assert cli.ok("install", "cursor", "--for", "project")["written"]
    assert (work / "inside/mcp.json").exists()


@pytest.mark.parametrize(
    ("client", "text", "line"),
    [
        ("claude-code", '{\n  "a": 1,\n  // comment\n  "mcpServers": {}\n}\n', 3),
        ("codex", "a = 1\n\n[mcp_servers\n", 3),
        ("openclaw", "{ mcp: { servers: { x: oops } } }", 1),
        ("goose", "a: 1\nextensions:\n  x: [1\n", 4),
        ("goose", "a: 2024-13-45\n", 1),
        ("claude-code", f'{{"a": {"9" * 5000}}}', 1),
        ("codex", f"a = {'[' * 5000}{']' * 5000}\n", 1),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(client: str, text: str, line: int, cli: Cli, home: Path) -> None:
    path = file_of(client, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for verb in ("install", "uninstall"):
        error = cli.error(verb, client, code="io_error", status=1)
        assert error["details"] == {"path": str(path), "line": line, "column": error["details"]["column"]}
        assert f"line {line}" in error["message"]
        assert "--print" in error["hint"]
    told = cli.ok("install", client, "--print")
    assert (told["change"], told["written"]) == (None, False)
    assert f"line {line}" in told["hint"]
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]


def test_what_is_no_file_or_one_of_another_shape_is_left_alone(cli: Cli, home: Path) -> None:
    path = file_of("claude-code", home)
    for text in ('{"mcpServers": []}', "[]"):
        path.write_text(text)
        cli.error("install", "claude-code", code="io_error", status=1)
        assert path.read_text() == text
    path.unlink()
    os.mkfifo(path)
    cli.error("install", "claude-code", code="io_error", status=1)
    path.unlink()
    path.mkdir()
    cli.error("install", "claude-code", code="io_error", status=1)
    assert cli.ok("install", "claude-code", "--print")["change"] is None


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_another_server_with_the_name_is_not_touched(verb: str, cli: Cli, home: Path) -> None:
    path = file_of("cursor", home)
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"outlive": {"command": "npx", "args": ["theirs"]}}}')
    before = path.read_bytes()
    assert "--name" in cli.error(verb, "cursor", code="invalid_state", status=1)["hint"]
    assert path.read_bytes() == before
    assert cli.ok("install", "cursor", "--name", "jobs")["change"] == "added"
    assert servers("cursor", path).keys() == {"outlive", "jobs"}
    assert cli.ok("uninstall", "cursor", "--name", "jobs")["change"] == "removed"
    assert path.read_bytes() == before


def test_arguments_root_and_configuration_are_passed_on(cli: Cli, place: Path) -> None:
    config = place / "c.toml"
    config.write_text("")
    told = cli.ok(
        "--root",
        place / "r",
        "install",
        "cursor",
        "--arg=--isolate",
        "--arg",
        "--tools=exec",
        "--config",
        config,
        "--print",
    )
    assert told["entry"]["args"] == ["mcp", "--isolate", "--tools=exec"]
    assert told["entry"]["env"] == {"OUTLIVE_ROOT": str(place / "r"), "OUTLIVE_CONFIG": str(config)}
    env = {"OUTLIVE_ROOT": None, "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": None}
    assert cli.ok("install", "cursor", "--print", env=env)["entry"]["env"] == {"XDG_DATA_HOME": "/d"}
    assert not (place / "r").exists(), "a client is configured, no job root made"


@pytest.mark.parametrize("client", ONE_OF_EACH_SHAPE)
def test_installing_again_changes_nothing_and_keeps_the_arguments_and_variables_of_the_entry(
    client: str, cli: Cli, home: Path
) -> None:
    path = file_of(client, home)
    with_others(client, path)
    Path(cli.ok("install", client, "--arg=--isolate", "--arg=--tools", "--arg=exec")["backup"]).unlink()
    before = path.read_bytes()
    again = cli.ok("install", client)
    assert (again["change"], again["written"], again["backup"]) == ("none", False, None)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name], "no copy is made"
    words = registry.words_of(again["entry"])
    assert words and words[-4:] == ["mcp", "--isolate", "--tools", "exec"]
    path.write_text(path.read_text().replace("OUTLIVE_ROOT", "SSH_AUTH_SOCK"))
    changed = cli.ok("install", client, "--arg=--tools=process")
    words = registry.words_of(servers(client, path)["outlive"])
    assert words and words[-3:] == ["mcp", "--isolate", "--tools=process"]
    assert set(registry.environment_of(changed["entry"])) == {"OUTLIVE_ROOT", "SSH_AUTH_SOCK"}
    cli.ok("uninstall", client)
    words = registry.words_of(cli.ok("install", client)["entry"])
    assert words and words[-1] == "mcp"


def test_a_read_only_file_is_left_alone(cli: Cli, home: Path) -> None:
    path = file_of("claude-code", home)
    before = with_others("claude-code", path)
    path.chmod(0o400)
    cli.error("install", "claude-code", code="io_error", status=1)
    assert path.read_bytes() == before
    assert cli.ok("install", "claude-code", "--print")["change"] == "added"


def test_a_server_over_http_takes_the_place_of_one_on_stdio_and_back(cli: Cli, home: Path) -> None:
    path = file_of("vscode", home)
    with_others("vscode", path)
    cli.ok("install", "vscode")
    on_stdio = path.read_bytes()
    url = f"http://127.0.0.1:{limits.SERVE_PORT}/mcp"
    assert "--token-env" in cli.ok("install", "vscode", "--url", url, "--print")["hint"], "the server would refuse it"
    told = cli.ok("install", "vscode", "--url", url, "--token-env", "TOKEN")
    assert (told["change"], "--token-env" in told["hint"]) == ("updated", False)
    entry = {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:outlive-token}"}}
    assert servers("vscode", path) == {"other": OTHER, "outlive": entry}
    assert [asked["id"] for asked in read("vscode", path)["inputs"]] == ["outlive-token"]
    assert cli.ok("install", "vscode", "--url", url, "--token-env", "TOKEN")["change"] == "none"
    assert cli.ok("install", "vscode")["change"] == "updated"
    assert servers("vscode", path)["outlive"] == json.loads(on_stdio)["servers"]["outlive"]
    assert read("vscode", path)["inputs"] == []
    cli.ok("install", "vscode", "--url", url, "--token-env", "TOKEN")
    cli.ok("uninstall", "vscode")
    assert read("vscode", path) == {"servers": {"other": OTHER}, "theme": "dark", "inputs": []}


@pytest.mark.parametrize(
    "words",
    [
        ["--url", "ftp://x/mcp"],
        ["--url", "http://[::1/mcp"],
        ["--url", "http://me:secret@x/mcp"],
        ["--url", "http://x/mcp?token=secret"],
        ["--url", "http://x/mcp", "--token-env", "s-3cret"],
        ["--url", "http://x/mcp", "--arg=--isolate"],
        ["--token-env", "T"],
        ["--for", "world"],
        ["--name", " "],
        *(["--arg=--isolat"], ["--arg=--tools"], ["--arg", "run"]),  # the server would refuse them
    ],
)
def test_what_makes_no_entry_is_refused(words: list[str], cli: Cli, home: Path) -> None:
    error = cli.error("install", "cursor", *words, code="invalid_argument")
    assert "secret" not in json.dumps(error) or "?token" in words[1]
    assert not file_of("cursor", home).exists()


def test_a_client_that_is_not_known_and_ones_without_http_or_projects_are_named(cli: Cli) -> None:
    assert "cursor" in json.dumps(cli.error("install", "curser", code="invalid_argument", status=2))
    cli.error("install", "claude-desktop", "--url", "http://127.0.0.1/mcp", code="invalid_argument", status=2)
    for client in sorted(set(ALL) - set(PROJECTS)):
        cli.error("install", client, "--for", "project", code="invalid_argument", status=2)
    cli.error("install", code="invalid_argument", status=2)
    for client in ("cline", "goose", "zed"):
        refused = cli.error(
            "install", client, "--url", "http://127.0.0.1/mcp", "--token-env", "T", code="invalid_argument", status=2
        )
        assert "variable" in refused["message"]


# --- all clients at once ---------------------------------------------------------------------------------------------


@pytest.fixture
def three(home: Path, place: Path) -> dict[str, str | None]:
    """A machine with a program, a configuration directory and a file that cannot be read; the environment."""
    programs = place / "bin"
    programs.mkdir()
    (programs / "codex").symlink_to("/bin/true")
    file_of("zed", home).parent.mkdir(parents=True)
    file_of("claude-code", home).write_text("{,")
    return {"PATH": f"{programs}:/usr/bin:/bin"}


def test_all_writes_nothing_where_no_person_can_be_asked(three: dict[str, str | None], cli: Cli, home: Path) -> None:
    told = cli.ok("install", "--all", env=three)
    assert {one["client"]: one["change"] for one in told["clients"]} == {
        "claude-code": None, "codex": "added", "zed": "added"
    }  # fmt: skip
    assert not any(one["written"] for one in told["clients"])
    assert "--yes" in told["hint"]
    assert not file_of("codex", home).exists()
    assert "would be added" in cli.text("install", "--all", "--human", env=three).stdout


def test_all_with_yes_writes_what_is_there_and_fails_for_one_that_cannot_be_changed(
    three: dict[str, str | None], cli: Cli, home: Path
) -> None:
    error = cli.error("install", "--all", "--yes", env=three, code="io_error", status=1)
    assert re.match(r"1 of 3 files could not be changed\. Claude Code: .*line 1", error["message"]), error
    told = {one["client"]: one for one in error["details"]["clients"]}
    assert (told["claude-code"]["change"], told["claude-code"]["written"]) == (None, False)
    assert told["codex"]["found"].endswith("/bin/codex")
    for client in ("codex", "zed"):
        assert told[client]["written"]
        assert "outlive" in servers(client, file_of(client, home))
    file_of("claude-code", home).write_text(json.dumps({"mcpServers": {"outlive": OTHER}}))
    error = cli.error("install", "--all", "--yes", env=three, code="io_error")
    assert "nothing proves that it is outlive" in error["message"], error
    file_of("claude-code", home).write_text("{}")
    assert cli.ok("install", "--all", "--yes", env=three)["clients"][0]["written"]
    again = cli.ok("install", "--all", "--yes", env=three)
    assert {one["change"] for one in again["clients"]} == {"none"}
    assert "hint" not in again


def test_a_file_that_nobody_can_read_makes_uninstall_all_fail_too(
    three: dict[str, str | None], cli: Cli, home: Path
) -> None:
    cli.ok("install", "zed")
    error = cli.error("uninstall", "--all", env=three, code="io_error", status=1)
    assert error["message"].startswith("1 of 2 files could not be changed. Claude Code: "), error
    assert {one["client"]: one["written"] for one in error["details"]["clients"]} == {
        "claude-code": False, "zed": True
    }  # fmt: skip


def read_now(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return b""


def test_all_asks_at_a_terminal_and_only_a_yes_counts(three: dict[str, str | None], home: Path) -> None:
    env = environment({**three, "HOME": str(home)})
    master, slave = os.openpty()
    try:
        os.write(master, b"y\nno\n")
        done = subprocess.run(
            [*OUTLIVE, "install", "--all"],
            stdin=slave,
            stderr=slave,
            stdout=subprocess.PIPE,
            env=env,
            check=False,
            timeout=60,
        )
        # What was written to a terminal may come in pieces, and a while later
        os.set_blocking(master, False)
        shown = bytearray()

        def asked(name: bytes) -> bool:
            shown.extend(read_now(master))
            return name in shown

        until(lambda: asked(b"Zed"), what="the last question")
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 1, "the file of Claude Code cannot be read"
    written = {one["client"]: one["written"] for one in json.loads(done.stdout)["error"]["details"]["clients"]}
    assert written == {"claude-code": False, "codex": True, "zed": False}
    assert b"[y/N]" in shown


@pytest.mark.parametrize(
    "words", [["--all", "codex"], ["--all", "--approve"], ["codex", "--yes"], ["--all", "--for", "project"]]
)
def test_what_differs_for_each_client_does_not_go_with_all(words: list[str], cli: Cli) -> None:
    cli.error("install", *words, code="invalid_argument", status=2)


def test_a_jsonc_file_is_written_where_the_client_has_that_alone(cli: Cli, home: Path) -> None:
    path = file_of("opencode", home).with_suffix(".jsonc")
    path.parent.mkdir(parents=True)
    path.write_text('{\n  // mine\n  "mcp": {}\n}\n')
    assert cli.ok("install", "opencode")["path"] == str(path)
    assert "// mine" in path.read_text()
    assert found("opencode")["path"] == str(path)


# --- writing ---------------------------------------------------------------------------------------------------------


def test_what_somebody_else_writes_meanwhile_is_not_overwritten(home: Path) -> None:
    path = file_of("claude-code", home)
    with_others("claude-code", path)
    change = change_module.Change(CLIENTS["claude-code"], ConfigFile(str(path)), "outlive")
    change.put({"command": "/x/outlive", "args": ["mcp"]})
    path.write_text('{"theirs": 1}')
    with pytest.raises(OutliveError) as caught:
        change.write()
    assert caught.value.retryable
    assert path.read_text() == '{"theirs": 1}'


def test_a_change_that_would_damage_the_rest_is_not_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of("claude-code", home)
    before = with_others("claude-code", path)
    change = change_module.Change(CLIENTS["claude-code"], ConfigFile(str(path)), "outlive")
    monkeypatch.setattr(type(change._document), "set", lambda self, *_: setattr(self, "text", '{"mcpServers": {}}'))
    with pytest.raises(OutliveError) as caught:
        change.put({"command": "/x/outlive", "args": ["mcp"]})
    assert caught.value.code == "internal_error"
    assert path.read_bytes() == before


def test_a_directory_that_cannot_be_written_is_an_error_and_leaves_nothing(home: Path) -> None:
    path = file_of("cursor", home)
    (home / ".cursor").write_text("a file where a directory belongs")
    file = ConfigFile(str(path))
    with pytest.raises(OutliveError) as caught:
        file.write(None, b"{}")
    assert caught.value.code == "io_error"
    assert str(path) in caught.value.message


# --- which clients know outlive --------------------------------------------------------------------------------------


def found(client: str, scope: str = "user") -> dict[str, Any]:
    (one,) = (one for one in survey(os.environ, os.getcwd()) if (one["client"], one["scope"]) == (client, scope))
    return one


def test_a_survey_tells_of_every_client_and_scope() -> None:
    told = [(one["client"], one["scope"]) for one in survey(os.environ, os.getcwd())]
    assert sorted(told) == sorted([(name, "user") for name in ALL] + [(name, "project") for name in PROJECTS])
    assert not any(one["configured"] or one["present"] or one["problem"] for one in survey(os.environ, None))


@pytest.mark.parametrize("client", ONE_OF_EACH_SHAPE)
def test_a_survey_finds_what_install_wrote_into_a_file_that_has_no_original_to_keep(
    client: str, cli: Cli, home: Path
) -> None:
    path = file_of(client, home)
    assert cli.ok("install", client, "--name", "jobs")["backup"] is None
    one = found(client)
    assert (one["configured"], one["name"], one["executable"], one["problem"]) == (True, "jobs", True, None)
    assert one["command"][1:] == ["mcp"]
    gone = cli.ok("uninstall", client, "--name", "jobs")
    assert (gone["change"], gone["backup"]) == ("removed", None)
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == [path.name]
    assert (found(client)["configured"], found(client)["present"]) == (False, True)


def test_a_survey_says_what_would_not_start(home: Path, place: Path) -> None:
    path = file_of("claude-code", home)

    def with_server(entry: Any) -> dict[str, Any]:
        path.write_text(json.dumps({"mcpServers": {"x": OTHER, "outlive": entry}}))
        return found("claude-code")

    gone = with_server({"command": "/gone/outlive", "args": ["mcp"]})
    assert (gone["executable"], "does not exist" in gone["problem"]) == (False, True)
    (place / "outlive").write_text("")
    plain = with_server({"command": str(place / "outlive"), "args": ["mcp"]})
    assert (plain["executable"], "may not be executed" in plain["problem"]) == (False, True)
    (place / "outlive").chmod(0o700)
    assert with_server({"command": str(place / "outlive"), "args": ["mcp"]})["problem"] is None
    assert "mcp is missing" in with_server({"command": str(place / "outlive")})["problem"]
    one = survey({**os.environ, "PATH": "/nowhere"}, None)[0]
    assert one["client"] == "claude-code"
    path.write_text('{"mcpServers": {"outlive": {"command": "outlive", "args": ["mcp"]}}}')
    assert "PATH" in survey({**os.environ, "PATH": "/nowhere"}, None)[0]["problem"]
    http = with_server({"type": "http", "url": "http://127.0.0.1/mcp"})
    assert (http["configured"], http["command"], http["problem"]) == (True, None, None)
    path.write_text("{\n,")
    assert "line 2" in found("claude-code")["problem"]
    for client, text in (("claude-code", f'{{"a": {"[" * 5000}'), ("codex", f"a = {'[' * 5000}{']' * 5000}")):
        file_of(client, home).parent.mkdir(exist_ok=True)
        file_of(client, home).write_text(text)
        assert "nested too deeply" in found(client)["problem"]
    path.unlink()
    path.symlink_to("/proc/self/mem")  # of which reading fails, not opening
    assert "Input/output error" in found("claude-code")["problem"]


def test_a_client_is_given_the_link_that_was_called_not_where_it_leads(place: Path) -> None:
    link = place / "outlive"
    link.symlink_to(shutil.which("true") or "/bin/true")
    assert start_command([str(link)], {}) == [str(link)]
    beside = str(Path(sys.executable).parent / "outlive")
    assert start_command(["/gone/outlive"], {}) == start_command(["outlive"], {}) == start_command([], {}) == [beside]
    assert OUTLIVE[0] == sys.executable


@pytest.mark.parametrize("way", ["link", "between", "file"])
def test_no_client_is_given_a_path_that_a_job_may_exchange(
    home: Path, place: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """`~/.local/bin` is often a link into dotfiles, in which jobs run too. The command beside the Python is no job's."""
    beside, dotfiles, usual = Path(sys.executable).parent / "outlive", home / "dotfiles", home / ".local" / "bin"
    (dotfiles / "bin").mkdir(parents=True)
    env = {"HOME": str(home)}
    workspaces.note([str(dotfiles)], env)
    if way == "between":
        usual.mkdir(parents=True)
        (usual / "outlive").symlink_to(dotfiles / "bin" / "outlive")
    else:
        usual.parent.mkdir(exist_ok=True)
        usual.symlink_to("../dotfiles/bin")
    if way == "file":
        (dotfiles / "bin" / "outlive").write_text("#!/bin/sh\n")
        (dotfiles / "bin" / "outlive").chmod(0o700)
    else:
        (dotfiles / "bin" / "outlive").symlink_to(beside)
    assert start_command([str(usual / "outlive")], env) == [str(beside)]
    monkeypatch.setattr(sys, "executable", str(place / "bin" / "python"))
    with pytest.raises(OutliveError, match="a job in a sandbox may have written") as refused:
        start_command([str(usual / "outlive")], env)
    assert "--command" in (refused.value.hint or "")


@pytest.mark.parametrize(("folder", "warned"), [("project/.venv", True), (".local/share/pipx/venvs/outlive", False)])
def test_an_entry_of_an_environment_in_a_project_is_written_with_a_warning(
    home: Path, monkeypatch: pytest.MonkeyPatch, folder: str, warned: bool
) -> None:
    """A job in the sandbox of another installation may write it; a checkout of outlive is installed from all the same."""
    (home / "project" / ".git").mkdir(parents=True)
    command = home / folder / "bin" / "outlive"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o700)
    (home / folder / "pyvenv.cfg").touch()
    monkeypatch.setattr(sys, "prefix", str(home / folder))
    env = {"HOME": str(home)}
    assert start_command([str(command)], env) == [str(command)]
    said = make_entry.advice(CLIENTS["cursor"], "user", {"command": str(command), "args": ["mcp"]}, env, changed=True)
    assert ("lies in a project" in said) is warned


def test_no_client_is_given_an_interpreter_that_reads_what_a_pth_names(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m outlive install`, where there is no command beside the Python: `-m` would run a job's sitecustomize.py."""
    monkeypatch.setattr(sys, "executable", str(place / "bin" / "python"))
    with pytest.raises(OutliveError, match="no command outlive beside") as refused:
        start_command(["/x/site-packages/outlive/__main__.py", "install", "cursor"], {})
    assert "--command" in (refused.value.hint or "")
