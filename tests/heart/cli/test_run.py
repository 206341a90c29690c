"""`run` from the outside: words, output, how the end is told and when, time-outs, and what is refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import processes
from support.cli import Cli, Jobs
from support.commands import GATE, python
from support.jobs import job_ids
from support.wait import until

# --- output and exit codes -----------------------------------------------------------------------------------------


@pytest.mark.fault("F74")
def test_both_streams_are_kept_in_the_order_of_their_arrival(cli: Cli) -> None:
    # The next piece leaves when the last one is stored: the order of arrival is then certain.
    script = 'cd "$OUTLIVE_ROOT/$OUTLIVE_JOB_ID" && for i in 0 1 2 3 4 5; do echo $i >&$((1 + i % 2)); '
    script += "until [ $(cat stdout.log stderr.log | wc -l) -gt $i ]; do :; done; done"
    found = cli.ok("run", script)
    assert found["output"] == "0\n1\n2\n3\n4\n5\n"
    assert found["snapshot"]["stdout_tail"] == "0\n2\n4\n"


@pytest.mark.fault("F41")
def test_the_writer_of_a_pipe_without_reader_ends_by_sigpipe(cli: Cli) -> None:
    found = cli.ok("run", "yes | head -1")
    assert (found["output"], found["exit_code"]) == ("y\n", 0)
    assert found["descendants"] == 0


def test_stderr_can_be_opened_again_by_name(cli: Cli) -> None:
    found = cli.ok("run", "echo one > /dev/stderr; echo two > /dev/stdout; echo three >> /proc/self/fd/2")
    assert found["exit_code"] == 0
    assert found["snapshot"]["stderr_tail"] == "one\nthree\n"
    assert found["snapshot"]["stdout_tail"] == "two\n"


@pytest.mark.fault("F31", "F33")
def test_a_background_child_does_not_hold_up_the_end_and_kill_ends_it(cli: Cli, jobs: Jobs, place: Path) -> None:
    found = cli.ok("run", "(sleep 60 &) ; echo hi")
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 0, "hi\n")
    assert found["descendants"] == 1
    assert cli.ok("status", found["job_id"])["descendants"] == 1
    killed = cli.ok("kill", found["job_id"])
    assert killed["survivors"] == []
    assert (killed["state"], killed["exit_code"], killed["reason"]) == ("exited", 0, "exit")
    assert cli.ok("status", found["job_id"])["descendants"] == 0
    assert processes.wait_gone(place, 60) == {}
    jobs.end()


def test_output_that_a_background_child_opens_again_by_its_name_arrives(cli: Cli, place: Path, work: Path) -> None:
    """Both streams were at their end: no process could write to them any more."""
    child = f"(exec 7</proc/self/fd/1 >/dev/null 2>&1; {GATE}; echo late >/proc/self/fd/7) &"
    found = cli.ok("run", f"{child} echo hi")
    assert (found["state"], found["output"]) == ("exited", "hi\n")
    (work / "go").touch()
    assert processes.wait_gone(place, 60) == {}
    assert cli.ok("log", found["job_id"])["output"] == "hi\nlate\n"


@pytest.mark.fault("F31")
def test_a_background_childs_later_output_still_arrives(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "(until [ -e go ]; do sleep 0.1; done; echo late) & echo early")["job_id"]
    assert cli.ok("status", job)["state"] == "exited"
    (work / "go").touch()
    until(lambda: cli.ok("poll", job)["output"] == "early\nlate\n")


# --- words ---------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_text_reach_the_command_unchanged(cli: Cli, place: Path) -> None:
    raw = os.fsdecode(b"a\xff\xfeb")
    found = cli.ok("run", *python("import os, sys; sys.stdout.write(os.fsencode(sys.argv[1]).hex())"), raw)
    assert found["output"] == "61fffe62"


# --- when the answer comes -----------------------------------------------------------------------------------------


def test_propagate_needs_wait(cli: Cli, root: Path) -> None:
    error = cli.error("run", "--propagate", "true", code="invalid_argument", status=2)
    assert "--wait" in error["hint"]
    assert job_ids(root) == set()


@pytest.mark.fault("F50")
def test_interrupting_the_client_leaves_the_job_running(cli: Cli, jobs: Jobs, work: Path) -> None:
    with cli.spawn("run", "--wait", "touch ran; sleep 60") as call:
        until((work / "ran").exists, what="the command")
        call.send_signal(signal.SIGINT)
        _, said = call.communicate(timeout=60)
    assert call.returncode == 130
    (job,) = jobs.all()
    assert job["state"] == "running"
    assert b"Traceback" not in said
    jobs.end()


def test_interrupting_a_client_that_has_started_nothing_yet_leaves_no_job_and_says_so(cli: Cli, jobs: Jobs) -> None:
    before = cli.ok("run", "--wait", "true")["job_id"]
    for words in (("run", "--wait", "touch ran"), ("restart", before)):
        with cli.stopped_at("send_request", *words) as call:
            call.send_signal(signal.SIGINT)
            call.send_signal(signal.SIGCONT)
            _, said = call.communicate(timeout=60)
        assert (call.returncode, said) == (130, b"outlive: interrupted; nothing was started\n")
    assert [job["job_id"] for job in jobs.all()] == [before]


# --- time-outs -----------------------------------------------------------------------------------------------------


def _timed_out(cli: Cli, *words: str) -> dict[str, Any]:
    """Return the answer about a command whose time was over after it had said that it is up."""
    for limit in ("150", "1s", "5s", "20s"):
        found = cli.ok("run", "--wait", "--timeout", limit, *words)
        if "up\n" in found["output"]:
            return found
    raise AssertionError(f"it was never up in time: {found}")


def test_without_kill_after_a_time_out_ends_also_what_ignores_term(cli: Cli, place: Path) -> None:
    found = _timed_out(cli, "trap '' TERM; setsid sleep 60 & echo up; while :; do sleep 0.05; done")
    assert (found["state"], found["reason"]) == ("killed", "timeout")
    assert processes.wait_gone(place, 60) == {}


def test_output_puts_the_idle_time_out_off(cli: Cli) -> None:
    """A machine that is so busy that the command was not run for as long gets more time."""
    for limit_s in (1, 4, 16):
        code = f"import time\nend = time.monotonic() + {1.3 * limit_s}\nwhile time.monotonic() < end: print('on', flush=True); time.sleep({limit_s / 20})"
        found = cli.ok("run", "--wait", "--idle-timeout", f"{limit_s}s", *python(code))
        if found["state"] == "exited":
            break
    assert (found["state"], found["exit_code"]) == ("exited", 0)


def test_progress_every_refreshes_the_time_of_the_state(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--progress-every", "50", "sleep 60")["job_id"]
    before = cli.ok("status", job)["updated_at"]
    until(lambda: cli.ok("status", job)["updated_at"] > before)
    jobs.end()


def test_an_answer_of_a_call_says_the_same_as_status(cli: Cli) -> None:
    found = cli.ok("run", "--tag", "a", "--title", "t", "--timeout", "5m", "exit 2")
    status = cli.ok("status", found["job_id"])
    same: Callable[[dict[str, Any]], dict[str, Any]] = lambda one: {  # noqa: E731
        name: one[name]
        for name in ("name", "pid", "cwd", "command", "tags", "owner", "exit_code", "signal", "reason", "started_at",
                     "finished_at", "duration_ms", "timeout_ms", "stdout_log_path", "created_at")
    }  # fmt: skip
    assert same(found) == same(status)
