"""Names of arguments in every spelling, wrong ones, and what errors say over MCP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.jobs import job_ids
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST, ONE_ERA
from support.tools import UNKNOWN, background

Connect = Callable[..., McpSession]


@pytest.fixture
def mcp_session(shared_session: McpSession) -> McpSession:
    return shared_session


@MODERN_FIRST
def test_names_are_taken_in_the_spellings_that_clients_use(mcp_session: McpSession, work: Path) -> None:
    job = mcp_session.ok("exec", command="echo 12345; exit 2", yieldMs=20_000, timeoutSeconds=30)["job_id"]
    poll = mcp_session.ok
    for spelling in ("job_id", "jobId", "job-id", "sessionId", "session_id", "run_id", "runId"):
        assert poll("process", **{"action": "poll", spelling: job, "sinceSeq": 2})["output"] == "345\n"
    assert poll("process", action="poll", job_id=job, since_seq="2")["output"] == "345\n", "a number as a string"
    for part in (job[-8:], job[-6:], job[:25], job.lower()):
        assert poll("process", action="status", job_id=part)["job_id"] == job
    for action in ("tag_set", "tag-set", "tag set", "tagSet"):
        assert poll("process", action=action, job_id=job, tags=["a"])["tags"] == ["a"]
    nulls = {"workdir": None, "env": None, "mask": None, "timeout": None, "yield_ms": None, "tags": None, "title": None}
    found = mcp_session.ok("exec", command="pwd", **nulls)
    assert (found["output"], found["timeout_ms"]) == (f"{work}\n", 1_800_000)
    assert poll("process", action="log", job_id=job, offset=None, limit=None)["output"] == "12345\n"
    assert poll("process", action="list", job_id=None)["jobs"], "null is absent, also where it is not an argument"


WRONG: list[tuple[str, dict[str, Any], str, str | None, str]] = [
    # tool, arguments, error code, details.field, a word of the text. What is refused where a call is read is one of each
    # kind; test_mcp_arguments.py has the others
    ("exec", {}, "invalid_argument", "command", "command"),
    *(("exec", {"command": empty}, "invalid_argument", "command", "empty") for empty in ("", "  ", [], ["", "x"])),
    ("exec", {"command": ["echo", 1, None]}, "invalid_argument", "command", "array of strings"),
    ("exec", {"command": "touch ran", "workdri": "/"}, "invalid_argument", "workdri", "workdir"),
    ("exec", {"command": "touch ran", "workdir": "/no/such/place"}, "invalid_argument", "workdir", "/no/such/place"),
    ("exec", {"command": "touch ran", "workdir": ""}, "invalid_argument", "workdir", "nothing was run"),
    ("exec", {"command": "touch ran", "workdir": "/etc/passwd"}, "invalid_argument", "workdir", "not a directory"),
    ("exec", {"command": "touch ran", "timeout": "soon"}, "invalid_argument", "timeout", "seconds"),
    ("exec", {"command": "touch ran", "env": {"A B": "x"}}, "invalid_argument", "env", "name"),
    ("exec", {"command": "touch ran", "mask": ["A=1"]}, "invalid_argument", "mask", "names"),
    ("exec", {"command": "touch ran", "stdin": "maybe"}, "invalid_argument", "stdin", "open or closed"),
    ("exec", {"command": "touch ran", "tags": ["no spaces here"]}, "invalid_tag", "tags", "tag"),
    ("exec", {"command": "touch ran", "title": "x" * 500}, "invalid_argument", "title", "120"),
    ("exec", {"command": "touch ran", "shell": "no-such-shell -c"}, "invalid_argument", "shell", "no-such-shell"),
    ("exec", {"command": "touch ran", "notify_command": " "}, "invalid_argument", "notify_command", "empty"),
    ("process", {"action": "exec", "command": "touch ran"}, "invalid_argument", "action", "spawn"),
    ("process", {"action": "spawn", "command": "touch ran", "offset": 1}, "invalid_argument", "offset", "log"),
    ("process", {"action": "poll"}, "invalid_argument", "job_id", "list"),
    ("process", {"action": "poll", "job_id": UNKNOWN}, "job_not_found", None, UNKNOWN),
    *(("process", {"action": "poll", "job_id": name}, "job_not_found", None, "job") for name in ("", "/etc/passwd")),
    *(("process", {"action": "poll", "job_id": name}, "job_not_found", None, name) for name in ("..", "../x")),
]


@ONE_ERA
@pytest.mark.parametrize("action", ["wait", "poll"])
def test_a_timeout_in_the_seconds_of_exec_is_no_timeout_of_30_ms(mcp_session: McpSession, action: str) -> None:
    job = background(mcp_session, "exec sleep 60")
    refused = mcp_session.error("process", action=action, job_id=job, timeout=30, code="invalid_argument")
    assert "timeout_ms (milliseconds)" in refused.text
    mcp_session.ok("process", action="remove", job_id=job)


@MODERN_FIRST
def test_a_wrong_argument_is_a_failed_call_that_says_what_to_do_and_starts_nothing(
    mcp_session: McpSession, root: Path, work: Path
) -> None:
    wrong = []
    for tool, arguments, code, field, word in WRONG:
        answer = mcp_session.call(tool, **arguments)
        error = answer.result.get("error", {})
        told = (answer.is_error, error.get("code"), error.get("details", {}).get("field"))
        if told != (True, code, field) or word not in answer.text or code not in answer.text:
            wrong.append(f"{tool} {arguments}: {told}, {answer.text!r}; wanted {code}, {field}, {word!r}")
        assert error.get("retryable") is False
    assert not wrong, "\n".join(wrong)
    assert job_ids(root) == set()
    assert not (work / "ran").exists()
    assert mcp_session.ok("exec", command="echo fine")["output"] == "fine\n"


@ONE_ERA
def test_no_error_repeats_a_value_that_may_be_secret(mcp_session: McpSession) -> None:
    secret = "hunter2-hunter2"
    for env in ({"A": {"deep": secret}}, {"A B": secret}, [f"A={secret}"], f"A={secret}", {"A": f"{secret}\0"}):
        answer = mcp_session.error("exec", code="invalid_argument", command="true", env=env)
        assert secret not in answer.text and secret not in str(answer.result)


@ONE_ERA
def test_a_long_value_is_refused_at_once_and_shortened_where_it_is_repeated(mcp_session: McpSession) -> None:
    long = "x" * 300_000
    answer = mcp_session.error("exec", code="invalid_argument", command="true", shell=long)
    assert "shell wrapper is longer than 4,096 characters" in answer.text
    for arguments in ({"workdir": f"/{long}"}, {"stdin": long}, {long: 1}, {"tags": [long]}, {"until": [{long: 1}]}):
        answer = mcp_session.call("exec", command="true", **arguments)
        assert answer.is_error
        assert len(answer.text) < 10_000 and len(str(answer.result)) < 30_000, str(arguments)[:40]
    answer = mcp_session.call("exec", command="true", mask=[long])
    assert "mask names no variable of the job: xxx" in answer.text and len(answer.text) < 10_000
    answer = mcp_session.error("exec", code="invalid_argument", command="true", max_bytes=9_999_999_999)
    assert "at most 1,048,576, got 9999999999" in answer.text


@ONE_ERA
def test_an_unusable_root_is_an_answer_and_not_a_dead_server(mcp_connect: Connect, root: Path) -> None:
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    session = mcp_connect()
    answer = session.error("exec", code="store_unsafe", command="true")
    assert "chmod" in answer.text
    root.chmod(0o700)
    assert session.ok("exec", command="echo now")["output"] == "now\n"
