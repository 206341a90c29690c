"""The action gc of the tool process: of a session's own jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from outlive import config
from outlive.errors import OutliveError
from outlive.mcp.tools.arguments import Tools
from support import pair
from support.cli import Cli
from support.jobs import job_ids
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST, ONE_ERA
from support.wait import until


def _settled(root: Path) -> None:
    """No supervisor is left: gc lets a job alone whose lock is held."""
    until(lambda: not any(pair.is_supervised(root, job) for job in job_ids(root)), what="the supervisors' ends")


@MODERN_FIRST
def test_it_deletes_the_jobs_of_the_session_and_tells_how_many_others_there_are(
    mcp_session: McpSession, mcp_connect: Callable[..., McpSession], cli: Cli, root: Path
) -> None:
    mine = mcp_session.ok("exec", command="true")["job_id"]
    theirs = mcp_connect(client_name="two").ok("exec", command="true")["job_id"]
    shell = cli.ok("run", "true")["job_id"]
    _settled(root)
    dry = mcp_session.ok("process", action="gc", older_than="0s", dry_run=True)
    assert (dry["dry_run"], job_ids(root)) == (True, {mine, theirs, shell})
    answer = mcp_session.call("process", action="gc", older_than="0s")
    assert (answer.result["deleted"], answer.result["out_of_scope"]) == (1, 2)
    assert answer.text.split("\n")[0].endswith(". Not yours, and left alone: 2 jobs.")
    assert job_ids(root) == {theirs, shell}


@ONE_ERA
def test_an_age_without_a_unit_is_a_failed_call_that_says_so(mcp_session: McpSession) -> None:
    refused = mcp_session.error("process", action="gc", older_than="5", code="invalid_argument")
    assert refused.result["error"]["details"]["field"] == "older_than"
    assert "unit" in refused.text


def test_what_is_no_number_is_no_part_of_a_file_system() -> None:
    tools = Tools(("exec", "process"), config.load({"XDG_CONFIG_HOME": "/nonexistent"}))
    with pytest.raises(OutliveError) as caught:
        tools.read("process", {"action": "gc", "max_percent": float("nan")})
    assert (caught.value.code, caught.value.to_dict()["details"]["field"]) == ("invalid_argument", "max_percent")
    with pytest.raises(OutliveError) as caught:
        tools.read("process", {"action": "gc", "max_job": 3})
    assert caught.value.hint == "Did you mean max_jobs?"
