"""Whatever is killed, whenever: the job goes on, and not a line and not an exit code is lost or made up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from support import pair, processes
from support.cli import Cli, Jobs, answer_of
from support.counting import CODE, Counting, check_known_or_lost, counter
from support.jobs import job_ids
from support.mcp_client import RawMcp
from support.tiers import first
from support.wait import until

# --- the supervisor and its guardian -------------------------------------------------------------------------------


@pytest.mark.fault("F03")
def test_a_killed_supervisor_costs_no_line_and_no_code(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    guardian = pair.guardian(counting.job)
    pair.end(pair.supervisor(counting.job))
    counting.grows()
    assert pair.supervisor(counting.job) == guardian
    assert cli.ok("status", counting.job)["state"] == "running"
    ended = counting.end()
    assert (ended["state"], ended["exit_code"], ended["reason"]) == ("exited", CODE, "exit")
    counting.check_whole()
    assert cli.ok("status", counting.job)["adopted"] == 1


def test_a_killed_guardian_costs_nothing(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    supervisor = pair.supervisor(counting.job)
    pair.end(pair.guardian(counting.job))
    counting.grows()
    assert pair.supervisor(counting.job) == supervisor
    ended = counting.end()
    assert (ended["state"], ended["exit_code"], ended["reason"]) == ("exited", CODE, "exit")
    counting.check_whole()


def test_the_supervisor_may_be_killed_after_its_guardian(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    pair.end(pair.guardian(counting.job))
    counting.grows()
    pair.end(pair.supervisor(counting.job))
    assert cli.ok("status", counting.job)["state"] == "running"  # this look starts a new supervisor
    counting.grows()
    check_known_or_lost(counting.end())
    counting.check_whole()


@pytest.mark.fault("F03")
def test_both_killed_at_once_cost_no_line_once_a_reader_looked(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    pair.end_pair(counting.job)
    assert cli.ok("status", counting.job)["state"] == "running"
    counting.grows()
    assert pair.supervisor(counting.job)
    check_known_or_lost(counting.end())
    counting.check_whole()


@pytest.mark.fault("F04")
def test_both_killed_before_anybody_looks_leave_the_output_until_then_and_no_invented_code(
    cli: Cli, work: Path
) -> None:
    counting = Counting.start(cli, work)
    pair.end_pair(counting.job)
    kept = counting.stdout.read_bytes()
    counting.stop()
    count = counting.count()
    pid = json.loads((cli.root / counting.job / "state.json").read_bytes())["pid"]
    until(lambda: not processes.is_alive(pid), what="the command's end")
    found = cli.ok("status", counting.job)
    assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "lost", None)
    assert found["message"]
    assert counting.stdout.read_bytes() == kept
    assert kept == b"".join(b"out %d\n" % n for n in range(1, kept.count(b"\n") + 1))
    assert 0 < kept.count(b"\n") <= count
    assert cli.ok("status", counting.job) == found, "a second look says the same"


def test_one_supervisor_after_the_other_may_be_killed(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    for _ in range(3):
        pair.end(pair.supervisor(counting.job))
        assert cli.ok("status", counting.job)["state"] == "running"
        pair.supervisor(counting.job)  # a new supervisor
        counting.grows()
    check_known_or_lost(counting.end())
    counting.check_whole()


def test_an_adopter_s_guardian_learns_the_code_as_the_adopter_does(cli: Cli, work: Path) -> None:
    found = []
    for name, kills in (("adopter", 0), ("guardian", 1)):
        counting = Counting.start(cli, work, name)
        pair.end_pair(counting.job)
        assert cli.ok("status", counting.job)["state"] == "running"
        pair.supervisor(counting.job)  # the adopter
        for _ in range(kills):
            guardian = pair.guardian(counting.job)
            assert pair.take_over(counting.job) == guardian
        counting.grows()
        ended = counting.end()
        found.append((ended["state"], ended["exit_code"], ended["reason"]))
    assert found[0] == found[1]


def test_a_wait_goes_on_when_the_supervisor_it_listens_to_is_killed(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    with cli.spawn("wait", counting.job) as waiting:
        pair.end(pair.supervisor(counting.job))
        counting.grows()
        counting.stop()
        found = answer_of(waiting)
    assert (found["state"], found["exit_code"]) == ("exited", CODE)


def test_a_supervisor_killed_while_it_lingers_loses_nothing_of_what_is_left_behind(
    cli: Cli, jobs: Jobs, work: Path
) -> None:
    late = "(until [ -e go ]; do sleep 0.1; done; echo late; echo later >&2; until [ -e end ]; do sleep 0.1; done) &"
    job = cli.ok("run", f"{late} echo early; exit 3")["job_id"]
    before = cli.ok("status", job)
    assert (before["state"], before["exit_code"]) == ("exited", 3)
    pair.end(pair.supervisor(job))
    (work / "go").touch()
    stdout = cli.root / job / "stdout.log"
    until(lambda: stdout.read_bytes() == b"early\nlate\n", what="the output of the descendant")
    until(lambda: (cli.root / job / "stderr.log").read_bytes() == b"later\n", what="its stderr")
    now = cli.ok("status", job)
    assert now["descendants"] >= 1
    told = ("state", "exit_code", "reason", "finished_at", "duration_ms")
    assert [now[name] for name in told] == [before[name] for name in told]
    killed = cli.ok("kill", job)
    assert (killed["survivors"], killed["state"], killed["exit_code"]) == ([], "exited", 3)
    pair.until_free(cli.root, job)
    jobs.end()


@pytest.mark.fault("F33")
@pytest.mark.parametrize("verb", ["kill", "remove"])
def test_what_a_job_left_behind_can_be_ended_when_both_were_killed(
    cli: Cli, jobs: Jobs, place: Path, verb: str
) -> None:
    job = cli.ok("run", "(sleep 60 &) ; echo hi")["job_id"]
    pair.end_pair(job)
    found = cli.ok(verb, job)
    if verb == "kill":
        assert (found["survivors"], found["state"], found["exit_code"]) == ([], "exited", 0)
    assert processes.wait_gone(place, 60) == {}
    jobs.end()


def test_a_supervisor_killed_while_a_grace_runs_still_sends_the_kill(cli: Cli) -> None:
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    job = cli.ok("run", "--snapshot-after", "0", stubborn)["job_id"]
    cli.ok("wait", job, "--until", "output", "--timeout-ms", "50s")
    cli.ok("kill", job, "--grace-ms", "1000", "--wait-ms", "0")
    pair.end(pair.supervisor(job))
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (ended["state"], ended["signal"], ended["reason"]) == ("killed", "SIGKILL", "kill")
    assert cli.ok("status", job)["ended_by"]


def test_a_supervisor_killed_before_a_timeout_still_keeps_it(cli: Cli) -> None:
    for limit in ("1500", "5s", "25s"):  # enough for this test to find and to kill the supervisor
        job = cli.ok("run", "--snapshot-after", "0", "--timeout", limit, "sleep 60")["job_id"]
        with contextlib.suppress(ProcessLookupError):
            pair.end(json.loads((cli.root / job / "state.json").read_bytes())["supervisor"]["pid"])
        ended = cli.ok("wait", job, "--timeout-ms", "50s")
        assert (ended["state"], ended["reason"], ended["exit_code"]) == ("killed", "timeout", None)
        if cli.ok("status", job).get("adopted"):
            break
    assert cli.ok("status", job)["adopted"] == 1


def test_stdin_stays_open_when_its_supervisor_is_killed(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", "cat; echo end; exit 5")["job_id"]
    cli.ok("write", job, "--data", "before\n")
    pair.end(pair.supervisor(job))
    assert cli.ok("status", job)["state"] == "running"
    assert cli.ok("write", job, "--data", "after\n")["bytes_written"] == len("after\n")
    cli.ok("write", job, "--eof")
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (ended["state"], ended["exit_code"]) == ("exited", 5)
    assert (cli.root / job / "stdout.log").read_bytes() == b"before\nafter\nend\n"


def test_stdin_that_was_closed_stays_closed_when_its_supervisor_is_killed(cli: Cli, work: Path) -> None:
    command = "cat; until [ -e go ]; do sleep 0.1; done"
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", command)["job_id"]
    cli.ok("write", job, "--data", "all\n", "--eof")
    pair.end(pair.supervisor(job))
    cli.error("write", job, "--data", "more\n", code="stdin_closed")
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 0
    assert (cli.root / job / "stdout.log").read_bytes() == b"all\n"


@pytest.mark.fault("F02")
@pytest.mark.parametrize("times", first(1, [4, 15]))
def test_a_supervisor_killed_while_it_starts_never_runs_a_command_twice_and_never_invents(
    cli: Cli, root: Path, work: Path, times: int
) -> None:
    for turn in range(times):
        mark = work / f"ran{turn}"
        command = f"echo x >> {mark}; sleep 0.02; echo one; echo two >&2; exit 5"
        before = job_ids(root)
        with cli.spawn("run", "--snapshot-after", "0", command) as call:
            job = until(lambda before=before: job_ids(root) - before, what="the job's directory").pop()
            state = root / job / "state.json"
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                until(lambda state=state, call=call: state.exists() or call.poll() is not None, what="state.json")
                os.kill(json.loads(state.read_bytes())["supervisor"]["pid"], signal.SIGKILL)
            answer = answer_of(call)
        if not answer["ok"]:
            assert answer["error"]["code"] == "launch_failed"
            assert not mark.exists(), f"turn {turn}: the caller was told that nothing ran"
            continue
        found = cli.ok("wait", job, "--timeout-ms", "50s")
        runs = mark.read_text(encoding="utf-8").count("x") if mark.exists() else 0
        if found["state"] == "exited":
            assert (found["exit_code"], runs) == (5, 1), f"turn {turn}"
            assert (root / job / "stdout.log").read_bytes() == b"one\n"
            assert (root / job / "stderr.log").read_bytes() == b"two\n"
        else:
            assert (found["reason"], runs) == ("lost", 0), f"turn {turn}: {found}"


# --- servers, nurseries and clients --------------------------------------------------------------------------------


@pytest.mark.fault("F06")
@pytest.mark.parametrize("how", first(1, ["kill_tree", "kill_group", "kill"]))
def test_jobs_do_not_notice_the_end_of_their_server(
    raw_mcp: Callable[..., RawMcp], cli: Cli, work: Path, how: str
) -> None:
    server = raw_mcp()
    printing = Counting(cli, work, server.call("exec", command=counter("c"), yield_ms=0)["job_id"], "c")
    silent_command = "until [ -e go ]; do sleep 0.1; done; exit 4"
    silent = server.call("exec", command=silent_command, yield_ms=0)["job_id"]
    printing.grows()
    fresh_command = "until [ -e go ]; do sleep 0.1; done; echo fresh; exit 6"
    fresh = server.call("exec", command=fresh_command, yield_ms=0)["job_id"]
    fork_server = pair.fork_server(silent)
    getattr(server, how)()
    printing.grows()
    for job in (printing.job, silent, fresh):
        assert cli.ok("status", job)["state"] == "running"
        assert "adopted" not in cli.ok("status", job), "not even its supervisor noticed"
    until(lambda: not processes.is_alive(fork_server), what="the fork server's end after its server's")

    again = raw_mcp()
    listed = {job["job_id"] for job in again.call("process", action="list")["jobs"]}
    assert {printing.job, silent, fresh} <= listed, "the same client finds its jobs without being told an id"
    (work / "go").touch()
    printing.stop()
    for job, code in ((printing.job, CODE), (silent, 4), (fresh, 6)):
        ended = again.call("process", action="wait", job_id=job, timeout_ms=50_000)
        assert (ended["state"], ended["exit_code"]) == ("exited", code)
        assert cli.ok("status", job)["exit_code"] == code
    assert cli.ok("log", fresh)["output"] == "fresh\n"
    assert again.call("process", action="log", job_id=fresh)["output"] == "fresh\n"
    printing.check_whole()


def test_a_job_started_by_a_call_that_was_never_answered_goes_on(
    raw_mcp: Callable[..., RawMcp], cli: Cli, root: Path, work: Path
) -> None:
    server = raw_mcp()
    server.call("process", action="list")
    server.begin_call("exec", command="echo begun; until [ -e go ]; do sleep 0.1; done; exit 9", yield_ms=40_000)
    job = until(lambda: job_ids(root), what="the job").pop()
    log = root / job / "stdout.log"  # it is made after the job is listed
    until(lambda: log.exists() and log.read_bytes(), what="its output")
    server.kill_tree()
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 9, "begun\n")


def test_a_killed_fork_server_is_replaced_and_its_jobs_go_on(
    raw_mcp: Callable[..., RawMcp], cli: Cli, work: Path
) -> None:
    server = raw_mcp()
    counting = Counting(cli, work, server.call("exec", command=counter("c"), yield_ms=0)["job_id"], "c")
    counting.grows()
    fork_server = pair.fork_server(counting.job)
    for turn in range(2):
        pair.end(fork_server)
        found = server.call("exec", command=f"echo {turn}; exit {turn}")
        assert not found.is_error
        assert (found["exit_code"], found["output"]) == (turn, f"{turn}\n")
        others, fork_server = [], 0
        while not fork_server:  # the pairs that the killed one has lent go on, and take the first jobs
            others.append(server.call("exec", command="sleep 60", yield_ms=0)["job_id"])
            above = processes.parent(pair.guardian(others[-1]))
            fork_server = above if pair.comm(above) == pair.FORK_SERVER else 0
        for other in others:
            server.call("process", action="remove", job_id=other)
    counting.grows()
    ended = counting.end()
    assert (ended["state"], ended["exit_code"]) == ("exited", CODE)
    counting.check_whole()
    assert "adopted" not in cli.ok("status", counting.job)
    server.close_stdin()
    server.wait()
    until(lambda: not processes.is_alive(fork_server), what="the fork server's end after its server's")


def test_a_fork_server_ends_when_its_server_ends_in_good_order(raw_mcp: Callable[..., RawMcp]) -> None:
    server = raw_mcp()
    job = server.call("exec", command="sleep 60", yield_ms=0)["job_id"]
    fork_server = pair.fork_server(job)
    spares = {pid for pid in processes.descendants(fork_server) if not _belongs(pid, job)}
    server.call("process", action="remove", job_id=job)
    server.close_stdin()
    assert server.wait() == 0
    for pid in {fork_server, *spares}:
        until(lambda pid=pid: not processes.is_alive(pid), what=f"the end of {pid}")


def _belongs(pid: int, job: str) -> bool:
    supervisor = pair.supervisor(job)
    return pid in {supervisor, processes.parent(supervisor)} | processes.descendants(supervisor)


def test_a_killed_command_line_that_waited_leaves_its_job_alone(cli: Cli, root: Path, work: Path) -> None:
    with cli.spawn("run", "--wait", "--", *counter("c"), start_new_session=True) as call:
        job = until(lambda: job_ids(root), what="the job").pop()
        counting = Counting(cli, work, job, "c")
        counting.grows()
        for pid in [call.pid, *processes.descendants(call.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(call.pid, signal.SIGKILL)
        assert call.wait(60) == -signal.SIGKILL
        call.communicate()
    counting.grows()
    ended = counting.end()
    assert (ended["state"], ended["exit_code"]) == ("exited", CODE)
    counting.check_whole()
