"""The pages of docs/clients: each command is typed as it stands there, in an empty home."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clients import launch, script
from clients.row import Host
from outlive.parts.clients import registry
from outlive.parts.clients.edit import parsed
from outlive.parts.clients.registry import CLIENTS, USER, Machine
from support import pages
from support.cli import environment
from support.pages import CHECKOUT
from support.preloaded import OUTLIVE

PAGES = {name: CHECKOUT / "docs" / "clients" / f"{name}.md" for name in CLIENTS}
# The clients that have a command of their own for a server
WITH_A_COMMAND = ("claude-code", "codex", "gemini", "vscode", "openclaw", "amp")


def entry_in(name: str, text: str) -> Any:
    """Return the entry of outlive in a configuration, or in a page."""
    return parsed(CLIENTS[name], text.encode()).get((*CLIENTS[name].keys, "outlive"))


def of_the_page(name: str) -> Any:
    (block,) = pages.blocks(PAGES[name], {"toml": "toml", "yaml": "yaml"}.get(CLIENTS[name].syntax, "json"))
    return entry_in(name, block)


def written(name: str, home: Path) -> Any:
    path = registry.file_of(CLIENTS[name], USER, Machine(str(home), {}, None))
    assert path is not None
    return entry_in(name, Path(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CLIENTS)
def test_the_command_of_a_page_writes_the_entry_of_the_page(name: str, place: Path) -> None:
    (command,) = pages.blocks(PAGES[name], "sh")
    programs = place / "bin"
    programs.mkdir()
    outlive = programs / "outlive"
    outlive.write_text(f'#!/bin/sh\nexec {" ".join(OUTLIVE)} "$@"\n')
    outlive.chmod(0o700)
    env = environment({"PATH": f"{programs}:{os.environ['PATH']}", "OUTLIVE_ROOT": None, "XDG_CONFIG_HOME": None})
    env = {key: value for key, value in env.items() if not key.startswith("XDG_")}
    subprocess.run(["sh", "-c", command], env=env, check=True, capture_output=True)
    found = written(name, place / "home")
    words, shown = registry.words_of(found), registry.words_of(of_the_page(name))
    assert words is not None and shown is not None
    assert (words[-1], shown) == ("mcp", ["outlive", "mcp"])
    rest = ("command", "cmd", "args")
    assert {k: v for k, v in found.items() if k not in rest} == {
        k: v for k, v in of_the_page(name).items() if k not in rest
    }
    assert (name in WITH_A_COMMAND) == (len(pages.blocks(PAGES[name], "text")) == 2)
    assert script.PAGE in pages.blocks(PAGES[name], "text")[-1], "what test_real_clients.py types is on every page"


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_A_COMMAND)
def test_the_clients_own_command_of_a_page_gives_a_server_that_starts(name: str, place: Path) -> None:
    own, _ = pages.blocks(PAGES[name], "text")  # the second one: to try it
    program = own.partition(" ")[0]
    if program not in launch.PROGRAMS:
        pytest.skip(f"npm has no program {program}")
    host = Host(program, place)
    host.type(own)
    found, shown = written(name, host.place.home), of_the_page(name)
    assert registry.words_of(found) == registry.words_of(shown)
    if "without the members of the table" not in pages.text_of(PAGES[name]):
        assert {k: v for k, v in found.items() if k != "type"} == {k: v for k, v in shown.items() if k != "type"}
    checks = json.loads(host.type("outlive doctor"))["checks"]
    (told,) = (one for one in checks if one["name"] == "clients")
    assert (told["status"], "exec and process answer" in told["found"]) == ("ok", True), told
    assert re.search(r'"change": ?"removed"', host.type("outlive uninstall --all"))
    assert not list(host.place.home.rglob("*.before-outlive"))
