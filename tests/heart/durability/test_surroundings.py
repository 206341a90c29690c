"""What happens around a job: a supervisor that hangs, pids that are used again, code that is deleted, no process to be had."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import outlive
from outlive import limits
from outlive.core import ids, units
from outlive.core.records import State
from outlive.store import atomic_file
from outlive.supervisor.ending import kill, outcome
from outlive.supervisor.ending.kill import Killer
from outlive.supervisor.event_loop import EventLoop
from outlive.system import process
from outlive.system.tree import Member
from support import pair, processes
from support.cli import Cli, Jobs, answer_of
from support.commands import GATE
from support.jobs import job_ids, make_running, rewrite
from support.mcp_client import RawMcp
from support.tiers import first, only
from support.wait import until

SOURCE = Path(outlive.__file__).parent


# --- a supervisor that hangs ---------------------------------------------------------------------------------------


@pytest.mark.fault("F12")
def test_a_stopped_supervisor_is_said_not_to_answer_and_nothing_is_killed_for_it(cli: Cli, work: Path) -> None:
    started = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", f"echo up; {GATE}; echo on; cat; exit 3")
    job_id = started["job_id"]
    cli.ok("wait", job_id, "--until", "output", "--timeout-ms", "50s")
    with pair.stopped(job_id) as supervisor:
        for verb in ("status", "poll"):
            said = cli.ok(verb, job_id)
            assert (said["state"], said["supervisor"], said["supervisor_pid"]) == (
                "running",
                "unresponsive",
                supervisor,
            )
            assert f"kill -CONT {supervisor}" in said["hint"]
        assert said["output"] == "up\n"
        (entry,) = cli.ok("list")["jobs"]
        assert (entry["supervisor"], entry["supervisor_pid"]) == ("unresponsive", supervisor)
        assert f"kill -CONT {supervisor}" in cli.text("list", "--human").stdout
        error = cli.error("write", job_id, "--data", "x", "--timeout-ms", "60s", code="io_error")
        assert error["retryable"] and "did not answer within 5 s" in error["message"], (
            "one limit, and nothing was written"
        )
        assert f"kill -CONT {supervisor}" in error["hint"]
        (work / "go").touch()
        found = cli.ok("wait", job_id, "--timeout-ms", "100")
        assert (found["state"], found["timed_out"], found["supervisor"]) == ("running", True, "unresponsive")
        assert f"kill -CONT {supervisor}" in found["hint"]
        assert pair.supervisor(job_id) == supervisor, "no process took its place"
    cli.ok("write", job_id, "--data", "y\n", "--eof")
    ended = cli.ok("wait", job_id, "--timeout-ms", "50s")
    assert (ended["exit_code"], ended["output"]) == (3, "up\non\ny\n")
    assert "supervisor" not in ended and "supervisor" not in cli.ok("status", job_id)


@pytest.mark.fault("F12")
def test_a_model_is_told_of_a_stopped_supervisor_and_what_to_do(raw_mcp: Callable[..., RawMcp]) -> None:
    server = raw_mcp()
    job_id = server.call("exec", command="sleep 60", yield_ms=0)["job_id"]
    assert "supervisor" not in server.call("process", action="status", job_id=job_id).result
    with pair.stopped(job_id) as supervisor:
        for asked in (
            {"action": "status"},
            {"action": "poll"},
            {"action": "wait", "timeout_ms": 10},
            {"action": "list"},
        ):
            about = {} if asked["action"] == "list" else {"job_id": job_id}
            answer = server.call("process", **asked, **about)
            assert f"kill -CONT {supervisor}" in answer.text, asked
    server.call("process", action="remove", job_id=job_id)


def test_a_stopped_process_that_has_the_pid_of_a_supervisor_is_none(cli: Cli, root: Path, work: Path) -> None:
    """Start time and pid are both compared."""
    job_id = cli.ok("run", "--snapshot-after", "0", f"{GATE}; sleep 0.1")["job_id"]
    with subprocess.Popen(["sleep", "300"], env={}) as other:
        os.kill(other.pid, signal.SIGSTOP)
        until(lambda: pair.is_stopped(other.pid), what="the stop")
        path = root / job_id / "state.json"
        supervisor = atomic_file.load(path.read_bytes())["supervisor"]
        rewrite(path, supervisor={**supervisor, "pid": other.pid})
        assert "supervisor" not in cli.ok("status", job_id)
        other.kill()
    (work / "go").touch()
    assert cli.ok("wait", job_id, "--timeout-ms", "50s")["exit_code"] == 0


@pytest.mark.fault("F12")
def test_a_kill_past_a_stopped_supervisor_ends_the_job_and_says_how_its_end_gets_written(cli: Cli) -> None:
    job_id = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    with pair.stopped(job_id) as supervisor:
        found = cli.ok("kill", job_id)
        assert (found["state"], found["survivors"]) == ("running", [])
        assert f"kill -CONT {supervisor}" in found["hint"]
    found = cli.ok("wait", job_id)
    assert (found["state"], found["signal"]) == ("killed", "SIGTERM")


# --- pids that are used again --------------------------------------------------------------------------------------


@pytest.fixture
def stranger() -> Any:
    """A process that is no job's."""
    with subprocess.Popen(["sleep", "300"], env={}) as found:
        yield found
        found.kill()


