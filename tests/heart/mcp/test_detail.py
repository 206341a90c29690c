"""The two sizes of an answer: `detail` is brief by default over MCP, and full on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import schema
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession
from support.tiers import ONE_ERA
from support.wait import until


@pytest.fixture(scope="module")
def era() -> str:
    return "modern"


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    return {"detail": None}


def test_a_brief_list_has_one_short_object_a_job(shared_session: McpSession) -> None:
    empty = shared_session.ok("process", action="list")
    assert set(empty) == {"ok", "type", "jobs"}
    shared_session.ok("exec", command="echo last; exit 2", title="one", tags=["a.b"], env={"A": "1"})
    (entry,) = shared_session.ok("process", action="list")["jobs"]
    assert set(entry) == {"job_id", "state", "exit_code", "reason", "name", "started_at", "last_line"}
    assert len(str(entry)) < 240


def test_the_schema_describes_both_sizes() -> None:
    found = {"ok": True, "type": "run", "job_id": "01JD0000000000000000ABCDEF", "state": "exited", "exit_code": 0}
    schema.check_answer(found)
    with pytest.raises(AssertionError, match="snapshot"):
        schema.check_answer({**found, "snapshot": {}})
    with pytest.raises(AssertionError, match="exit_code"):
        schema.check_answer({**found, "exit_code": "0"})


def test_a_brief_answer_tells_a_password_from_a_question(shared_session: McpSession) -> None:
    asked = "stty -echo; printf 'Password: '; read a"
    found = shared_session.ok("exec", command=asked, pty=True, yield_ms=40_000)
    assert (found["waiting_for_input"], found["prompt"], found["echo"]) == (True, "Password:", False)


def test_everything_that_an_answer_shows_obeys_one_budget(shared_session: McpSession) -> None:
    """The text and each of the sizes of the object, whatever shows the output."""
    much = "seq -w 20000; seq -w 20000 >&2"
    first = shared_session.call("exec", command=much)
    job = first["job_id"]
    answers = [first, shared_session.call("exec", command=much, detail="full")]
    for action in ("poll", "log", "wait", "tail"):
        what = {"tail_lines": 9_999} if action == "tail" else {"since_seq": 0}
        answers += [
            shared_session.call("process", action=action, job_id=job, detail=detail, **what)
            for detail in ("brief", "full")
        ]
    for answer in answers:
        shown = [answer.result.get(name) or "" for name in ("output", "snippet", "stdout_tail", "stderr_tail")]
        snapshot = answer.result.get("snapshot") or {}
        shown += [snapshot.get(name) or "" for name in ("stdout_tail", "stderr_tail")]
        assert 6_000 < len("".join(shown)) <= 8_192, answer["type"]
        assert len(answer.text) < 9_300
    little = shared_session.ok("exec", command="echo a; echo b >&2", detail="full")["snapshot"]
    assert (little["stdout_tail"], little["stderr_tail"]) == ("a\n", "b\n"), "what fits is there as ever"


def test_the_budget_is_configured_once_for_all(mcp_connect: Callable[..., McpSession], cli: Cli) -> None:
    small = {"OUTLIVE_EXEC_MAX_OUTPUT_BYTES": "1000"}
    session = mcp_connect(env=small, detail=None)
    job = session.ok("exec", command="seq 2000", detail="full")
    assert len(job["output"] + job["snapshot"]["stdout_tail"]) <= 1_000
    for action in ("poll", "log", "wait"):
        found = session.ok("process", action=action, job_id=job["job_id"], since_seq=0)
        assert 800 < len(found["output"]) <= 1_000
    assert len(session.ok("process", action="tail", job_id=job["job_id"])["stdout_tail"]) <= 500
    printed = cli.ok("run", "--wait", "seq 2000", env=small)
    assert printed["output"][-50:] == job["output"][-50:]
    assert printed["snapshot"]["stdout_tail"] == job["snapshot"]["stdout_tail"]


@ONE_ERA
def test_names_cannot_lie_in_what_a_model_reads(mcp_session: McpSession, work: Path) -> None:
    """An override of the direction shows `txt.exe` as `exe.txt`, and an escape moves the cursor."""
    folder = work / "in\u202eside"
    folder.mkdir()
    job = mcp_session.ok(
        "exec", command="echo \u202eout; exit 3", title="a\u202eb\x1b[31m", workdir=str(folder), yield_ms=0
    )["job_id"]
    answers = [
        mcp_session.call("process", action="wait", job_id=job),
        mcp_session.call("process", action="status", job_id=job),
        mcp_session.call("process", action="list"),
        mcp_session.call("process", action="list", failed=True),
        mcp_session.call("exec", command=f"{GATE}; exit 4", title="c\u202ed", yield_ms=0),
    ]
    (work / "go").touch()
    until(lambda: "c\\u202ed" in mcp_session.call("process", action="status", job_id=job).text, what="the notice")
    assert all("a\\u202eb\\e[31m" in answer.text for answer in answers[1:4])
    assert "command: echo \\u202eout; exit 3" in answers[1].text
    assert f"cwd: {work}/in\\u202eside" in answers[1].text
    assert "\u202e" not in "".join(answer.text for answer in answers[1:])
    assert "\u202eout" in mcp_session.ok("process", action="log", job_id=job, raw=True)["output"], "output is as it is"
