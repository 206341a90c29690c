"""Waiting for jobs, ending them and all they started, and putting data into them."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from pathlib import Path
from typing import Any

import pytest

from support import processes
from support.cli import Cli, Jobs, Text, one_object
from support.jobs import background, started
from support.tiers import first
from support.wait import until

# Says `up` when it is ready, and ends at nothing but SIGKILL.
DEAF = "trap '' TERM; echo up; while :; do sleep 0.05; done"


# --- wait ----------------------------------------------------------------------------------------------------------


def test_wait_until_output_ends_with_a_job_that_puts_nothing_out(cli: Cli) -> None:
    found = cli.ok("wait", background(cli, "sleep 0.1"), "--until", "output")
    assert (found["timed_out"], found["fired"]["condition"], found["state"]) == (False, "exit", "exited")


# --- kill ----------------------------------------------------------------------------------------------------------


@pytest.mark.fault("F38")
def test_what_ignores_term_is_killed_after_the_grace(cli: Cli) -> None:
    job = started(cli, DEAF)
    killed = cli.ok("kill", job, "--grace-ms", "200")
    assert (killed["state"], killed["reason"], killed["signal"], killed["survivors"]) == (
        "killed",
        "kill",
        "SIGTERM",
        [],
    )
    assert cli.ok("status", job)["signal"] == "SIGKILL"


def test_a_command_may_clean_up_within_the_grace(cli: Cli) -> None:
    job = started(cli, "trap 'echo bye; exit 4' TERM; echo up; sleep 60 & while :; do wait; done")
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["exit_code"], killed["reason"]) == ("exited", 4, "kill")
    assert killed["output"] == "bye\n"
    assert "output" not in cli.ok("kill", job)
    for verb in ("tail", "log"):
        ended = cli.ok(verb, job)
        assert (ended["state"], ended["exit_code"], ended["reason"]) == ("exited", 4, "kill")
        assert "up\nbye\n" in (ended.get("stdout_tail"), ended.get("output"))


@pytest.mark.fault("F39")
def test_kill_that_does_not_wait_names_the_survivors_and_the_end_still_comes(cli: Cli) -> None:
    job = started(cli, DEAF)
    killed = cli.ok("kill", job, "--grace-ms", "2s", "--wait-ms", "0")
    assert killed["state"] == "running"
    assert killed["survivors"]
    assert {"pid", "command"} == set(killed["survivors"][0])
    assert killed["hint"]
    found = cli.ok("wait", job)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "kill")


@pytest.mark.fault("F38")
def test_a_second_kill_can_shorten_the_grace(cli: Cli) -> None:
    job = started(cli, DEAF)
    cli.ok("kill", job, "--grace-ms", "10m", "--wait-ms", "0")
    killed = cli.ok("kill", job, "--signal", "KILL")
    assert (killed["state"], killed["signal"], killed["survivors"]) == ("killed", "SIGKILL", [])


@pytest.mark.fault("F34")
def test_kill_reaches_what_left_the_session_and_lost_its_parent(cli: Cli, place: Path) -> None:
    escapes = "setsid sleep 61 & (setsid -f sleep 62) ; env -i setsid -f sleep 63; nohup sleep 64 >/dev/null 2>&1 & "
    job = started(cli, escapes + "echo up; sleep 65")
    until(lambda: cli.ok("status", job)["descendants"] >= 5)
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["survivors"]) == ("killed", [])
    assert processes.wait_gone(place, 60) == {}


@pytest.mark.fault("F38", "F64")
def test_a_stopped_job_can_be_ended(cli: Cli) -> None:
    job = started(cli, "echo up; exec sleep 60")
    pid = cli.ok("status", job)["pid"]
    cli.ok("kill", job, "--signal", "STOP")
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T")
    assert cli.ok("status", job)["state"] == "running"
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["reason"], killed["survivors"]) == ("killed", "kill", [])
    assert cli.ok("status", job)["signal"] == "SIGTERM"


@pytest.mark.fault("F64")
def test_a_stopped_job_can_be_continued(cli: Cli, work: Path) -> None:
    job = started(cli, "echo up; until [ -e go ]; do sleep 0.1; done; exit 3")
    assert cli.ok("kill", job, "--signal", "STOP")["signal"] == "SIGSTOP"
    (work / "go").touch()
    cli.ok("kill", job, "--signal", "CONT")
    found = cli.ok("wait", job)
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "exit")


@pytest.mark.parametrize("name", first(1, ["USR1", "sigusr1", str(int(signal.SIGUSR1))]))
def test_another_signal_is_sent_as_it_is_and_ends_nothing_by_itself(cli: Cli, jobs: Jobs, name: str) -> None:
    job = started(cli, "trap 'echo got it' USR1; echo up; while :; do sleep 0.02; done")
    sent = cli.ok("kill", job, "--signal", name)
    assert (sent["signal"], sent["state"]) == ("SIGUSR1", "running")
    assert f"of job {job[-8:]} still run" in sent["hint"]
    until(lambda: "got it" in cli.ok("tail", job)["stdout_tail"])
    assert cli.ok("status", job)["state"] == "running"
    cli.ok("kill", job, "--signal", "KILL")
    jobs.end()


def test_signals_are_named_in_every_way_and_shown_in_one(cli: Cli) -> None:
    job = started(cli, "echo up; exec sleep 60")
    for name in ("CONT", "SIGCONT", "sigcont", str(int(signal.SIGCONT))):
        assert cli.ok("kill", job, "--signal", name, "--wait-ms", "0")["signal"] == "SIGCONT"
    found = cli.ok("kill", job, "--signal", "15", "--wait-ms", "20s")
    assert (found["signal"], found["state"], found["ended_signal"]) == ("SIGTERM", "killed", "SIGTERM")
    found = cli.ok("wait", job)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGTERM", "kill")


def test_an_unknown_signal_is_refused_and_names_the_nearest(cli: Cli, jobs: Jobs) -> None:
    job = background(cli)
    meant = {
        "SIGTREM": "TERM",
        "KIL": "KILL",
        "sigkil": "KILL",
        "USR3": "",  # as near to USR1 as to USR2
        "HPU": "HUP",
        "": "",
        "0": "",
        "999": "",
    }
    hints = {}
    for name in meant:
        error = cli.error("kill", job, f"--signal={name}", code="invalid_argument")
        assert error["details"]["field"] == "--signal"
        hints[name] = error["hint"]
    assert cli.ok("status", job)["state"] == "running"
    assert [name for name, near in meant.items() if near not in hints[name]] == []
    assert "INT" in hints["999"]  # not as if TERM were all that can be sent
    jobs.end()


def test_kill_tells_what_of_the_tree_it_ended_and_what_it_left(cli: Cli) -> None:
    job = started(cli, "sleep 61 & sleep 62 & echo up; sleep 63")  # the shell lets those in the background ignore INT
    until(lambda: cli.ok("status", job)["descendants"] == 3)
    killed = cli.ok("kill", job, "--signal", "INT")
    assert (killed["state"], killed["ended_signal"], "already_ended" in killed) == ("killed", "SIGINT", False)
    assert (len(killed["ended"]), "survivors_count" in killed) == (2, False)
    assert {one["command"] for one in killed["survivors"]} == {"sleep 61", "sleep 62"}
    assert "sleep 63" in {one["command"] for one in killed["ended"]}
    assert killed["hint"].startswith(f"2 processes of job {job[-8:]} still run after SIGINT")
    assert cli.error("clear", job, code="invalid_state")["message"].startswith(f"job {job[-8:]} cannot be deleted: 2 ")
    killed = cli.ok("kill", job)
    assert {one["command"] for one in killed["ended"]} == {"sleep 61", "sleep 62"}
    assert killed["survivors"] == []
    assert killed["hint"] == "The command had ended before; 2 processes that it left were ended."


def test_of_many_processes_that_ended_the_first_are_listed_and_all_are_counted(cli: Cli) -> None:
    job = started(cli, "for n in $(seq 30); do sleep 60 & done; echo up; wait")
    killed = cli.ok("kill", job)
    assert (len(killed["ended"]), killed["ended_count"], killed["survivors"]) == (20, 31, [])


def test_a_process_that_outlives_its_command_is_told_with_the_job_it_belongs_to(cli: Cli) -> None:
    found = cli.ok("run", "--wait", "sleep 60 & echo up")
    assert found["hint"].startswith(f"1 process that job {found['short_id']} started is still alive; kill ends it")
    cli.ok("remove", found["job_id"])


def test_a_signal_from_somebody_else_is_not_called_a_kill(cli: Cli) -> None:
    job = started(cli, "echo up; exec sleep 60")
    os.kill(cli.ok("status", job)["pid"], signal.SIGTERM)
    found = cli.ok("wait", job)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGTERM", "signal")
    assert "ended_by" not in found


# --- write ---------------------------------------------------------------------------------------------------------


def test_nothing_can_be_written_and_eof_alone_ends_the_input(cli: Cli) -> None:
    job = background(cli, "--stdin", "open", "wc -c")
    found = cli.ok("write", job)
    assert (found["bytes_written"], found["stdin"]) == (0, "open")
    found = cli.ok("write", job, "--eof")
    assert (found["bytes_written"], found["stdin"]) == (0, "closed")
    assert cli.ok("wait", job)["output"] == "0\n"


@pytest.mark.fault("F46")
def test_a_program_that_closed_its_stdin_takes_no_data(cli: Cli, jobs: Jobs) -> None:
    job = started(cli, "--stdin", "open", "exec <&-; echo up; exec sleep 60")
    cli.error("write", job, "--data", "x", code="stdin_closed")
    cli.error("write", job, "--data", "x", code="stdin_closed")
    jobs.end()


def test_more_than_a_pipe_holds_is_written_whole(cli: Cli) -> None:
    job = background(cli, "--stdin", "open", "sha256sum")
    data = "0123456789abcdef" * 8000
    assert cli.ok("write", job, "--data", data)["bytes_written"] == len(data)
    assert cli.ok("write", job, "--data", data, "--eof")["bytes_written"] == len(data)
    import hashlib

    assert cli.ok("wait", job)["output"].split()[0] == hashlib.sha256((data * 2).encode()).hexdigest()


@pytest.mark.fault("F46")
def test_a_program_that_reads_nothing_does_not_hold_the_writer(cli: Cli, work: Path) -> None:
    job = started(cli, "--stdin", "open", "echo up; until [ -e go ]; do sleep 0.1; done; wc -c")
    data = "x" * 100_000
    first = cli.ok("write", job, "--data", data, "--eof", "--timeout-ms", "50")
    assert 0 < first["bytes_written"] < len(data)
    assert first["warnings"]
    assert first["stdin"] == "open"
    second = cli.ok("write", job, "--data", data, "--timeout-ms", "50")
    assert second["bytes_written"] == 0
    assert cli.ok("status", job)["state"] == "running"
    (work / "go").touch()
    rest = cli.ok("write", job, "--data", data[first["bytes_written"] :], "--eof", "--timeout-ms", "50s")
    assert first["bytes_written"] + rest["bytes_written"] == len(data)
    assert cli.ok("wait", job)["output"] == "up\n100000\n"


def _waiting_in_stdin(pid: int) -> int:
    """Bytes in the pipe that a process has as its stdin."""
    fd = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
        return int(count)
    finally:
        os.close(fd)


def test_kill_ends_a_job_whose_stdin_is_full_and_the_writer_is_told(cli: Cli) -> None:
    job = started(cli, "--stdin", "open", "echo up; exec sleep 60")
    pid = cli.ok("status", job)["pid"]
    with cli.spawn("write", job, "--data", "x" * 100_000, "--timeout-ms", "60s") as call:
        until(lambda: _waiting_in_stdin(pid) > 60_000)
        assert cli.ok("kill", job)["state"] == "killed"
        found = one_object(Text(0, call.communicate(timeout=60)[0].decode(), ""))
    assert not found["ok"]
    assert found["error"]["code"] == "stdin_closed"


def test_a_job_that_ends_while_it_is_written_to_has_closed_its_stdin(cli: Cli) -> None:
    for _ in range(3):
        job = background(cli, "--stdin", "open", "exec sleep 60")
        with cli.spawn("kill", job) as call:
            answers: list[dict[str, Any]] = []
            while not answers or answers[-1]["ok"]:
                answers.append(cli.run("write", job, "--data", "x").json)
            call.communicate(timeout=60)
        assert answers[-1]["error"]["code"] == "stdin_closed"
