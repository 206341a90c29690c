"""The audit record says where a command was started: on which machine, and in which sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support.cli import Cli
from support.face import Face
from support.fake_ssh import FakeSsh
from support.mcp_client import McpSession


@pytest.fixture
def era() -> str:
    """Which era carries an answer makes no difference to it."""
    return "modern"


@pytest.fixture(params=["cli", "mcp"])
def face(
    request: pytest.FixtureRequest, cli: Cli, box: FakeSsh, place: Path, mcp_connect: Callable[..., McpSession]
) -> Face:
    with (place / "home/.config/outlive/config.toml").open("a", encoding="utf-8") as file:
        file.write('[audit]\nto = "file"\n')
        file.write(f'[programs]\nssh = "{box.bin}/ssh"\n')  # the PATH of a login shell may lead to another one
    return Face(request.param, cli, mcp_connect())


def test_the_record_of_a_start_names_the_machine_and_the_sandbox(face: Face, cli: Cli, box: FakeSsh) -> None:
    there = face.ok("run", command="echo a", host="box")["job_id"]
    face.ok("restart", there, host="local")
    made = face.ok("create", command="echo b", host="box")["job_id"]
    face.ok("start", made)
    face.ok("create", command="echo c", sandbox="read-only")
    entries = [one for one in reversed(cli.ok("audit")["entries"]) if one["verb"] != "end"]
    assert [(one["verb"], one.get("host"), one.get("sandbox", {}).get("mode")) for one in entries] == [
        ("run", "box", None),
        ("restart", None, None),
        ("create", "box", None),
        ("start", "box", None),
        ("create", None, "read-only"),
    ]
    box.wait_empty()