@pytest.mark.fault("F10", "F35", "S05")
@pytest.mark.parametrize(
    ("verb", "changed"),
    only(
        lambda way: way[0] == "kill" or way[1] == "start_time",
        [(verb, changed) for verb in ("kill", "remove") for changed in ("start_time", "boot_id", "pid_ns")],
    ),
)
def test_a_pid_that_is_somebody_elses_now_is_never_signalled(
    cli: Cli, root: Path, stranger: subprocess.Popen[bytes], changed: str, verb: str
) -> None:
    job_id = cli.ok("run", "--wait", "true")["job_id"]
    identity = {**process.identity(stranger.pid).to_dict(), changed: "another" if changed == "boot_id" else 1}
    make_running(root, job_id, pid=stranger.pid, identity=identity, boot_id=identity["boot_id"])
    found = cli.ok("status", job_id)
    assert (found["state"], found["exit_code"]) == ("failed", None)
    assert found["reason"] == ("reboot" if changed == "boot_id" else "lost")
    cli.ok(verb, job_id)
    assert stranger.poll() is None


@pytest.mark.fault("F35", "F36")
def test_a_signal_goes_through_a_handle_to_the_very_process_or_to_nobody(stranger: subprocess.Popen[bytes]) -> None:
    start = process.start_time(stranger.pid)
    assert start is not None
    assert process.send_signal(stranger.pid, start + 1, signal.SIGKILL) is False
    assert stranger.poll() is None
    for pid in (1, 0, -1, -stranger.pid):
        assert process.send_signal(pid, None, signal.SIGKILL) is False
    assert stranger.poll() is None
    assert process.send_signal(stranger.pid, start, signal.SIGKILL) is True
    assert stranger.wait(60) == -signal.SIGKILL
    assert process.send_signal(stranger.pid, start, signal.SIGKILL) is False


@pytest.mark.fault("S21")
def test_kill_takes_jobs_and_no_pids(cli: Cli, root: Path, stranger: subprocess.Popen[bytes]) -> None:
    for word in (str(stranger.pid), f"-{stranger.pid}", "1", "0", "-1"):
        cli.error("kill", "--", word, code="job_not_found")
    assert stranger.poll() is None


