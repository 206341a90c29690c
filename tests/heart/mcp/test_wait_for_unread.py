"""A wait for a pattern looks at what its session has not read before what it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs
from support.mcp_client import McpSession, ToolAnswer
from support.tiers import MODERN_FIRST, ONE_ERA
from support.tools import background
from support.wait import until

Connect = Callable[..., McpSession]


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

    def call(self, *until: Any, **more: Any) -> ToolAnswer:
        return self.session.call("process", action="wait", job_id=self.job, until=list(until), **more)

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
def test_a_repeated_wait_finds_the_next_line_and_none_that_a_wait_has_reported(watched: Watched) -> None:
    watched.prints("Found 0 errors\n")
    assert watched.found(ERRORS)[:2] == ("regex", "Found 0 errors")
    watched.prints("Found 1 errors\nwatching\n")
    watched.prints("Found 2 errors\ndone\n")
    assert watched.found(ERRORS)[:2] == ("regex", "Found 1 errors")
    assert watched.found(ERRORS) == ("regex", "Found 2 errors", True), "shown with the last answer, not yet reported"
    watched.prints("compiling\n")
    late = watched.call(ERRORS, timeout_ms=100)
    assert (late.result["timed_out"], late.result["fired"]) == (True, None)
    assert "Last seen: a match that was reported before (since_seq=0 finds it)." in late.text
    assert watched.found({"regex": "Found"}) == ("regex", "Found 2 errors", True), "another pattern"
    assert watched.found(ERRORS, since_seq=0) == ("regex", "Found 0 errors", True)
    watched.prints("Found 3 errors\n")
    watched.session.ok("process", action="poll", job_id=watched.job)
    assert watched.found(ERRORS) == ("regex", "Found 3 errors", True), "a poll shows a line, and reports no match"


@ONE_ERA
def test_a_line_is_reported_once_also_if_it_grows_or_an_unread_part_of_it_is_what_matches(watched: Watched) -> None:
    watched.prints("ready: 1 of\nrea")
    assert watched.found({"regex": "^ready"})[:2] == ("regex", "ready: 1 of")
    watched.prints("dy> ")
    assert watched.found({"regex": "^ready"})[:2] == ("regex", "ready> ")
    watched.prints("and more\n")
    assert watched.wait({"regex": "^ready"}, timeout_ms=100)["timed_out"]


@ONE_ERA
def test_what_exec_has_reported_is_not_reported_again(mcp_session: McpSession, cli: Cli, jobs: Jobs) -> None:
    command = "echo ready; exec cat"
    made = mcp_session.ok("exec", command=command, stdin="open", until={"regex": "ready"})
    assert made["fired"]["line"] == "ready"
    again = {"regex": "ready"}
    assert mcp_session.ok("process", action="wait", job_id=made["job_id"], until=again, timeout_ms=100)["timed_out"]
    cli.ok("write", made["job_id"], "--data", "ready 2\n")
    found = mcp_session.ok("process", action="wait", job_id=made["job_id"], until=again)
    assert found["fired"]["line"] == "ready 2"
    cli.ok("kill", made["job_id"])
    ended = mcp_session.ok("process", action="wait", job_id=made["job_id"], until=again)
    assert ended["fired"]["condition"] == "exit"
    assert "The job ended before regex came true again." in ended["hint"]
    jobs.end()


@MODERN_FIRST
def test_a_session_that_goes_on_for_another_is_reported_what_that_one_was(
    mcp_connect: Connect, cli: Cli, jobs: Jobs
) -> None:
    first = mcp_connect()
    until_ready = {"regex": "ready"}
    job = first.ok("exec", command="echo ready; exec sleep 60", until=until_ready)["job_id"]
    first.kill()
    until(lambda: not Path(f"/proc/{first.pid}/exe").exists(), what="the end of the server")
    second = mcp_connect()
    found = second.ok("process", action="wait", job_id=job, until=until_ready)["fired"]
    assert (found["line"], found["earlier"]) == ("ready", True)
    assert second.ok("process", action="wait", job_id=job, until=until_ready, timeout_ms=100)["timed_out"]
    cli.ok("kill", job)
    jobs.end()


@ONE_ERA
def test_what_was_shown_is_no_failure_of_a_later_wait(watched: Watched) -> None:
    watched.prints("ERROR: config not found\n")
    watched.session.ok("process", action="poll", job_id=watched.job)
    late = watched.wait({"regex": "ready"}, {"fail_regex": "ERROR"}, timeout_ms=100)
    assert (late["timed_out"], late["fired"]) == (True, None)
    watched.prints("ready\n")
    assert watched.found({"regex": "ready"}, {"fail_regex": "ERROR"})[:2] == ("regex", "ready")
    assert watched.wait({"regex": "ready"}, {"fail_regex": "ERROR"}, timeout_ms=100)["timed_out"]
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
