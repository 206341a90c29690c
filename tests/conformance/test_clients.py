"""Clients that people use, over each transport: each lists the tools, runs a command, polls a job and kills it.

The Python SDK's client does so here over stdio, and over HTTP and SSE in tests/parts/http/test_serve.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import npm
from conformance.clients import Client, Face, Inspector, TypeScript
from support.cli import Cli, Jobs
from support.mcp_client import LEGACY_VERSION, MODERN_VERSION, McpSession
from support.serve import Served
from support.tiers import MODERN_FIRST

pytestmark = pytest.mark.real_start  # with each client once as users start it

FACES = {
    "inspector-legacy": ("stdio", "http"),
    "inspector-modern": ("http",),  # and over stdio below: each of its steps starts Node and a server
    "sdk-legacy": ("stdio", "http", "sse"),
    "client-legacy": ("stdio", "http", "sse"),
    "client-modern": ("stdio", "http", "sse"),
}
EVERY = [f"{name}-{face}" for name, faces in FACES.items() for face in faces]
VERSIONS = {"client-legacy": LEGACY_VERSION, "client-modern": MODERN_VERSION}  # the others do not say
STILL = "echo ready; exec sleep 600"


def the_face(transport: str, request: pytest.FixtureRequest, work: Path) -> Face:
    if transport == "stdio":
        return Face(transport)
    served: Served = request.getfixturevalue("serve")("--workdir", str(work))
    url = served.url if transport == "http" else f"{served.base}/sse"
    return Face(transport, url, served.tokens["tests"])


@pytest.fixture(params=EVERY)
def client(request: pytest.FixtureRequest, packages: npm.Packages, place: Path, work: Path) -> Iterator[Client]:
    """`sdk-legacy-http`: of this package, in this era, over this transport."""
    package, era, transport = request.param.split("-")
    face = the_face(transport, request, work)
    home = place / "client"
    home.mkdir()
    with contextlib.ExitStack() as stack:
        if package == "inspector":
            yield Inspector(packages, face, era, home)
        else:
            found = stack.enter_context(TypeScript(packages, package, face, era, home))
            assert found.version == VERSIONS.get(f"{package}-{era}")
            yield found


@pytest.mark.slow
def test_a_client_lists_runs_polls_and_kills(client: Client, cli: Cli, jobs: Jobs) -> None:
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


@pytest.mark.parametrize("client", ["inspector-modern-stdio"], indirect=True)
@pytest.mark.slow
def test_the_inspector_follows_a_task_to_its_end(client: Client, jobs: Jobs) -> None:
    """It declares the extension: a command that still runs is a task, which it polls by itself."""
    assert client.tools() == {"exec", "process"}
    ended = client.call("exec", command="sleep 0.5; echo done; exit 4", yield_ms=0)
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 4, "done\n")
    jobs.end()


@pytest.mark.parametrize("client", ["sdk-legacy-stdio", "client-modern-http"], indirect=True)
@pytest.mark.slow
def test_a_mistake_reaches_the_client_as_an_answer(client: Client) -> None:
    answer = client.call("process", action="status", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert answer.is_error
    assert answer["error"]["code"] == "job_not_found"


@MODERN_FIRST
@pytest.mark.slow
def test_the_python_client_lists_runs_polls_and_kills(mcp_session: McpSession, cli: Cli, jobs: Jobs) -> None:
    assert mcp_session.tools().keys() == {"exec", "process"}
    assert mcp_session.ok("exec", command="exit 3")["exit_code"] == 3
    job = mcp_session.ok("exec", command=STILL, background=True)["job_id"]
    mcp_session.ok("process", action="wait", job_id=job, until=[{"regex": "ready"}])
    polled = mcp_session.ok("process", action="poll", job_id=job, since_seq=0)
    assert (polled["state"], polled["output"]) == ("running", "ready\n")
    assert mcp_session.ok("process", action="kill", job_id=job)["state"] == "killed"
    assert cli.ok("status", job)["state"] == "killed"
    jobs.end()