@pytest.mark.fault("F39")
def test_a_member_that_cannot_be_killed_is_given_up_and_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "UNKILLABLE_S", 0.2)
    loop, looks = EventLoop(), []

    def members(full: bool) -> list[Member]:
        looks.append(full)
        return [Member(os.getpid(), 1)]  # alive for ever: no process has this identity

    killer = Killer(loop, members, loop.stop, gets_sigchld=True)
    loop.timer(lambda: killer.end(signal.SIGKILL, 0)).after(0)
    loop.run()
    assert len(looks) > kill.CLEAN_SWEEPS
    assert not killer.busy


@pytest.mark.fault("F37")
@pytest.mark.parametrize("times", first(1, [3, 8]))
def test_a_kill_of_a_job_that_is_being_started_ends_it(cli: Cli, root: Path, times: int) -> None:
    for _ in range(times):
        before = job_ids(root)
        with cli.spawn("run", "--snapshot-after", "0", "sleep 60") as call:
            (job_id,) = until(lambda before=before: job_ids(root) - before, what="the job's directory")
            killed = cli.ok("kill", job_id, "--grace-ms", "0")
            assert answer_of(call)["ok"]
        assert (killed["state"], killed["survivors"]) == ("killed", [])
        assert cli.ok("status", job_id)["state"] == "killed"


# --- what is left behind -------------------------------------------------------------------------------------------


@pytest.mark.fault("F32")
def test_a_descendant_that_never_stops_writing_does_not_hold_up_the_end(cli: Cli, jobs: Jobs) -> None:
    found = cli.ok("run", "--wait", "--tail-lines", "1", "(while :; do echo more; sleep 0.02; done) & exit 3")
    assert (found["state"], found["exit_code"]) == ("exited", 3)
    size = cli.ok("status", found["job_id"])["stdout_bytes"]
    until(lambda: cli.ok("status", found["job_id"])["stdout_bytes"] > size, what="what it goes on to write")
    assert cli.ok("kill", found["job_id"], "--grace-ms", "0")["survivors"] == []
    jobs.end()


# --- code that is deleted ------------------------------------------------------------------------------------------


@pytest.mark.fault("F14")
@pytest.mark.real_start
def test_a_job_ends_and_is_told_though_our_own_code_was_deleted(cli: Cli, place: Path, work: Path, root: Path) -> None:
    copy = place / "installed"
    shutil.copytree(SOURCE, copy / "outlive", ignore=shutil.ignore_patterns("__pycache__"))
    words = ("run", "--snapshot-after", "0", "--notify-file", str(work / "told"), "--notify-command", "cat > event")
    job_id = cli.ok(*words, f"echo a; {GATE}; echo b; exit 3", env={"PYTHONPATH": str(copy)})["job_id"]
    shutil.rmtree(copy)
    (work / "go").touch()
    ended = cli.ok("wait", job_id, "--timeout-ms", "50s")
    assert (ended["exit_code"], ended["output"]) == (3, "a\nb\n")
    pair.until_free(root, job_id)
    assert json.loads((root / job_id / "completion_event.json").read_bytes())["delivered"]
    assert (work / "told").exists() and json.loads((work / "event").read_bytes())["exit_code"] == 3


@pytest.mark.fault("F14")
@pytest.mark.real_start
def test_a_guardian_takes_over_though_our_own_code_was_deleted(cli: Cli, place: Path, work: Path) -> None:
    copy = place / "installed"
    shutil.copytree(SOURCE, copy / "outlive", ignore=shutil.ignore_patterns("__pycache__"))
    words = ("run", "--snapshot-after", "0", f"echo a; {GATE}; echo b; exit 3")
    job_id = cli.ok(*words, env={"PYTHONPATH": str(copy)})["job_id"]
    shutil.rmtree(copy)
    pair.end(pair.supervisor(job_id))
    (work / "go").touch()
    ended = cli.ok("wait", job_id, "--timeout-ms", "50s")
    assert (ended["exit_code"], ended["output"]) == (3, "a\nb\n")
    assert cli.ok("status", job_id)["adopted"] == 1


# --- nothing to be had ---------------------------------------------------------------------------------------------

