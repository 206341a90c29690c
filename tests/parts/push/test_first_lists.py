"""The first list of the resources of a server, before and after the SDK is loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heart.mcp import test_first_answers
from heart.mcp.test_first_answers import begun, has_sdk
from outlive.system import process
from support import pair
from support.cli import Cli
from support.jobs import make_running
from support.mcp_client import RawMcp
from support.tiers import first
from support.wait import until

server = test_first_answers.server
pytestmark = pytest.mark.real_start


def test_a_lost_job_that_the_first_list_finds_has_its_notification_command_run(
    server: RawMcp, root: Path, work: Path
) -> None:
    """Of a job that was given as words, and so has no shell of its own."""
    with RawMcp(log=work / "other.log", era=server.era) as other:
        given = {"command": ["true"], "notify_command": f"cat >{work}/told"}
        job = begun(other).call("exec", **given)["job_id"]
    told = until(lambda: (work / "told").is_file() and work / "told", what="the first notification")
    pair.until_free(root, job)
    make_running(root, job, identity={**process.identity(os.getpid()).to_dict(), "start_time": 1})
    told.unlink()
    (root / job / "completion_event.json").unlink()
    assert begun(server).request("resources/list")["resources"]
    until(lambda: told.is_file() and job in told.read_text(), what="the notification")
    pair.until_free(root, job)


@pytest.mark.parametrize("isolate", first(1, [False, True]))
def test_the_jobs_of_a_client_are_listed_by_the_sdk_and_those_of_another_are_not(
    isolate: bool, server: RawMcp, place: Path, cli: Cli
) -> None:
    cli.ok("run", "--wait", "--", "true")
    args = ("--isolate",) if isolate else ()
    with RawMcp(log=place / "other.log", era=server.era, client_name="other", args=args) as other:
        assert begun(other).request("resources/list")["resources"] == []
        assert not has_sdk(other)
        job = other.call("exec", command="true")["job_id"]
    with RawMcp(log=place / "other.log", era=server.era, client_name="other", args=args) as other:
        (found,) = begun(other).request("resources/list")["resources"]
        assert found["uri"] == f"job://{job}"
    assert begun(server).request("resources/list")["resources"] == []
    assert not has_sdk(server)
