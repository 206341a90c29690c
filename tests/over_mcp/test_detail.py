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

RUN = {"ok", "type", "job_id", "state", "exit_code", "reason", "output", "next_seq"}


@pytest.fixture(scope="module")
def era() -> str:
    return "modern"


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    return {"detail": None}


def test_a_brief_answer_has_what_to_act_on_and_nothing_twice(shared_session: McpSession) -> None:
    found = shared_session.ok("exec", command="printf '\\033[31mred\\033[0m\\n'; exit 3", env={"A": "1"}, tags=["x"])
    assert set(found) == RUN
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 3, "red\n")
    silent = shared_session.ok("exec", command="true")
    assert set(silent) == RUN - {"output"}
    tail = shared_session.ok("process", action="tail", job_id=found["job_id"])
    ended = {"state": "exited", "exit_code": 3, "reason": "exit"}
    assert tail == {"ok": True, "type": "tail", "job_id": found["job_id"], **ended, "stdout_tail": "red\n"}


def test_how_a_job_ended_stands_before_its_output_in_both_sizes(shared_session: McpSession, cli: Cli) -> None:
    brief = shared_session.ok("exec", command="echo out; exit 3")
    full = shared_session.ok("process", action="poll", job_id=brief["job_id"], since_seq=0, detail="full")
    waited = shared_session.ok("process", action="wait", job_id=brief["job_id"], since_seq=0, detail="full")
    run = cli.ok("run", "--wait", "echo out; exit 3")
    for found in (brief, full, waited, run):
        names = list(found)
        assert names.index("exit_code") < names.index("reason") < names.index("output")
        assert set(names[names.index("output") :]) <= {"output", "snapshot"}


def test_the_same_detail_gives_the_same_object_on_both_faces(shared_session: McpSession, cli: Cli) -> None:
    job = shared_session.ok("exec", command="seq 2000; echo broken >&2; exit 3", title="many")["job_id"]
    calls: list[tuple[list[str], dict[str, Any]]] = [
        (["status", job], {"action": "status", "job_id": job}),
        (
            ["poll", job, "--since-seq", "0", "--max-bytes", "900"],
            {"action": "poll", "job_id": job, "since_seq": 0, "max_bytes": 900},
        ),
        (["log", job, "--limit", "3"], {"action": "log", "job_id": job, "limit": 3}),
        (["tail", job, "--max-bytes", "50"], {"action": "tail", "job_id": job, "max_bytes": 50}),
        (["events", job, "--limit", "2"], {"action": "events", "job_id": job, "limit": 2}),
        (["list", "--all"], {"action": "list", "all": True}),
        (["kill", job], {"action": "kill", "job_id": job}),
        (["tag", "set", job, "--tag", "a"], {"action": "tag_set", "job_id": job, "tags": ["a"]}),
    ]
    for words, given in calls:
        printed = cli.ok(*words, "--detail", "brief")
        assert printed == shared_session.ok("process", **given), words
        assert list(printed)[:2] == ["ok", "type"]
        whole = shared_session.ok("process", **given, detail="full")
        assert len(str(whole)) > len(str(printed))


def test_a_brief_list_has_one_short_object_a_job(shared_session: McpSession) -> None:
    empty = shared_session.ok("process", action="list")
    assert set(empty) == {"ok", "type", "jobs"}
    shared_session.ok("exec", command="echo last; exit 2", title="one", tags=["a.b"], env={"A": "1"})
    (entry,) = shared_session.ok("process", action="list")["jobs"]
    assert set(entry) == {"job_id", "state", "exit_code", "reason", "name", "started_at", "last_line"}
    assert len(str(entry)) < 240


def test_a_full_answer_is_a_session_too(shared_session: McpSession) -> None:
    for command, status in (("exit 3", "completed"), ("kill -9 $$", "failed"), ("sleep 60", "running")):
        found = shared_session.ok("exec", command=command, yield_ms=3_000 if status != "running" else 0, detail="full")
        assert (found["status"], found["sessionId"]) == (status, found["job_id"])


def test_the_schema_describes_both_sizes() -> None:
    found = {"ok": True, "type": "run", "job_id": "01JD0000000000000000ABCDEF", "state": "exited", "exit_code": 0}
    schema.check_answer(found)
    with pytest.raises(AssertionError, match="snapshot"):
        schema.check_answer({**found, "snapshot": {}})
    with pytest.raises(AssertionError, match="exit_code"):
        schema.check_answer({**found, "exit_code": "0"})


def test_a_size_that_does_not_exist_is_refused(shared_session: McpSession) -> None:
    wrong = shared_session.error("process", code="invalid_argument", action="list", detail="breif")
    assert "brief" in wrong.text


def test_a_brief_answer_tells_a_password_from_a_question(shared_session: McpSession) -> None:
    asked = "stty -echo; printf 'Password: '; read a"
    found = shared_session.ok("exec", command=asked, pty=True, yield_ms=40_000)
    assert (found["waiting_for_input"], found["prompt"], found["echo"]) == (True, "Password:", False)


def test_a_brief_kill_of_a_job_that_has_ended_shows_no_signal_that_was_not_sent(shared_session: McpSession) -> None:
    job = shared_session.ok("exec", command="exit 3")["job_id"]
    found = shared_session.ok("process", action="kill", job_id=job)
    assert set(found) == {"ok", "type", "job_id", "state", "exit_code", "reason", "already_ended", "hint"}


def test_a_brief_reaction_is_what_the_program_said_and_how_it_goes_on(shared_session: McpSession) -> None:
    job = shared_session.ok("exec", command="read -r a; echo got $a; read -r b", stdin="open", yield_ms=40_000)[
        "job_id"
    ]
    found = shared_session.ok("process", action="write", job_id=job, data="x\n", wait_ms=40_000)
    assert set(found) == {
        *("ok", "type", "job_id", "state", "waiting_for_input", "bytes_written", "stdin", "next_seq", "output"),
    }
    assert found["output"] == "got x\n"


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
        "exec", command="echo \u202eout; exit 3", title="a\u202eb\x1b[31m", workdir=str(folder), background=True
    )["job_id"]
    answers = [
        mcp_session.call("process", action="wait", job_id=job),
        mcp_session.call("process", action="status", job_id=job),
        mcp_session.call("process", action="list"),
        mcp_session.call("process", action="list", failed=True),
        mcp_session.call("exec", command=f"{GATE}; exit 4", title="c\u202ed", background=True),
    ]
    (work / "go").touch()
    until(lambda: "c\\u202ed" in mcp_session.call("process", action="status", job_id=job).text, what="the notice")
    assert all("a\\u202eb\\e[31m" in answer.text for answer in answers[1:4])
    assert "command: echo \\u202eout; exit 3" in answers[1].text
    assert f"cwd: {work}/in\\u202eside" in answers[1].text
    assert "\u202e" not in "".join(answer.text for answer in answers[1:])
    assert "\u202eout" in mcp_session.ok("process", action="log", job_id=job, raw=True)["output"], "output is as it is"
