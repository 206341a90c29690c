"""What Slurm gives a job on a node, and keeps it to: memory, GPUs, a sandbox. On a cluster with control groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.parts.sandbox.confinement import bubblewrap
from support import on_slurm, processes, slurm
from support.on_slurm import SOON_S, Slurm
from support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.real_start]
TOO_MUCH = "x = bytearray(400 << 20)\nimport time\ntime.sleep(300)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[slurm.Cluster]:
    yield from on_slurm.started(control_groups=True)


# --- memory -------------------------------------------------------------------------------------------------------


@pytest.mark.fault("H10")
def test_a_command_that_takes_more_memory_than_it_asked_for_ends_by_oom(on: Slurm) -> None:
    found = on.run("--wait", "--resource", "memory=100M", "--", "python3", "-c", TOO_MUCH)
    assert (found["state"], found["signal"], found["exit_code"]) == ("killed", "SIGKILL", None)
    assert found["reason"] == "oom"
    assert "104,857,600 bytes of memory that it may have" in found["message"]
    job = found["job_id"]
    on.until(job, lambda found: found["engine"]["state"] == "OUT_OF_MEMORY", "Slurm's word is quoted")
    assert on.cli.ok("status", job)["reason"] == "oom"


def test_a_shell_whose_child_was_ended_for_its_memory_ends_by_oom_with_its_code(on: Slurm) -> None:
    found = on.run("--wait", "--resource", "memory=100M", f"python3 -c '{TOO_MUCH}'; exit $?")
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 137, "oom")


def test_a_command_within_its_memory_ends_as_ever(on: Slurm) -> None:
    found = on.run("--wait", "--resource", "memory=400M", "--", "python3", "-c", "x = bytearray(200 << 20)")
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 0, "exit")
    assert found["usage"]["peak_memory_bytes"] > 200 << 20
    other = on.run("--wait", "--resource", "memory=400M", "kill -KILL $$")
    assert (other["state"], other["reason"]) == ("killed", "signal")


# --- what it uses while it runs -----------------------------------------------------------------------------------


def test_the_use_of_a_running_job_is_measured_on_its_node(on: Slurm) -> None:
    running = on.start("sleep 300 & exec sleep 300")
    job = running["job_id"]
    assert (running["descendants"], running["usage"]["processes"]) == (None, None)  # not asked: each costs a step
    used = until(lambda: found if (found := on.cli.ok("usage", job)["usage"])["processes"] == 2 else None, what="two")
    assert used["source"]["processes"] == "sampled"
    assert used["memory_bytes"] > 0
    on.cli.ok("kill", job)
    until(lambda: on.cli.ok("usage", job)["usage"]["processes"] == 0, what="none")


# --- GPUs ---------------------------------------------------------------------------------------------------------


def test_a_job_gets_as_many_gpus_as_it_asks_for_and_no_other(on: Slurm) -> None:
    gpus = [on.cluster.place / f"gpu{number}" for number in range(slurm.GPUS_A_NODE)]
    look = "; ".join(f"head -c1 {path} 2>&1" for path in gpus)
    found = on.run("--wait", "--resource", "gpus=1", f"echo $CUDA_VISIBLE_DEVICES; {look}")
    shown, first, second = found["output"].splitlines()
    assert shown == "0"
    assert "No such device" in first  # it may be opened: only its driver is missing
    assert "Operation not permitted" in second
    both = on.run("--wait", "--resource", f"gpus={slurm.GPUS_A_NODE}", "echo $CUDA_VISIBLE_DEVICES; echo $SLURM_NNODES")
    assert both["output"].split() == ["0,1", "1"]
    none = on.run("--wait", f"echo [$CUDA_VISIBLE_DEVICES]; {look}")
    assert none["output"].count("Operation not permitted") == slurm.GPUS_A_NODE


@pytest.mark.parametrize("wanted", [f"gpus={slurm.GPUS_A_NODE + 1}", "memory=100G"])
def test_more_than_any_node_has_is_refused_with_what_one_has(on: Slurm, wanted: str) -> None:
    error = on.cli.error("run", "--host", "cluster", "--resource", wanted, "true", code="launch_failed")
    assert not error["retryable"]
    assert "nothing was run" in error["message"]
    assert "one node gives at most cpus=8 memory=8000M gpus=2" in error["hint"]
    assert on.cli.ok("list", "--all")["jobs"] == []


def test_a_job_that_slurm_takes_and_never_starts_says_so(on: Slurm) -> None:
    job = on.run("--snapshot-after", "0", "--resource", "cpus=80", "true")["job_id"]
    found = on.until(job, lambda found: found["queue"].get("reason") == "PartitionConfig", "it waits in vain")
    assert "Slurm will not start it as it was submitted: kill it" in found["hint"]
    assert on.cli.ok("kill", job)["state"] == "failed"


# --- what is killed -----------------------------------------------------------------------------------------------


@pytest.mark.fault("H05")
def test_nothing_of_a_job_is_left_when_guardian_and_supervisor_are_killed(on: Slurm) -> None:
    running = on.start("setsid sleep 300 & exec sleep 300")
    job = running["job_id"]
    processes.kill(*on.pair(job))
    found = on.ended(job)
    assert (found["state"], found["reason"], found["exit_code"], found["signal"]) == ("failed", "lost", None, None)
    until(lambda: not on.cluster.pids_of(job), what="Slurm has ended its processes", timeout=SOON_S)


# --- a sandbox ----------------------------------------------------------------------------------------------------


@pytest.fixture
def sandboxed(on: Slurm) -> Slurm:
    problem = bubblewrap.tried(bubblewrap.find(None))
    if problem is not None:
        pytest.skip(f"no sandbox can be set up here: {problem}. {bubblewrap.mend()}")
    return on


def test_a_sandbox_on_a_node_holds_as_one_here(sandboxed: Slurm, work: Path) -> None:
    script = "echo hi >file; cat file; touch /etc/outlive-was-here; exit 3"
    found = sandboxed.run("--wait", "--sandbox", "workspace-write", "--cwd", str(work), script)
    assert (found["state"], found["exit_code"], found["sandbox"]["mode"]) == ("exited", 3, "workspace-write")
    assert found["output"].splitlines()[0] == "hi"
    assert "Read-only file system" in found["output"]
    found = sandboxed.run("--wait", "--sandbox", "read-only", "--cwd", str(work), "cat file; touch other")
    assert (found["exit_code"], found["output"].splitlines()[0]) == (1, "hi")
    assert not (work / "other").exists()


@contextlib.contextmanager
def without_bubblewrap(on: Slurm) -> Iterator[None]:
    """Hide it on every node."""
    places = [path for path in (*bubblewrap.PLACES, *bubblewrap._packaged()) if Path(path).exists()]
    for node in on.cluster.nodes:
        for path in places:
            node.run("mount", "--bind", "/dev/null", os.path.realpath(path))
    try:
        yield
    finally:
        for node in on.cluster.nodes:
            for path in places:
                node.run("umount", os.path.realpath(path))


def test_a_node_without_bubblewrap_runs_nothing_of_a_job_for_a_sandbox(sandboxed: Slurm, work: Path) -> None:
    with without_bubblewrap(sandboxed):
        found = sandboxed.run("--wait", "--sandbox", "read-only", "--cwd", str(work), "touch ran")
    assert (found["state"], found["reason"], found["exit_code"], found["pid"]) == ("failed", "launch", None, None)
    assert "bubblewrap is not installed" in found["message"]
    assert "hint" not in found or "PATH" not in found["hint"]
    assert not (work / "ran").exists()


def test_the_check_of_a_cluster_tries_the_sandbox_of_its_jobs_on_a_node(sandboxed: Slurm) -> None:
    def checked() -> tuple[bool, dict[str, Any]]:
        found = sandboxed.cli.ok("host", "check", "cluster")
        return found["healthy"], next((one for one in found["checks"] if one["name"] == "sandbox"), {})

    assert checked() == (True, {})  # no job there runs in one
    sandboxed.configure('sandbox = "read-only"')
    healthy, found = checked()
    assert (healthy, found["status"]) == (True, "ok")
    assert "works on node outlive" in found["found"]
    with without_bubblewrap(sandboxed):
        healthy, found = checked()
    assert (healthy, found["status"]) == (False, "fail")
    assert "bubblewrap is not installed" in found["found"]
    assert "apt install bubblewrap" in found["advice"]