NO_FORK = """
import errno, os, sys
def refused(): raise OSError(errno.{name}, os.strerror(errno.{name}))
os.fork = refused
from outlive.__main__ import main
sys.exit(main())
"""


@pytest.mark.fault("F58")
@pytest.mark.parametrize("name", ["EAGAIN", "ENOMEM"])
def test_a_process_that_cannot_be_made_is_an_error_and_nothing_is_half_started(
    cli: Cli, root: Path, work: Path, name: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_FORK.format(name=name), "run", "touch ran"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    error = answer_of(done)["error"]
    assert (error["code"], error["details"]["errno"], error["retryable"]) == ("launch_failed", name, True)
    assert job_ids(root) == set()
    assert not [path for path in root.rglob("*") if path.is_file() and path.parent.name == ".live"]
    assert not (work / "ran").exists()


@pytest.mark.fault("F58")
@pytest.mark.parametrize("most", first(3, [8, 12, 16, 20, 24]))
def test_too_few_open_files_are_an_error_or_enough_and_nothing_is_half_started(
    cli: Cli, root: Path, work: Path, most: int
) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    with cli.spawn("run", "--wait", "echo run >> ran; exit 3", preexec_fn=few) as call:
        found = answer_of(call)
    if found["ok"] and found["state"] == "exited":
        assert (found["exit_code"], (work / "ran").read_text(encoding="utf-8")) == (3, "run\n")
        return
    if not found["ok"]:
        # A supervisor that could not even receive what it needs has no line on which to say why
        error = found["error"]
        ended = error["message"] == "the supervisor ended before it could start the command"
        assert (error["code"] == "launch_failed" and ended) or error["details"]["errno"] == "EMFILE"
        for job_id in job_ids(root):  # deleting it needed a file too many
            left = cli.ok("status", job_id)
            assert (left["state"], left["reason"]) == ("failed", "launch")
    assert not (work / "ran").exists()


# --- clocks and files ----------------------------------------------------------------------------------------------


@pytest.mark.fault("F65")
@pytest.mark.parametrize("jump_s", [-86_400.0, 86_400.0, 2.0**31])
def test_a_clock_that_jumps_changes_no_duration(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    started = time.monotonic_ns()
    state: State = State(job_id=ids.new_id(), started_at=units.timestamp(), started_ns=started)
    wall = time.time()
    monkeypatch.setattr(time, "time", lambda: wall + jump_s)
    ended = outcome.ended(state, 0, ended_ns=started + 1_500_000_000)
    assert ended.duration_ms == 1500
    assert outcome.ended(state, 0, ended_ns=started - 1).duration_ms == 0


@pytest.mark.fault("F20")
@pytest.mark.parametrize("times", first(1, [60, 300]))
def test_writers_of_one_file_at_once_leave_one_whole_file_and_nothing_else(tmp_path: Path, times: int) -> None:
    code = (
        "import os, sys\nfrom outlive.store import atomic_file\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
        f"for n in range({times}): atomic_file.write_atomic(fd, 'one', sys.argv[2].encode() * 5000)\n"
    )
    (tmp_path / "d").mkdir()
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "d"), letter]) for letter in "abc"]
    until((tmp_path / "d" / "one").exists, what="the first file")
    fd = os.open(tmp_path / "d", os.O_RDONLY)
    while any(writer.poll() is None for writer in writers):
        data = atomic_file.read(fd, "one")
        assert len(data) == 5000 and len(set(data)) == 1
    os.close(fd)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert os.listdir(tmp_path / "d") == ["one"]


# --- servers -------------------------------------------------------------------------------------------------------


@pytest.mark.fault("F44")
def test_a_job_does_not_read_what_its_server_is_told(raw_mcp: Callable[..., RawMcp]) -> None:
    server = raw_mcp()
    request = server.begin_call("exec", command="cat; echo end of file")
    second = server.begin_call("exec", command="echo second")
    assert server.tool_answer(second)["output"] == "second\n"
    assert server.tool_answer(request)["output"] == "end of file\n"


