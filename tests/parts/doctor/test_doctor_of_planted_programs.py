"""The doctor starts no server that a job may have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import Cli


def test_doctor_starts_no_server_that_the_file_of_a_project_names(cli: Cli, place: Path, work: Path) -> None:
    """A job in a sandbox can write it."""
    entry = {"command": "/bin/sh", "args": ["-c", f"touch {place}/ran; outlive mcp"]}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"outlive": entry}}))
    (work / "outlive").write_text(f"#!/bin/sh\ntouch {place}/ran\n")
    (work / "outlive").chmod(0o755)
    (work / ".cursor").mkdir()
    entry = {"command": str(work / "outlive"), "args": ["mcp"]}
    (work / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"outlive": entry}}))
    found = cli.ok("doctor")
    assert "of a project, in which jobs may write, not tried" in json.dumps(found)
    assert not (place / "ran").exists()


def test_doctor_starts_no_server_of_a_user_that_a_job_may_have_written(cli: Cli, place: Path, work: Path) -> None:
    """An entry of the user's own file may name what lies in a workspace, or in a project that once was one."""
    project, mine, linked = place / "project", place / "mine", place / "linked"
    (project / ".git").mkdir(parents=True)
    for folder in (work, project, mine, linked):
        folder.mkdir(exist_ok=True)
    for folder in (work, project, mine):
        (folder / "outlive").write_text(f"#!/bin/sh\ntouch {place}/ran\n")
        (folder / "outlive").chmod(0o755)
    (linked / "outlive").symlink_to(work / "outlive")
    (work / "json.py").write_text(f"open({str(place / 'ran')!r}, 'w')")
    file = place / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir()

    def looked(words: list[str]) -> str:
        file.write_text(json.dumps({"mcpServers": {"outlive": {"command": words[0], "args": [*words[1:], "mcp"]}}}))
        return json.dumps(cli.ok("doctor"))

    for words in (
        [f"{work}/outlive"], [f"{project}/outlive"], [f"{linked}/outlive"], ["/bin/sh", f"{work}/outlive"],
        ["/bin/sh", "-c", f"exec {project}/outlive", "outlive"], ["/bin/sh", "-c", "./outlive", "outlive"],
        ["/usr/bin/env", "-C", str(project), "outlive"], ["/usr/bin/env", f"PATH={work}", "outlive"],
    ):  # fmt: skip
        assert "may have written" in looked(words), words
        assert not (place / "ran").exists(), words
    looked(["/usr/bin/env", "python3", "-c", "import json", "outlive"])
    assert not (place / "ran").exists(), "no module of the directory that doctor is called in"
    looked([f"{mine}/outlive"])
    assert (place / "ran").exists(), "what no job can have written is tried"


def test_doctor_starts_nothing_but_the_command_outlive(cli: Cli, place: Path) -> None:
    """An interpreter with -m reads what a `.pth` beside outlive names, and what another program runs is not known."""
    file = place / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir()
    (place / "python").write_text(f"#!/bin/sh\ntouch {place}/ran\n")
    (place / "python").chmod(0o755)
    for words, said in (
        (["-I", "-m", "outlive"], "may have written what"),
        (["run", "outlive"], "Cursor (user): by another program than outlive itself, not tried"),
    ):
        entry = {"command": str(place / "python"), "args": [*words, "mcp"]}
        file.write_text(json.dumps({"mcpServers": {"outlive": entry}}))
        assert said in json.dumps(cli.ok("doctor")), words
        assert not (place / "ran").exists(), words


@pytest.mark.parametrize("way", ["link", "variable"])
def test_doctor_starts_no_server_of_a_user_whose_file_a_job_may_have_written(
    cli: Cli, place: Path, work: Path, way: str
) -> None:
    """The words of the entry name nothing of a job then."""
    entry = {"type": "stdio", "command": "/bin/sh", "args": ["-c", f"touch {place}/ran", "outlive", "mcp"]}
    (work / ".claude.json").write_text(json.dumps({"mcpServers": {"outlive": entry}}))
    if way == "link":
        (place / "home" / ".claude.json").symlink_to(work / ".claude.json")
    found = cli.ok("doctor", env={"CLAUDE_CONFIG_DIR": str(work)} if way == "variable" else {})
    assert "of a project, in which jobs may write, not tried" in json.dumps(found)
    assert not (place / "ran").exists()
