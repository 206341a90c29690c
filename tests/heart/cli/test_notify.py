"""Telling others that a job ended: a command, a file, and the record of both in the job's directory."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from support import pair, processes
from support.cli import Cli, Jobs
from support.jobs import background
from support.preloaded import OUTLIVE
from support.wait import until

EVENT = {
    "schema_version", "event_type", "job_id", "state", "command", "cwd", "started_at", "finished_at", "duration_ms",
    "exit_code", "signal", "reason", "stdout_log_path", "stderr_log_path",
}  # fmt: skip


def _record(root: Path, job: str) -> dict[str, Any]:
    """completion_event.json once everything was delivered."""
    path = root / job / "completion_event.json"

    def whole() -> dict[str, Any] | None:
        found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
        return None if found.get("pending", True) else found

    return until(whole, what="everything is delivered")


def _events(path: Path, count: int = 1) -> list[dict[str, Any]]:
    """The events in a file, when there are so many."""
    until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, what=f"{count} events in {path}")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(events) == count
    return events


# --- what is told --------------------------------------------------------------------------------------------------


def test_the_file_gets_one_line_for_each_job_and_its_directory_is_made(cli: Cli, root: Path, work: Path) -> None:
    first = cli.ok("run", "--notify-file", "new/deep/events", "--tag", "t", "echo hello; exit 3")
    _record(root, first["job_id"])  # the first is told before the second can be
    second = cli.ok("run", "--notify-file", "new/deep/events", "true")
    events = work / "new/deep/events"
    told, other = _events(events, 2)
    assert set(told) >= EVENT
    assert (told["event_type"], told["schema_version"], told["job_id"]) == ("job.finished", "0.1", first["job_id"])
    same = ("state", "exit_code", "reason", "command", "cwd", "started_at", "finished_at", "stdout_log_path")
    assert {name: told[name] for name in same} == {name: first[name] for name in same}
    assert other["job_id"] == second["job_id"]
    assert events.stat().st_mode & 0o077 == 0


@pytest.mark.fault("S16")
def test_the_command_gets_the_event_on_its_stdin_and_in_a_file(cli: Cli, root: Path, work: Path) -> None:
    sink = 'cat > stdin; cp "$OUTLIVE_EVENT_PATH" file; env > env; echo noise; echo noise >&2'
    job = cli.ok("run", "--notify-command", sink, "exit 3")
    record = _record(root, job["job_id"])
    told = json.loads((work / "stdin").read_text())
    assert set(told) >= EVENT
    assert (told["job_id"], told["exit_code"]) == (job["job_id"], 3)
    assert told.items() <= json.loads((work / "file").read_text()).items()
    variables = dict(line.split("=", 1) for line in (work / "env").read_text().splitlines() if "=" in line)
    assert variables["OUTLIVE_JOB_ID"] == job["job_id"]
    assert variables["OUTLIVE_EVENT_TYPE"] == "job.finished"
    assert variables["OUTLIVE_EVENT_PATH"] == str(root / job["job_id"] / "completion_event.json")
    (result,) = record["delivery_results"]
    assert (result["sink_type"], result["target"], result["success"], result["exit_code"]) == ("command", sink, True, 0)
    assert cli.ok("poll", job["job_id"])["output"] == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["kill -9 $$"], {"state": "killed", "signal": "SIGKILL", "exit_code": None, "reason": "signal"}),
        (["--timeout", "100", "sleep 60"], {"state": "killed", "reason": "timeout", "exit_code": None}),
        (["no-such-program-at-all", "x"], {"state": "failed", "reason": "launch", "exit_code": None}),
    ],
)
def test_every_outcome_is_told(cli: Cli, root: Path, work: Path, words: list[str], expected: dict[str, Any]) -> None:
    job = cli.ok("run", "--notify-file", "events", "--notify-command", "cat > told", *words)["job_id"]
    (told,) = _events(work / "events")
    assert expected.items() <= told.items()
    record = _record(root, job)
    assert [result["success"] for result in record["delivery_results"]] == [True, True]
    assert json.loads((work / "told").read_text()) == told


def test_a_requested_end_is_told(cli: Cli, work: Path) -> None:
    job = background(cli, "--notify-file", "events", "sleep 60")
    cli.ok("kill", job)
    (told,) = _events(work / "events")
    assert (told["state"], told["signal"], told["reason"]) == ("killed", "SIGTERM", "kill")


# --- where the command runs ----------------------------------------------------------------------------------------


def test_the_command_runs_in_directory_and_shell_of_the_job_with_the_callers_environment(
    cli: Cli, root: Path, work: Path
) -> None:
    (work / "sub").mkdir()
    told = 'pwd > where; echo "$MINE ${BASH_VERSION:+bash}" >> where'
    words = ["--cwd", "sub", "--shell-wrapper", "bash -c", "--notify-command", told]
    job = cli.ok("run", *words, "true", env={"MINE": "inherited"})["job_id"]
    _record(root, job)
    assert (work / "sub" / "where").read_text() == f"{work}/sub\ninherited bash\n"


def test_a_directory_that_went_away_does_not_silence_the_command(cli: Cli, root: Path, work: Path) -> None:
    (work / "sub").mkdir()
    job = cli.ok("run", "--cwd", "sub", "--notify-command", f"cat > {work}/told", "rmdir ../sub")["job_id"]
    _record(root, job)
    assert json.loads((work / "told").read_text())["job_id"] == job


def test_a_sink_can_ask_about_its_job(cli: Cli, root: Path, work: Path) -> None:
    asks = " ".join([*OUTLIVE, "status", "$OUTLIVE_JOB_ID", "> told"])
    job = cli.ok("run", "--notify-command", asks, "exit 3")["job_id"]
    _record(root, job)
    told = json.loads((work / "told").read_text())
    assert (told["ok"], told["state"], told["exit_code"]) == (True, "exited", 3)


# --- what fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [("exit 9", 9, "9"), ("no-such-program --x", 127, "absolute path"), ("kill -9 $$", None, "signal 9")],
)
def test_a_failing_command_is_recorded_and_changes_nothing(
    cli: Cli, root: Path, command: str, code: int | None, said: str
) -> None:
    job = cli.ok("run", "--notify-command", command, "exit 3")["job_id"]
    (result,) = _record(root, job)["delivery_results"]
    assert (result["success"], result["exit_code"]) == (False, code)
    assert said in result["error"]
    status = cli.ok("status", job)
    assert (status["state"], status["exit_code"], status["reason"]) == ("exited", 3, "exit")


@pytest.mark.parametrize(
    ("target", "errno"), [("{work}", "EISDIR"), ("{work}/file/below", "E"), ("/dev/full", "ENOSPC")]
)
def test_a_file_that_cannot_be_written_is_recorded(cli: Cli, root: Path, work: Path, target: str, errno: str) -> None:
    (work / "file").touch()
    job = cli.ok("run", "--notify-file", target.format(work=work), "--notify-command", "cat > told", "exit 3")["job_id"]
    results = {result["sink_type"]: result for result in _record(root, job)["delivery_results"]}
    assert (results["file"]["success"], results["command"]["success"]) == (False, True)
    assert errno in results["file"]["error"]
    assert cli.ok("status", job)["exit_code"] == 3


def test_a_command_that_hangs_holds_up_nobody(cli: Cli, root: Path, work: Path, place: Path) -> None:
    job = cli.ok("run", "--notify-command", "echo $$ > pid; exec sleep 300", "echo out; exit 3")
    assert (job["state"], job["exit_code"], job["descendants"]) == ("exited", 3, 0)
    until(lambda: (work / "pid").exists() and (work / "pid").read_text().strip())
    assert cli.ok("wait", job["job_id"])["exit_code"] == 3
    assert cli.ok("poll", job["job_id"])["output"] == "out\n"
    assert cli.ok("kill", job["job_id"])["survivors"] == []
    cli.ok("remove", job["job_id"])
    assert not (root / job["job_id"]).exists()
    assert processes.wait_gone(place, 60) == {}


def test_a_file_that_blocks_holds_up_nobody(cli: Cli, root: Path, work: Path) -> None:
    os.mkfifo(work / "fifo")  # opening it for writing waits for a reader
    job = cli.ok("run", "--notify-file", "fifo", "sleep 60 & exit 3")
    assert (job["state"], job["exit_code"]) == ("exited", 3)
    assert cli.ok("kill", job["job_id"], "--grace-ms", "100")["survivors"] == []
    (result,) = _record(root, job["job_id"])["delivery_results"]
    assert result["success"] is False
    cli.ok("remove", job["job_id"])


# --- notify set ----------------------------------------------------------------------------------------------------


def test_a_sink_set_while_the_job_runs_is_told_its_end(cli: Cli, root: Path, work: Path) -> None:
    job = background(cli, "until [ -e go ]; do sleep 0.1; done; exit 5")
    found = cli.ok("notify", "set", job, "--command", "cat > told", "--file", "events")
    assert found["type"] == "notify_set"
    assert found["notification"] == {"notify_command": "cat > told", "notify_file": f"{work}/events"}
    (work / "go").touch()
    _record(root, job)
    assert json.loads((work / "told").read_text())["exit_code"] == 5
    _events(work / "events")


def test_what_is_not_given_stays(cli: Cli, work: Path) -> None:
    job = cli.ok("create", "--notify-file", "events", "--notify-command", "old", "true")["job_id"]
    found = cli.ok("notify_set", job, "--command", "cat > told")["notification"]
    assert found == {"notify_command": "cat > told", "notify_file": f"{work}/events"}
    assert cli.ok("notify", "set", job)["notification"] == found
    cli.ok("start", job)
    _events(work / "events")
    until((work / "told").exists)


def test_setting_a_sink_of_a_finished_job_executes_nothing(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("run", "true")["job_id"]
    found = cli.ok("notify", "set", job, "--command", "touch told", "--file", "events")
    assert found["state"] == "exited"
    assert found["hint"]
    cli.ok("status", job)
    cli.ok("wait", job)
    assert list(work.iterdir()) == []
    assert not (root / job / "completion_event.json").exists()


def test_a_sink_set_right_after_the_end_is_not_told_that_end(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("run", "true", env={"OUTLIVE_CRASH_AT": "stop:end_reaped"})["job_id"]
    supervisor = until(lambda: cli.ok("status", job)["supervisor_pid"], what="it is stopped")
    sinks = ("--command", "touch told", "--file", "events")
    setting = cli.spawn("notify", "set", job, *sinks)
    try:
        until(lambda: _has_open(setting.pid, root / job), what="it waits for the supervisor")
    finally:
        os.kill(supervisor, signal.SIGCONT)
    answer = json.loads(setting.communicate(timeout=60)[0])
    assert "hint" in answer, answer
    pair.until_free(root, job)
    assert list(work.iterdir()) == []


def _has_open(pid: int, path: Path) -> bool:
    try:
        return any(os.readlink(fd) == str(path) for fd in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it has just closed a file
        return False


def test_an_empty_sink_is_refused_and_a_wrong_notify_set_changes_nothing(cli: Cli, jobs: Jobs) -> None:
    for words in (["--notify-command", ""], ["--notify-command", "  "], ["--notify-file", ""]):
        cli.error("run", *words, "true", code="invalid_argument")
    assert jobs.all() == []
    job = cli.ok("create", "--notify-command", "old", "true")["job_id"]
    cli.error("notify", "set", job, "--command", "", code="invalid_argument")
    error = cli.error("notify", "set", job, "--comand", "x", code="invalid_argument", status=2)
    assert "--command" in error["hint"]
    assert cli.ok("notify", "set", job)["notification"] == {"notify_command": "old"}
    cli.error("notify", "set", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--command", "x", code="job_not_found")
