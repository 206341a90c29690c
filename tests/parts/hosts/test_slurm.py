"""Jobs on a real Slurm cluster: two nodes with namespaces of their own, and everything in it killed in turn."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from outlive.store import atomic_file
from support import processes, slurm
from support.cli import Jobs
from support.mcp_client import McpSession
from support.on_slurm import SOON_S, Slurm
from support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.real_start]
# Wrappers of Slurm's programs: what kills its parent stands for a kill of the process that submits
KILL_AFTER = '#!/bin/sh\n{program} "$@" >/dev/null\nkill -9 $PPID\n'
KILL_BEFORE = "#!/bin/sh\nkill -9 $PPID\n"
WHEN = '#!/bin/sh\ndate +%s.%N >> {place}/asked\nexec {program} "$@"\n'


# --- what callers see ---------------------------------------------------------------------------------------------


def test_a_job_runs_on_a_node_and_is_like_any_other(on: Slurm) -> None:
    found = on.run("--wait", "--env", "NAME=value", "echo $NAME; uname -n; echo bad >&2; exit 3")
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "exit")
    assert found["output"].split() == ["value", found["output"].split()[1], "bad"]
    assert found["output"].split()[1] in slurm.NODES
    assert (found["host"], found["engine"]["name"]) == ("cluster", "slurm")
    job = found["job_id"]
    told = on.events(job)
    assert told[0] == "submitted"
    assert [kind for kind in told if kind in ("started_on", "started", "finished")] == [
        "started_on",
        "started",
        "finished",
    ]
    assert on.state(job)["machine"]["id"] != Path("/etc/machine-id").read_text().strip()
    seen = on.until(job, lambda found: found["engine"]["state"] == "FAILED", "Slurm's word is quoted")
    assert seen["engine"]["job_id"] == found["engine"]["job_id"]
    assert [one["job_id"] for one in on.cli.ok("list", "--host", "cluster")["jobs"]] == [job]
    assert on.cli.ok("list", "--host", "local")["jobs"] == []
    again = on.cli.ok("restart", job, "--wait")
    assert (again["host"], again["exit_code"], again["restarted_from"]) == ("cluster", 3, job)
    here = on.cli.ok("restart", job, "--wait", "--host", "local")
    assert "host" not in here


def test_input_environment_files_and_the_time_limit_reach_the_node(on: Slurm, work: Path) -> None:
    (work / "vars").write_text("FROM_FILE=yes\n")
    found = on.run(
        "--wait",
        "--env-file",
        str(work / "vars"),
        "--stdin-data",
        "typed\n",
        "--cwd",
        str(work),
        "echo $FROM_FILE; pwd; cat",
    )
    assert found["output"].splitlines() == ["yes", str(work), "typed"]
    found = on.run("--wait", "--timeout", "1s", "echo begun; exec sleep 300")
    assert (found["state"], found["reason"], found["output"]) == ("killed", "timeout", "begun\n")
    error = on.cli.error(
        "run", "--host", "cluster", "--mask", "KEY", "--env", "KEY=secret", "true", code="not_supported"
    )
    assert "--env-file" in error["hint"]
    assert on.cli.error("run", "--host", "cluster", "--stdin", "-", "true", code="not_supported", input="x")


def test_a_job_that_waits_says_why_and_is_cancelled(on: Slurm) -> None:
    found = on.run("--snapshot-after", "0", "--resource", "options.hold=true", "touch ran")
    job = found["job_id"]
    assert (found["state"], found["host"]) == ("created", "cluster")
    seen = on.until(job, lambda found: found["queue"]["state"] == "PENDING" and found["queue"]["reason"], "it waits")
    assert seen["queue"]["reason"] == "JobHeldUser"
    assert seen["queue"]["since"]
    assert "It waits for its start on cluster (JobHeldUser)" in seen["hint"]
    assert on.cli.ok("wait", job, "--timeout-ms", "100")["timed_out"]
    assert "queued" in on.events(job)
    killed = on.cli.ok("kill", job)
    assert (killed["state"], killed["reason"], killed["ended_by"]) == ("failed", "kill", "cli")
    assert killed["ended_signal"] is None and killed["message"].endswith("it never ran")
    engine_id = on.cli.ok("status", job)["engine"]["job_id"]
    until(lambda: on.cluster.engine_state(engine_id) == "CANCELLED", what="Slurm has cancelled it", timeout=SOON_S)
    assert on.cli.ok("status", job)["pid"] is None


def test_requests_reach_a_job_on_a_full_node(on: Slurm) -> None:
    full = on.start("--resource", "cpus=8", "--stdin", "open", "--pty", "read line; echo got $line; exec cat")
    job = full["job_id"]
    said = on.cli.ok("submit", job, "--text", "hello", "--wait-ms", "60s")
    assert "got hello" in said["output"]
    assert on.cli.ok("send-keys", job, "C-c", "--wait-ms", "60s")["state"] in ("running", "killed", "exited")
    assert on.ended(job)["state"] == "killed"
    other = on.start("trap 'echo bye; exit 7' TERM; while :; do sleep 0.1; done")
    ended = on.cli.ok("kill", other["job_id"])
    assert (ended["state"], ended["exit_code"], ended["reason"]) == ("exited", 7, "kill")


def test_both_faces_start_and_see_the_same_job(on: Slurm, mcp_connect: Callable[..., McpSession]) -> None:
    session = mcp_connect()
    assert "host" in session.tools()["exec"].input_schema["properties"]
    job = session.ok("exec", command="echo hi; exec sleep 300", host="cluster", until=["output"], yield_ms=60_000)
    assert (job["state"], job["host"], job["output"]) == ("running", "cluster", "hi\n")
    mine = on.cli.ok("status", job["job_id"])
    theirs = session.ok("process", action="status", job_id=job["job_id"], detail="full")
    moving = {"elapsed_ms", "idle_ms", "updated_at", "notices", "usage"}
    assert {k: v for k, v in mine.items() if k not in moving} == {k: v for k, v in theirs.items() if k not in moving}
    assert session.ok("process", action="hosts", host="cluster")["hosts"][0]["healthy"]
    assert session.ok("process", action="kill", job_id=job["job_id"])["state"] == "killed"


def check_asked_seldom(on: Slurm) -> None:
    """At most one look at the queue in five seconds, by all processes together."""
    asked = [float(line) for line in until((on.place / "asked").read_text, what="a question").split()]
    assert all(later - earlier >= 5 for earlier, later in pairwise(asked)), asked


def test_many_jobs_ask_the_controller_seldom(on: Slurm) -> None:
    on.wrap("squeue", WHEN)
    started = [on.run("--snapshot-after", "0", "--resource", "options.hold=true", "true")["job_id"] for _ in range(8)]
    for _ in range(4):
        assert len(on.cli.ok("list", "--state", "created")["jobs"]) == len(started)
    on.cli.ok("wait", *started, "--timeout-ms", "2s")
    check_asked_seldom(on)
    for job in started:
        on.cli.ok("remove", job)


def test_two_hundred_jobs_at_once_all_end_with_their_own_codes_and_the_controller_is_asked_seldom(on: Slurm) -> None:
    on.wrap("squeue", WHEN)

    def submitted(number: int) -> tuple[str, int]:
        code = number % 100
        return on.run("--snapshot-after", "0", f"echo {number}; exit {code}", timeout=SOON_S)["job_id"], code

    with ThreadPoolExecutor(4) as pool:
        codes = dict(pool.map(submitted, range(200)))
    listed = on.cli.ok("list", "--host", "cluster", "--limit", "0")["jobs"]
    assert {one["job_id"] for one in listed} == set(codes)

    def ended() -> dict[str, Any] | None:
        found = on.cli.ok("wait", *codes, "--mode", "all", "--timeout-ms", "50s", timeout=SOON_S)
        return None if found["timed_out"] else found

    found = until(ended, what="all have ended", timeout=900)
    assert found is not None
    assert {one["job_id"]: one["exit_code"] for one in found["jobs"]} == codes
    for number, job in enumerate(codes):
        assert (on.cli.root / job / "stdout.log").read_text() == f"{number}\n"
    check_asked_seldom(on)


def test_the_check_of_a_cluster_says_what_a_node_sees(on: Slurm, tmp_path: Path) -> None:
    found = on.cli.ok("host", "check", "cluster")
    assert found["healthy"], found
    assert [one["name"] for one in found["checks"]] == ["programs", "controller", "node", "root", "locks", "processes"]
    on.configure('python = "/nowhere/python"')
    found = on.cli.ok("host", "check", "cluster")
    assert not found["healthy"]
    assert "/nowhere/python" in found["checks"][2]["advice"]
    on.configure(f'programs = "{tmp_path}"')
    assert on.cli.ok("host", "check", "cluster")["checks"][0]["status"] == "fail"


# --- how a job ends there -----------------------------------------------------------------------------------------


@pytest.mark.fault("H08")
def test_a_job_that_is_cancelled_in_slurm_was_killed(on: Slurm) -> None:
    running = on.start("exec sleep 300")
    on.cluster.run("scancel", running["engine"]["job_id"])
    found = on.ended(running["job_id"])
    assert (found["state"], found["reason"], found["exit_code"]) == ("killed", "kill", None)
    waiting = on.run("--snapshot-after", "0", "--resource", "options.hold=true", "touch ran")
    on.cluster.run("scancel", waiting["engine"]["job_id"])
    found = on.ended(waiting["job_id"])
    message = "it was cancelled in Slurm before it started; it never ran"
    assert (found["state"], found["signal"], found["reason"], found["message"]) == ("failed", None, "kill", message)
    assert found["pid"] is None
    assert found["ended_by"] == "engine"


@pytest.mark.fault("H27")
def test_a_job_that_is_requeued_in_slurm_was_not_cancelled(on: Slurm) -> None:
    running = on.start("--resource", "options.requeue=true", "exec sleep 300")
    on.cluster.run("scontrol", "requeue", running["engine"]["job_id"])
    found = on.ended(running["job_id"])
    assert (found["state"], found["reason"], found["ended_by"]) == ("killed", "kill", "engine")
    # Without a message Slurm's signal reached the guardian before it reached the command
    assert found.get("message") in (None, "Slurm put it back into its queue; a command is never run twice")


@pytest.mark.fault("H27")
def test_a_number_that_slurm_gave_to_another_job_cancels_nothing(on: Slurm) -> None:
    other = on.start("exec sleep 300")
    waiting = on.run("--snapshot-after", "0", "--resource", "options.hold=true", "true")["job_id"]
    path = on.cli.root / waiting / "engine.json"
    record = atomic_file.load(path.read_bytes())
    record["engine"]["job_id"] = other["engine"]["job_id"]
    path.write_bytes(atomic_file.dump(record))
    assert on.cli.ok("kill", waiting)["state"] == "failed"
    on.cli.ok("remove", waiting)
    until(lambda: len(on.cluster.run("squeue", "-h", "-t", "PD,R").splitlines()) == 1, what="one of two is cancelled")
    assert on.cli.ok("status", other["job_id"])["state"] == "running"
    on.cli.ok("kill", other["job_id"])


@pytest.mark.fault("H09")
def test_the_time_limit_of_slurm_warns_and_ends_a_job(on: Slurm) -> None:
    command = "trap 'echo warned; exit 5' TERM; while :; do sleep 0.2; done"
    running = on.start("--resource", "options.time=1", command)
    found = until(
        lambda: (seen := on.cli.ok("status", running["job_id"]))["state"] != "running" and seen,
        what="Slurm's time limit has ended it", timeout=240,
    )  # fmt: skip
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 5, "timeout")
    assert on.cli.ok("tail", running["job_id"])["stdout_tail"] == "warned\n"


@pytest.mark.fault("H10")
def test_a_job_that_uses_more_memory_than_it_asked_for_ends_by_oom(on: Slurm) -> None:
    program = "x = bytearray(400 << 20)\nimport time\ntime.sleep(300)"
    running = on.start("--resource", "memory=100M", "python3", "-c", program)
    found = on.ended(running["job_id"])
    assert (found["reason"], found["exit_code"]) == ("oom", None)


@pytest.mark.fault("H12")
def test_a_preempted_job_was_killed(on: Slurm) -> None:
    running = on.start("--resource", "cpus=8", "--resource", "options.nodelist=outlive1", "exec sleep 300")
    first = on.start(
        "--resource", "cpus=8", "--resource", "options.nodelist=outlive1", "--resource", "options.partition=first", "exec sleep 300"
    )  # fmt: skip
    found = on.ended(running["job_id"])
    assert (found["state"], found["reason"], found["exit_code"]) == ("killed", "kill", None)
    on.until(running["job_id"], lambda found: found["engine"]["state"] == "PREEMPTED", "Slurm's word is quoted")
    on.cli.ok("kill", first["job_id"])


# --- what is killed -----------------------------------------------------------------------------------------------


@pytest.mark.fault("H11")
def test_a_submitter_that_is_killed_loses_no_job_and_starts_none_twice(on: Slurm, work: Path) -> None:
    on.wrap("sbatch", KILL_AFTER)
    text = on.cli.text("run", "--host", "cluster", "--wait", "--cwd", str(work), "echo ran >> runs")
    assert text.status == -signal.SIGKILL
    (job,) = [path.name for path in on.cli.root.glob("[0-9]*")]
    found = on.ended(job)
    assert (found["state"], found["exit_code"]) == ("exited", 0)
    assert found["engine"]["job_id"]
    assert (work / "runs").read_text() == "ran\n"


@pytest.mark.fault("H11")
def test_a_submitter_that_is_killed_before_slurm_has_the_job_leaves_one_that_never_ran(on: Slurm) -> None:
    on.wrap("sbatch", KILL_BEFORE)
    assert on.cli.text("run", "--host", "cluster", "--wait", "touch ran").status == -signal.SIGKILL
    (job,) = [path.name for path in on.cli.root.glob("[0-9]*")]
    found = on.ended(job)
    assert (found["state"], found["reason"], found["exit_code"], found["pid"]) == ("failed", "launch", None, None)


@pytest.mark.fault("H01", "H02")
def test_without_the_controller_nothing_is_half_done_and_what_runs_goes_on(on: Slurm) -> None:
    running = on.start("--stdin", "open", "while read line; do echo got $line; done; exit 4")
    job = running["job_id"]
    on.cluster.save(running["engine"]["job_id"])
    on.cluster.kill_controller()
    error = on.cli.error("run", "--host", "cluster", "true", code="launch_failed", timeout=SOON_S)
    assert error["retryable"]
    assert "nothing was run" in error["message"]
    assert [one["job_id"] for one in on.cli.ok("list", "--all")["jobs"]] == [job]
    assert on.cli.ok("status", job)["state"] == "running"
    refused = on.cli.run("write", job, "--data", "x\n", timeout=SOON_S)
    if not refused.json["ok"]:  # srun may need no controller for a step of a job that it knows
        assert _may_be_repeated(refused.json["error"])
    assert not on.cli.ok("host", "check", "cluster", timeout=SOON_S)["healthy"]
    on.cluster.start_controller()
    until(lambda: on.cluster.run("sinfo", "-h"), what="the controller answers", timeout=SOON_S)
    # A controller that has just started lets steps wait until its nodes have answered it
    said: list[dict[str, Any]] = []

    def written() -> bool:
        said.append(on.cli.run("write", job, "--data", "again\n", "--eof", timeout=SOON_S).json)
        return bool(said[-1]["ok"]) or not _may_be_repeated(said[-1]["error"])

    until(written, what="it takes input again", timeout=SOON_S)
    # What was sent in a call that waited in vain may arrive after it: the job has then ended by it
    errors = [one["error"]["message"] for one in said if not one["ok"]]
    late = any("did not answer" in message for message in errors) and "the job has ended (exited)" in errors[-1]
    assert said[-1]["ok"] or late, errors
    found = on.ended(job)
    assert (found["state"], found["exit_code"]) == ("exited", 4)
    assert on.cli.ok("tail", job)["stdout_tail"].count("got again") == 1


def _may_be_repeated(error: dict[str, Any]) -> bool:
    """Whether to write again. What was not answered may come later, so a caller looks first, as this test does in the
    end."""
    return bool(error["retryable"]) or "did not answer" in error["message"]


@pytest.mark.fault("H03")
def test_slurmd_is_killed_and_nothing_is_lost(on: Slurm) -> None:
    running = on.start("until [ -e go ]; do sleep 0.1; done; echo done; exit 6")
    for node in on.cluster.nodes:
        processes.kill(*node.pids("slurmd"))
    (on.place / "work/go").touch()
    found = on.ended(running["job_id"])
    assert (found["state"], found["exit_code"]) == ("exited", 6)
    assert on.cli.ok("tail", running["job_id"])["stdout_tail"] == "done\n"


@pytest.mark.fault("H04")
def test_slurmstepd_is_killed_and_no_exit_code_is_made_up(on: Slurm) -> None:
    running = on.start("until [ -e go ]; do sleep 0.1; done; echo done; exit 6")
    for node in on.cluster.nodes:
        processes.kill(*node.pids("slurmstepd"))
    (on.place / "work/go").touch()
    found = on.ended(running["job_id"])
    assert (found["state"], found["exit_code"]) == ("exited", 6) or (found["exit_code"] is None and found["reason"])


@pytest.mark.fault("H06")
def test_a_guardian_in_the_allocation_takes_over(on: Slurm) -> None:
    lines = "for i in $(seq 30); do echo line $i; sleep 0.1; done"
    running = on.start(f"{lines}; until [ -e go ]; do sleep 0.1; done; exit 6")
    _, supervisor = on.pair(running["job_id"])
    processes.kill(supervisor)
    (on.place / "work/go").touch()
    found = on.ended(running["job_id"])
    assert (found["state"], found["exit_code"], found["adopted"]) == ("exited", 6, 1)
    lines = (on.cli.root / running["job_id"] / "stdout.log").read_text().split("\n")
    assert lines[:-1] == [f"line {number}" for number in range(1, 31)]


def test_the_next_reader_completes_an_end_whose_supervisors_died_when_it_was_visible(on: Slurm) -> None:
    job = on.run("--wait", "exit 3")["job_id"]
    mark, path = on.cli.root / ".live" / job, on.cli.root / job / "events.ndjson"
    until(lambda: not mark.exists(), what="its supervisor is done", timeout=SOON_S)
    path.write_bytes(b"".join(line for line in path.read_bytes().splitlines(True) if b'"finished"' not in line))
    mark.touch()
    for _ in range(2):
        assert on.cli.ok("status", job)["exit_code"] == 3
        assert on.events(job).count("finished") == 1
    assert not mark.exists()


@pytest.mark.fault("H05")
def test_guardian_and_supervisor_are_killed_and_no_exit_code_is_made_up(on: Slurm) -> None:
    running = on.start("exec sleep 300")
    processes.kill(*on.pair(running["job_id"]))
    found = on.ended(running["job_id"])
    assert (found["state"], found["reason"], found["exit_code"], found["signal"]) == ("failed", "lost", None, None)
    # Slurm without control groups (proctrack/linuxproc) loses it
    processes.kill(*on.cluster.pids_of(running["job_id"]))
    assert on.events(running["job_id"])[-1] == "finished"


@pytest.mark.fault("H07")
def test_a_node_goes_down_and_comes_back_as_another_boot(on: Slurm) -> None:
    running = on.start("echo begun; exec sleep 300")
    until(lambda: on.cli.ok("tail", running["job_id"])["stdout_tail"], what="its output")
    node = on.node_of(running["job_id"])
    node.kill()
    seen = on.cli.ok("status", running["job_id"])
    assert seen["state"] == "running" or seen["engine"]["state"] == "NODE_FAIL"  # nothing else is known yet
    found = until(
        lambda: (seen := on.cli.ok("status", running["job_id"]))["state"] != "running" and seen,
        what="Slurm says that the node failed", timeout=SOON_S,
    )  # fmt: skip
    assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "lost", None)
    assert found["engine"]["state"] == "NODE_FAIL"
    assert on.cli.ok("tail", running["job_id"])["stdout_tail"] == "begun\n"
    node.start()
    until(on.cluster.is_ready, what="the node is back", timeout=SOON_S)


def test_a_job_is_removed_wherever_it_is(on: Slurm, jobs: Jobs) -> None:
    waiting = on.run("--snapshot-after", "0", "--resource", "options.hold=true", "true")
    running = on.start("exec sleep 300")
    for one in (waiting, running):
        on.cli.ok("remove", one["job_id"])
        engine_id = one["engine"]["job_id"]
        until(
            lambda job=engine_id: on.cluster.engine_state(job) not in ("RUNNING", "PENDING", "COMPLETING"),
            what="Slurm has let it go", timeout=SOON_S,
        )  # fmt: skip
    assert jobs.all() == []
