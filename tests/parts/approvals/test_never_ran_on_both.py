"""A job whose command never ran: `started_at` stays, as the time of its definition; nothing speaks of a start or of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import Cli, configured
from support.face import Face
from support.mcp_client import McpSession

pytestmark = pytest.mark.usefixtures("system_path")


@pytest.fixture(autouse=True)
def _asks(place: Path) -> None:
    configured(place, '[policy]\ndefault = "ask"\n')


@pytest.fixture(params=["cli", "mcp"])
def face(request: pytest.FixtureRequest, cli: Cli, place: Path) -> Iterator[Face]:
    with McpSession(log=place / "mcp.log") as session:
        yield Face(request.param, cli, session)


@pytest.fixture(params=["withdrawn", "denied"])
def job(request: pytest.FixtureRequest, face: Face, cli: Cli) -> str:
    found = face.background("sleep 600")
    if request.param == "denied":
        cli.ok("deny", found)
    else:
        face.ok("kill", found)
    return found


def test_nothing_speaks_of_a_run(face: Face, cli: Cli, job: str) -> None:
    answers = {verb: face.ok(verb, job) for verb in ("status", "wait", "poll")}
    answers["list"] = next(one for one in face.ok("list", all=True)["jobs"] if one["job_id"] == job)
    for verb, answer in answers.items():
        assert not {"elapsed_ms", "duration_ms", "usage"} & answer.keys(), verb
    for verb in ("status", "list"):
        assert answers[verb]["started_at"] == answers["status"]["created_at"]
    assert "started" not in cli.text("status", job, "--human").stdout
