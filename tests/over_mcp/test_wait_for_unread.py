"""A wait for a pattern looks at what its session has not read before what it has."""

from __future__ import annotations

from typing import Any

import pytest

from support.cli import Cli, Jobs
from support.mcp_client import McpSession
from support.tiers import ONE_ERA
from support.tools import background


class Watched:
    """A job that prints what is written to it, read by a session. What the command line reads, no session has read."""

    def __init__(self, session: McpSession, cli: Cli) -> None:
        self.session, self.cli = session, cli
        self.printed = 0
        self.job = background(session, "exec cat", stdin="open")

    def prints(self, text: str) -> None:
        self.cli.ok("write", self.job, "--data", text)
        self.cli.ok(
            "wait", self.job, "--until", f"regex={text.rsplit(maxsplit=1)[-1]}", "--since-seq", str(self.printed)
        )
        self.printed += len(text)

    def wait(self, *until: Any, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.session.ok("process", action="wait", job_id=self.job, until=list(until), **more)
        return found

    def found(self, *until: Any, **more: Any) -> tuple[str, str, bool]:
        fired = self.wait(*until, **more)["fired"]
        return fired["condition"], fired["line"], "earlier" in fired


@pytest.fixture
def watched(mcp_session: McpSession, cli: Cli, jobs: Jobs) -> Any:
    found = Watched(mcp_session, cli)
    yield found
    cli.ok("kill", found.job)
    jobs.end()


ERRORS = {"regex": r"Found \d+ errors"}


@ONE_ERA
def test_a_repeated_wait_finds_the_next_line_and_the_last_old_one_where_there_is_none(watched: Watched) -> None:
    watched.prints("Found 0 errors\n")
    assert watched.found(ERRORS)[:2] == ("regex", "Found 0 errors")
    watched.prints("Found 1 errors\nwatching\n")
    watched.prints("Found 2 errors\ndone\n")
    assert watched.found(ERRORS)[:2] == ("regex", "Found 1 errors")
    assert watched.found(ERRORS) == ("regex", "Found 2 errors", True), (
        "none is unread: the last of those that were read"
    )
    watched.prints("compiling\n")
    assert watched.found(ERRORS) == ("regex", "Found 2 errors", True)
    assert watched.found(ERRORS, since_seq=0) == ("regex", "Found 0 errors", True)


@ONE_ERA
def test_what_was_shown_is_no_failure_of_a_later_wait(watched: Watched) -> None:
    watched.prints("ERROR: config not found\n")
    watched.session.ok("process", action="poll", job_id=watched.job)
    late = watched.wait({"regex": "ready"}, {"fail_regex": "ERROR"}, timeout_ms=100)
    assert (late["timed_out"], late["fired"]) == (True, None)
    watched.prints("ready\n")
    assert watched.found({"regex": "ready"}, {"fail_regex": "ERROR"})[:2] == ("regex", "ready")
    assert watched.found({"regex": "ready"}, {"fail_regex": "ERROR"}) == ("regex", "ready", True)
    assert watched.found({"fail_regex": "ERROR"}, since_seq=0)[:2] == ("fail_regex", "ERROR: config not found")
    watched.prints("ERROR: port in use\n")
    assert watched.found({"regex": "ready"}, {"fail_regex": "ERROR"})[:2] == ("fail_regex", "ERROR: port in use")


@ONE_ERA
def test_a_line_of_which_a_part_was_shown_is_one_line(watched: Watched) -> None:
    watched.prints("ERROR> ")
    watched.session.ok("process", action="poll", job_id=watched.job)
    watched.prints("go\nFound 3 err")
    assert watched.wait({"fail_regex": "ERROR"}, timeout_ms=100)["timed_out"]
    watched.prints("ors\n")
    assert watched.found(ERRORS)[:2] == ("regex", "Found 3 errors")


@ONE_ERA
def test_what_another_session_was_shown_is_a_failure_for_this_one(watched: Watched, mcp_connect: Any, cli: Cli) -> None:
    watched.prints("ERROR: once\n")
    watched.session.ok("process", action="poll", job_id=watched.job)
    other = mcp_connect(client_name="another")
    found = other.ok("process", action="wait", job_id=watched.job, until=[{"fail_regex": "ERROR"}])
    assert found["fired"]["line"] == "ERROR: once"
    assert cli.ok("wait", watched.job, "--until", "fail_regex=ERROR")["fired"]["line"] == "ERROR: once"
