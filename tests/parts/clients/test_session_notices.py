"""`notices` and `hook`: what happened to the jobs of an agent's session is told once, on whichever way comes first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import is_id
from outlive.system import process
from support import pair
from support.cli import Cli, environment
from support.jobs import make_running
from support.mcp_client import McpSession
from support.notified import wait_for_end
from support.preloaded import OUTLIVE
from support.wait import until

SESSION = "3f2a9c1e-0000-4000-8000-000000000001"
NAMED = {"CLAUDE_CODE_SESSION_ID": SESSION}


def hook(
    event: str, session: str = SESSION, window: tuple[str, ...] = (), host: str = "claude-code", **more: Any
) -> dict[str, Any]:
    """What the hook answers; {} if it says nothing. `window`: the command of another client that calls it."""
    asked = json.dumps({"session_id": session, "hook_event_name": event, "cwd": "/", **more})
    done = subprocess.run(
        [*window, *OUTLIVE, "hook", host],
        input=asked,
        env=environment(None),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    answer: dict[str, Any] = json.loads(done.stdout or "{}")
    return answer


def added(answer: dict[str, Any]) -> str:
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text


GO = "until [ -e go ]; do sleep 0.1; done; "


def ended(cli: Cli, work: Path, then: str, *words: str) -> str:
    """Start a job of the session, which ends after its start was answered; return its id when it has ended."""
    job: str = cli.ok("run", "--snapshot-after", "0", *words, "sh", "-c", GO + then, env=NAMED, cwd=work)["job_id"]
    (work / "go").touch()
    wait_for_end(cli, job)
    (work / "go").unlink()
    return job


def test_a_hook_tells_how_a_job_of_the_session_ended_once(cli: Cli, work: Path) -> None:
    job = ended(cli, work, "echo broken; exit 3", "--title", "build")
    answer = hook("UserPromptSubmit")
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert f"outlive job {job[-8:]} (build) exited with code 3; last line: broken" in added(answer)
    assert hook("UserPromptSubmit") == {}
    assert cli.ok("notices", env=NAMED)["notices"] == []


def test_a_hook_that_finds_a_lost_job_has_its_notification_command_run(cli: Cli, root: Path, work: Path) -> None:
    """Of a job that was given as words, and so has no shell of its own."""
    job = ended(cli, work, "exit 3", "--notify-command", f"cat >{work}/told", "--")
    told = until(lambda: (work / "told").is_file() and work / "told", what="the first notification")
    pair.until_free(root, job)
    make_running(root, job, identity={**process.identity(os.getpid()).to_dict(), "start_time": 1})
    told.unlink()
    (root / job / "completion_event.json").unlink()
    assert job[-8:] in added(hook("UserPromptSubmit"))
    until(lambda: told.is_file() and job in told.read_text(), what="the notification")
    pair.until_free(root, job)


def test_news_at_a_stop_is_context_to_go_on_with_and_no_problem_and_no_news_is_none(cli: Cli, work: Path) -> None:
    ended(cli, work, "echo here; kill -9 $$")
    answer = hook("Stop")
    assert answer["hookSpecificOutput"]["hookEventName"] == "Stop"
    assert "decision" not in answer
    assert "was ended by SIGKILL (reason: signal); last line: here" in added(answer)
    assert hook("Stop", stop_hook_active=True) == {}


@pytest.mark.parametrize(
    ("host", "client", "asked", "stops", "goes_on"),
    [
        ("codex", "codex-mcp-client", "UserPromptSubmit", "Stop", "block"),
        ("gemini", "gemini-cli-mcp-client", "BeforeAgent", "AfterAgent", "deny"),
    ],
)
def test_codex_and_gemini_cli_are_told_at_a_prompt_and_go_on_at_a_stop(
    host: str,
    client: str,
    asked: str,
    stops: str,
    goes_on: str,
    mcp_connect: Callable[..., McpSession],
    cli: Cli,
    work: Path,
) -> None:
    """Codex names its session; the server and the hook of Gemini CLI, which a shell runs, have their parent in common."""
    window = OTHER_WINDOW if host == "codex" else ("sh", "-c", '"$@"; exit $?', "hook")
    env = {"CLAUDE_CODE_SESSION_ID": None, "CODEX_SESSION_ID": "of-codex" if host == "codex" else None}
    session = mcp_connect(client_name=client, args=("--answers=both",), env=env, cwd=work)

    def told(event: str) -> dict[str, Any]:
        begun = session.ok("exec", command=f"{GO}exit 3", yield_ms=0, workdir=str(work))
        (work / "go").touch()
        wait_for_end(cli, begun["job_id"])
        (work / "go").unlink()
        answer = hook(event, "of-codex", window, host, cwd=str(work))
        assert hook(event, "of-codex", window, host, cwd=str(work)) == {}
        return answer

    assert "exited with code 3" in added(told(asked))
    answer = told(stops)
    assert (answer["decision"], "exited with code 3" in answer["reason"]) == (goes_on, True)


def test_what_an_answer_of_the_command_line_said_is_no_news(cli: Cli) -> None:
    assert cli.ok("run", "--wait", "echo", "hi", env=NAMED)["state"] == "exited"
    job = cli.ok("run", "--snapshot-after", "0", "echo", "ho", env=NAMED)["job_id"]
    assert cli.ok("wait", job, env=NAMED)["state"] == "exited"
    assert hook("UserPromptSubmit") == {}


def test_the_end_of_a_job_whose_call_was_killed_is_told(cli: Cli, root: Path, work: Path) -> None:
    words = ("sh", "-c", f"touch started; {GO}echo broken; exit 3")
    with cli.spawn("run", "--wait", *words, env=NAMED, cwd=work) as call:
        until((work / "started").exists, what="the command")
        assert hook("UserPromptSubmit") == {}, "the call is under way"
        call.kill()
        call.communicate()
    (job,) = filter(is_id, os.listdir(root))
    assert "still runs; the call that started it got no answer" in added(hook("UserPromptSubmit"))
    (work / "go").touch()
    wait_for_end(cli, job)
    assert "exited with code 3; last line: broken" in added(hook("UserPromptSubmit"))
    assert hook("UserPromptSubmit") == {}


def test_a_hook_leaves_the_entry_of_a_job_that_is_being_made(cli: Cli, root: Path, work: Path) -> None:
    words = ("--snapshot-after", "0", "--cwd", str(work), "sh", "-c", f"{GO}echo broken; exit 3")
    with cli.stopped_at("make_live", "run", *words, env=NAMED):
        assert hook("UserPromptSubmit") == {}
    (job,) = filter(is_id, os.listdir(root))
    assert hook("UserPromptSubmit") == {}
    (work / "go").touch()
    wait_for_end(cli, job)
    assert "exited with code 3; last line: broken" in added(hook("UserPromptSubmit"))


def test_a_job_that_a_shell_of_the_session_has_followed_to_its_end_is_no_news(cli: Cli, root: Path) -> None:
    assert cli.text("run", "--follow", "sh", "-c", "echo x; exit 3", env=NAMED).status == 0
    assert hook("UserPromptSubmit") == {}
    assert os.listdir(root / ".owed") == []


def test_news_is_of_one_session(cli: Cli, work: Path) -> None:
    (work / "sub").mkdir()
    ended(cli, work / "sub", "echo first; exit 1")
    assert hook("UserPromptSubmit", "another") == {}
    assert cli.ok("notices", "--session", "another")["notices"] == []
    (notice,) = cli.ok("notices", "--session", SESSION)["notices"]
    assert (notice["exit_code"], notice["last_line"]) == (1, "first")


def test_a_job_that_still_runs_is_no_news_and_one_that_ends_later_is(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sh", "-c", GO + "echo gone", env=NAMED, cwd=work)["job_id"]
    assert hook("UserPromptSubmit") == {}
    (work / "go").touch()
    wait_for_end(cli, job)
    assert "exited with code 0; last line: gone" in added(hook("UserPromptSubmit"))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "no JSON", '{"session_id": 1}', pytest.param("[" * 100_000, id="nested")]
)
def test_a_hook_never_fails_and_never_speaks_out_of_turn(text: str, cli: Cli) -> None:
    done = cli.text("hook", "claude-code", input=text)
    assert (done.status, done.stdout) == (0, "")


def test_a_session_has_to_be_named(cli: Cli) -> None:
    error = cli.error("notices", code="invalid_argument", status=2, env={"CLAUDE_CODE_SESSION_ID": None})
    assert "--session" in error["hint"]


def test_a_shell_without_a_session_keeps_no_book(cli: Cli, root: Path) -> None:
    cli.ok("run", "--wait", "true", env={"CLAUDE_CODE_SESSION_ID": None})
    assert not (root / ".owed").exists()


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_hook_and_the_server_of_the_session_read_one_book(
    mcp_connect: Callable[..., McpSession], cli: Cli, work: Path
) -> None:
    session = mcp_connect(client_name="claude-code", args=("--answers=both",), env=NAMED, cwd=work)

    def job(then: str) -> None:
        begun = session.ok("exec", command=GO + then, yield_ms=0, workdir=str(work))
        assert (begun["state"], begun.get("notices")) == ("running", None)
        (work / "go").touch()
        wait_for_end(cli, begun["job_id"])
        (work / "go").unlink()

    job("echo told by the hook; exit 2")
    assert "told by the hook" in added(hook("UserPromptSubmit"))
    job("echo told by the server; exit 2")
    told = session.ok("process", action="list", limit=1, tag="none")["notices"]
    assert [one["last_line"] for one in told] == ["told by the server"]
    assert hook("UserPromptSubmit") == {}


OTHER_WINDOW = (sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])")


@pytest.mark.real_start
@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_window_is_told_under_its_new_session_name_too_and_another_window_is_not(
    mcp_connect: Callable[..., McpSession], cli: Cli, work: Path
) -> None:
    session = mcp_connect(client_name="claude-code", args=("--answers=both",), env=NAMED, cwd=work)
    begun = session.ok("exec", command=GO + "echo after clear; exit 2", yield_ms=0, workdir=str(work))
    (work / "go").touch()
    wait_for_end(cli, begun["job_id"])
    assert hook("UserPromptSubmit", "after-clear", OTHER_WINDOW, cwd=str(work)) == {}
    assert "exited with code 2; last line: after clear" in added(hook("UserPromptSubmit", "after-clear", cwd=str(work)))
    assert hook("Stop", "after-clear", cwd=str(work)) == {}
    assert session.ok("process", action="list", limit=1, tag="none").get("notices") is None


@pytest.mark.real_start
def test_what_a_closed_window_was_not_told_is_told_to_the_next_in_that_directory(cli: Cli, work: Path) -> None:
    """As `claude -p --continue` is: another process, whose server has another session name."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}}
    run = {"name": "exec", "arguments": {"command": GO + "echo left; exit 5", "background": True, "workdir": str(work)}}
    lines: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": run},
    ]
    asked = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    words = [*OTHER_WINDOW, *OUTLIVE, "mcp"]
    env = environment({**NAMED, "CLAUDE_PROJECT_DIR": str(work)})
    subprocess.run(words, input=asked, env=env, cwd=work, capture_output=True, text=True, check=True)
    (job,) = (one["job_id"] for one in cli.ok("list", "--all")["jobs"])
    (work / "go").touch()
    wait_for_end(cli, job)
    assert hook("UserPromptSubmit", "next", cwd=str(work / "elsewhere")) == {}
    assert "exited with code 5; last line: left" in added(hook("UserPromptSubmit", "next", cwd=str(work)))
    assert hook("UserPromptSubmit", "next", cwd=str(work)) == {}