@pytest.mark.slow
def test_two_servers_over_one_root_serve_the_same_jobs(raw_mcp: Callable[..., RawMcp], cli: Cli, work: Path) -> None:
    first, second = raw_mcp(), raw_mcp()
    job_id = first.call("exec", command=f"echo up; {GATE}; exit 4", yield_ms=0)["job_id"]
    waits = [
        server.begin_call("process", action="wait", job_id=job_id, timeout_ms=50_000) for server in (first, second)
    ]
    (work / "go").touch()
    for server, request in zip((first, second), waits, strict=True):
        assert server.tool_answer(request)["exit_code"] == 4
    assert second.call("process", action="log", job_id=job_id)["output"] == "up\n"
    second.call("process", action="remove", job_id=job_id)
    assert first.call("process", action="status", job_id=job_id)["error"]["code"] == "job_not_found"


@pytest.mark.fault("F53")
def test_pid_1_of_a_container_is_left_no_zombie(cli: Cli, place: Path) -> None:
    command = "sh -c 'sleep 0.01 & exit' ; exit 3"
    script = (
        f'{sys.executable} -m outlive run --wait "{command}" > answer; '
        'until [ -z "$(cat /proc/[0-9]*/comm | grep -e outrunner -e holdfast)" ]; do sleep 0.02; done; '
        "grep -l '^State:.Z' /proc/[0-9]*/status > zombies; exit 0"
    )
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip(f"no namespace of processes here: {done.stderr.decode().strip()}")
    assert json.loads(Path("answer").read_bytes())["exit_code"] == 3
    assert Path("zombies").read_text(encoding="utf-8") == ""
    assert processes.wait_gone(place, 60) == {}


@pytest.mark.fault("F45")
def test_stray_output_of_a_server_does_not_reach_its_client(raw_mcp: Callable[..., RawMcp]) -> None:
    server = raw_mcp()
    server.call("process", action="list")
    assert server.process.stdout
    line = f"pipe:[{os.fstat(server.process.stdout.fileno()).st_ino}]"
    here = processes.open_files(server.pid)
    assert line in here.values(), "some descriptor answers the client"
    assert here["1"] != line and here["1"] == here["2"], "but what prints writes to the log"
    assert here["0"] == os.devnull, "and what reads takes no request away"


# --- how a command ends --------------------------------------------------------------------------------------------


@pytest.mark.fault("F09")
def test_a_crash_names_its_signal_and_says_whether_there_is_a_core(cli: Cli, root: Path) -> None:
    found = cli.ok("run", "--wait", "kill -SEGV $$")
    assert (found["state"], found["signal"], found["exit_code"]) == ("killed", "SIGSEGV", None)
    state = json.loads((root / found["job_id"] / "state.json").read_bytes())
    assert isinstance(state["core_dumped"], bool)


@pytest.mark.fault("F40")
@pytest.mark.parametrize("times", first(1, [3, 12]))
def test_a_time_out_at_the_instant_of_the_end_is_one_or_the_other(cli: Cli, times: int) -> None:
    """An end that was seen first is not called a time-out, and a time-out has no code that was not given."""
    # Without --kill-after TERM and KILL are sent one after the other: a command that was not run in between dies of KILL
    by_signal = {("killed", None, "timeout", name) for name in ("SIGTERM", "SIGKILL")}
    ends = {("exited", 4, "exit", None), ("exited", 4, "timeout", None)} | by_signal
    for _ in range(times):
        found = cli.ok("run", "--wait", "--timeout", "60", "sleep 0.05; exit 4")
        assert (found["state"], found["exit_code"], found["reason"], found["signal"]) in ends
        again = cli.ok("status", found["job_id"])
        assert (again["state"], again["exit_code"]) == (found["state"], found["exit_code"])
