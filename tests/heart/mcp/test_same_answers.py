"""One job, one JSON, two faces: the same request gets the same object from the command line and over MCP."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from support import pair
from support.cli import Cli
from support.face import Face
from support.mcp_client import McpSession
from support.tools import UNKNOWN

# What depends on when one asks.
TIMES = frozenset({"elapsed_ms", "idle_ms", "waited_ms", "retry_after_ms", "updated_at", "usage"})
# The defaults of the faces differ: over MCP all that an answer shows has one budget
BOUNDED = {**dict.fromkeys(("poll", "log", "wait"), limits.MCP_SHOWN_BYTES), "tail": limits.MCP_SHOWN_BYTES // 2}
PRINT = """
import os
for number in range(3000):
    os.write(1 + number % 3 // 2, b"line %d \\x1b[31mred\\x1b[0m \\xc3\\xa9\\n" % number)
os.write(1, b"50%\\r100%\\nlast \\xff, no newline")
os._exit(3)
"""


# Told once to each session, and each time to a command line, which has none (test_not_utf_8.py)
NOT_UTF_8 = re.compile(r" ?Bytes that are not UTF-8 .* to read them\.")


def _settled(answer: Any) -> Any:
    """The answer without what is about the time of asking."""
    if isinstance(answer, dict):
        if NOT_UTF_8.search(str(answer.get("hint"))):
            hint = NOT_UTF_8.sub("", answer["hint"])
            answer = {
                name: hint if name == "hint" else value for name, value in answer.items() if name != "hint" or hint
            }
        if "advice" in answer:
            kept = [one for one in answer["advice"] if one["kind"] not in ("encoding", "silence")]
            answer = {name: value for name, value in answer.items() if name not in ("hint", "advice")}
            answer |= {"hint": " ".join(one["text"] for one in kept), "advice": kept} if kept else {}
        return {name: _settled(value) for name, value in answer.items() if name not in TIMES}
    return [_settled(value) for value in answer] if isinstance(answer, list) else answer


def _unspelt(answer: dict[str, Any]) -> dict[str, Any]:
    """An error without the names of arguments, which each face spells in its own way."""
    if answer["ok"]:
        return answer
    error = {key: value for key, value in answer["error"].items() if key != "details"}
    error["details"] = {key: value for key, value in answer["error"].get("details", {}).items() if key != "field"}
    for key in ("message", "hint"):
        said = re.sub(
            r"`outlive (\w+) --(\w+)`|`process` action=(\w+) (\w+)=true", r"CALL \1\3 \2\4", error.get(key) or ""
        )
        error[key] = re.sub(r"--([a-z-]+)", lambda flag: flag[1].replace("-", "_"), said)
    return answer | {"error": error}


class Faces:
    """Asks both, and says how they differ."""

    def __init__(self, cli: Cli, session: McpSession) -> None:
        self.cli, self.session = cli, session
        self.faces = [Face(name, cli, session) for name in ("cli", "mcp")]

    def same(self, verb: str, job: str | None = None, /, **given: Any) -> dict[str, Any]:
        """Return the answer to the same call on both faces."""
        if verb in BOUNDED:
            given = {"max_bytes": BOUNDED[verb], **given}
        ours, theirs = (_settled(face.ask(verb, job, **given)) for face in self.faces)
        assert _unspelt(ours) == _unspelt(theirs), f"{verb} {given}"
        found: dict[str, Any] = ours
        return found


@pytest.fixture(scope="module")
def era() -> str:
    """Which era carries an answer makes no difference to it: test_tools.py runs in both."""
    return "modern"


@pytest.fixture
def faces(cli: Cli, shared_session: McpSession) -> Faces:
    return Faces(cli, shared_session)


@pytest.fixture
def finished(faces: Faces, root: Path) -> str:
    """A job with much on both streams, escape sequences and bytes that are no text. No supervisor has it any more."""
    found = faces.session.ok("exec", command=[sys.executable, "-c", PRINT], title="much", tags=["a.b"], env={"A": "1"})
    job: str = found["job_id"]
    pair.until_free(root, job)
    return job


def test_a_finished_job_looks_the_same(faces: Faces, finished: str) -> None:
    same, job = faces.same, finished
    status = same("status", job)
    assert (status["state"], status["exit_code"], status["tags"]) == ("exited", 3, ["a.b"])
    for since in (0, 10, 40_000, 10**9):
        assert same("poll", job, since_seq=since)["type"] == "poll"
    assert same("poll", job, since_seq=0, max_bytes=700, raw=True)["truncated"]
    logs: list[dict[str, Any]] = [
        {},
        {"limit": 3},
        {"offset": 5},
        {"offset": 5, "limit": 2},
        {"since_seq": 77, "limit": 4},
        {"stream": "stderr", "limit": 2},
        {"search": "line 29+ ", "context": 1},
        {"limit": 2, "raw": True},
    ]
    for given in logs:
        assert same("log", job, **given)["output"]
    for given in ({}, {"tail_lines": 2, "max_bytes": 60}):
        assert same("tail", job, **given)["stdout_tail"].endswith("last \N{REPLACEMENT CHARACTER}, no newline")
    assert same("wait", job, since_seq=0)["fired"]["condition"] == "exit"
    kill = same("kill", job)
    assert (kill["state"], kill["reason"]) == ("exited", "exit")
    briefly: list[tuple[str, dict[str, Any]]] = [
        ("status", {}),
        ("poll", {"since_seq": 0, "max_bytes": 900}),
        ("log", {"limit": 3}),
        ("tail", {"max_bytes": 50}),
        ("events", {"limit": 2}),
        ("kill", {}),
    ]
    for verb, given in briefly:
        brief = same(verb, job, **given, detail="brief")
        assert list(brief)[:2] == ["ok", "type"] and len(str(same(verb, job, **given))) > len(str(brief))


def test_lists_tags_and_notifications_look_the_same(faces: Faces, finished: str, work: Path) -> None:
    same, job = faces.same, finished
    faces.cli.ok("run", "--wait", "--tag", "x", "echo other")
    faces.cli.ok("create", "echo made")
    assert len(same("list", all=True)["jobs"]) == 3
    assert same("list", all=True, limit=1)["truncated"]
    for detail in ("full", "brief"):  # the other jobs are another's over MCP, which a brief entry says
        assert [entry["job_id"] for entry in same("list", all=True, tags=["a.*"], detail=detail)["jobs"]] == [job]
    assert same("list", all=True, state="created")["jobs"]
    assert len(same("list", cwd=str(work))["jobs"]) == 3
    for detail in ("full", "brief"):
        assert same("tag set", job, tags=["c.d", "e"], detail=detail)["tags"] == ["c.d", "e"]
    sink = str(work / "ends")
    assert same("notify set", job, file=sink)["notification"] == {"notify_file": sink}


def test_a_running_and_a_created_job_look_the_same(faces: Faces, root: Path, work: Path) -> None:
    same = faces.same
    job = faces.cli.ok("run", "--snapshot-after", "0", "sleep 600 & echo begun; wait")["job_id"]
    faces.cli.ok("wait", job, "--until", "output", "--timeout-ms", "50s")
    status = same("status", job)
    assert (status["state"], status["timeout_ms"]) == ("running", 0)
    poll = same("poll", job, since_seq=0)
    assert (poll["state"], poll["output"]) == ("running", "begun\n")
    quiet = same("poll", job, since_seq=6)
    assert (quiet["output"], quiet["snippet"]) == ("", "begun\n")
    assert same("wait", job, since_seq=0, timeout_ms=50)["timed_out"]
    assert same("write", job, data="x")["error"]["code"] == "stdin_closed"
    assert same("clear", job)["error"]["code"] == "invalid_state"
    faces.cli.ok("remove", job)
    created = faces.cli.ok("create", "echo made")["job_id"]
    assert same("status", created)["state"] == "created"
    for verb in ("poll", "log", "tail"):
        assert same(verb, created)["ok"]
    assert same("kill", created)["error"]["code"] == "invalid_state"


def made(root: Path) -> list[Path]:
    """What is in the root, without the directories that an idle pair makes ahead."""
    return sorted(path for path in root.iterdir() if not path.name.startswith(".tmp-"))


def test_errors_look_the_same(faces: Faces, finished: str, root: Path) -> None:
    same, job = faces.same, finished
    before = made(root)
    for verb in ("status", "poll", "log", "tail", "wait", "kill", "clear", "remove", "start", "restart"):
        for wrong in (UNKNOWN, "..", "../x", "ABC", "ZZZZZZZZ") if verb == "status" else (UNKNOWN, "../x"):
            assert same(verb, wrong)["error"]["code"] == "job_not_found"
    assert same("start", job)["error"]["code"] == "invalid_state"
    assert same("write", job, data="x")["error"]["code"] == "stdin_closed"
    assert same("tag set", job, tags=["no good"])["error"]["code"] == "invalid_tag"
    wrongs: list[tuple[str, str, Any]] = [
        ("kill", "signal", "TREM"),
        ("log", "search", "("),
        ("wait", "until", ["exti"]),
    ]
    for verb, field, wrong in wrongs:
        assert same(verb, job, **{field: wrong})["error"]["details"]["field"] == f"--{field}"
    differ = []
    runs: list[dict[str, Any]] = [
        {"command": ""},
        {"cwd": "/no/such/place"},
        {"env": {"A-B": "1"}},
        {"mask": ["A-B"]},
        {"tags": ["no good"]},
        {"title": "x" * 200},
        {"shell": "nowhere -c"},
    ]
    for given in runs:
        try:
            assert not same("run", **{"command": "true", **given})["ok"]
        except AssertionError as error:
            differ.append(str(error))
    assert not differ, "\n".join(differ)
    assert made(root) == before, "nothing was started"


def test_an_id_that_names_two_jobs_looks_the_same(faces: Faces) -> None:
    made = [faces.cli.ok("run", "true")["job_id"] for _ in range(3)]
    # The first six characters change every few minutes: the job in the middle shares them with at least one
    part = made[1][:6]
    error = faces.same("status", part)["error"]
    assert error["code"] == "ambiguous_job_id"
    assert set(error["details"]["candidates"]) == {job for job in made if job.startswith(part)}
    assert all(job in error["hint"] for job in error["details"]["candidates"])
    assert error["retryable"] is False


def test_a_command_that_was_run_on_either_face_has_the_same_fields(faces: Faces) -> None:
    own = {"job_id", "sessionId", "short_id", "pid", "started_at", "finished_at", "created_at", "duration_ms", "owner"}
    own |= {"stdout_log_path", "stderr_log_path", "previous"}
    given: dict[str, Any] = {"title": "t", "tags": ["a"], "env": {"A": "1"}, "mask": ["A"], "timeout_ms": 1_800_000}
    ours, theirs = (face.ok("run", command="echo out; exit 3", kill_after_ms=5_000, **given) for face in faces.faces)
    assert theirs["previous"]["job_id"] == ours["job_id"]
    assert set(ours) == set(theirs) - {"previous"}
    same = [{name: value for name, value in _settled(one).items() if name not in own} for one in (ours, theirs)]
    assert same[0] == same[1]
