"""Clients that people use, over each transport: each lists the tools, runs a command, polls a job and kills it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance import npm
from conformance.clients import Client, Face, Inspector, TypeScript
from support import wait
from support.cli import Cli, Jobs
from support.mcp_client import LEGACY_VERSION, MODERN_VERSION, McpSession

FACES = ("stdio",)
CLIENTS = ("inspector-legacy", "inspector-modern", "sdk-legacy", "client-legacy", "client-modern")
STILL = "echo ready; exec sleep 600"


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> Face:
    return Face(request.param)


@pytest.fixture
def connect(packages: npm.Packages, face: Face, place: Path) -> Iterator[Callable[[str], Client]]:
    """`connect("sdk-legacy")`: a client of this package and era."""
    with contextlib.ExitStack() as stack:

        def connected(name: str) -> Client:
            package, _, era = name.partition("-")
            home = place / name
            home.mkdir()
            if package == "inspector":
                return Inspector(packages, face, era, home)
            return stack.enter_context(TypeScript(packages, package, face, era, home))

        yield connected


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_lists_runs_polls_and_kills(connect: Callable[[str], Client], name: str, cli: Cli, jobs: Jobs) -> None:
    client = connect(name)
    assert client.tools() == {"exec", "process"}
    ended = client.call("exec", command="echo out; echo err >&2; exit 3")
    assert (ended["state"], ended["exit_code"]) == ("exited", 3)
    assert "out\n" in ended["output"] and "err\n" in ended["output"]
    job = client.call("exec", command=STILL, background=True)["job_id"]
    waited = client.call("process", action="wait", job_id=job, until=[{"regex": "ready"}])
    assert waited["fired"]["condition"] == "regex"
    polled = client.call("process", action="poll", job_id=job, since_seq=0)
    assert (polled["state"], polled["output"]) == ("running", "ready\n")
    assert client.call("process", action="kill", job_id=job)["state"] == "killed"
    assert cli.ok("status", job)["state"] == "killed"
    jobs.end()


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_client_takes_the_schemas_of_the_tools(connect: Callable[[str], Client], era: str) -> None:
    inspector = connect(f"inspector-{era}")
    assert isinstance(inspector, Inspector)
    assert "0 errors" in inspector.strictly()


def test_the_inspector_follows_a_task_to_its_end(connect: Callable[[str], Client], jobs: Jobs) -> None:
    """It declares the extension: a command that still runs is a task, which it polls by itself."""
    ended = connect("inspector-modern").call("exec", command="sleep 0.5; echo done; exit 4", yield_ms=0)
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 4, "done\n")
    jobs.end()


def test_a_mistake_reaches_the_client_as_an_answer(connect: Callable[[str], Client], jobs: Jobs) -> None:
    client = connect("client-modern")
    answer = client.call("process", action="status", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert answer.is_error
    assert answer["error"]["code"] == "job_not_found"


def test_the_typescript_client_negotiates_both_eras(connect: Callable[[str], Client]) -> None:
    found = {name: connect(name) for name in ("client-legacy", "client-modern")}
    versions = {name: client.version for name, client in found.items() if isinstance(client, TypeScript)}
    assert versions == {"client-legacy": LEGACY_VERSION, "client-modern": MODERN_VERSION}


def test_the_python_client_lists_runs_polls_and_kills(mcp_session: McpSession, cli: Cli, jobs: Jobs) -> None:
    assert mcp_session.tools().keys() == {"exec", "process"}
    assert mcp_session.ok("exec", command="exit 3")["exit_code"] == 3
    job = mcp_session.ok("exec", command=STILL, background=True)["job_id"]
    wait.until(lambda: "ready" in mcp_session.ok("process", action="poll", job_id=job, since_seq=0)["output"])
    assert mcp_session.ok("process", action="kill", job_id=job)["state"] == "killed"
    assert cli.ok("status", job)["state"] == "killed"
    jobs.end()
