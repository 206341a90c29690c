"""Limits of a job, by the kernel in a control group and without one, and what a job is said to have used."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.parts.limits import own_group
from outlive.parts.limits.in_supervisor.apply import Limits
from outlive.parts.resources import Resources
from support import pair, processes
from support.cli import Cli, environment
from support.commands import GATE
from support.mcp_client import McpSession
from support.mounts import Mounts, fill
from support.preloaded import MAIN, OUTLIVE
from support.tiers import MODERN_FIRST, first
from support.wait import until

pytestmark = pytest.mark.real_start  # memory of processes

MIB = 1024**2
LIMIT = 96 * MIB
# Touches a page after the other, far beyond the limit
EATER = "import mmap\nroom = mmap.mmap(-1, 1 << 29)\nfor at in range(0, 1 << 29, 4096): room[at] = 1\n"
BURNS = "while True: pass"
# A command line that waits for its supervisor two seconds instead of 30
GIVES_UP = f"import sys; from outlive import limits; limits.LAUNCH_S = 2.0; {MAIN}"
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def grouped() -> None:
    """Skip the test where no control group with all controllers can be made."""
    try:
        group = own_group.made(new_id(), own_group.CONTROLLERS)
    except own_group.NoGroup as error:
        pytest.skip(f"no control group can be made here: {error}")
    missing = [name for name in own_group.CONTROLLERS if not group.has(name)]
    assert group.remove()
    if missing:
        pytest.skip(f"no control group with {', '.join(missing)} can be made here")


@pytest.fixture
def ungrouped(work: Path) -> Run:
    """Run a command by an outlive that sees no control groups, and return the answer."""

    def run(*words: str) -> dict[str, Any]:
        hide = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
        hidden = ["unshare", "-m", "sh", "-c", hide, "sh"] if os.geteuid() == 0 else []
        command = [*hidden, *OUTLIVE, "run", *words]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), cwd=work, timeout=60, check=False
        )
        if hidden and b"unshare" in done.stderr + done.stdout[:0]:
            pytest.skip(f"no namespace of mounts can be made here: {done.stderr.decode()}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


def applied(found: dict[str, Any]) -> dict[str, str]:
    return {name: one["applied"] for name, one in found["resources"].items()}


def in_groups(job: str) -> list[Path]:
    """Return the control groups of a job. Groups of other programs come and go meanwhile; os.walk passes over them."""
    found = os.walk("/sys/fs/cgroup")
    return [Path(above, name) for above, names, _ in found for name in names if name.startswith(f"outlive-{job}")]


# --- in a control group --------------------------------------------------------------------------------------------


@pytest.mark.fault("S19", "F08")
@pytest.mark.usefixtures("grouped")
def test_the_kernel_ends_a_job_at_its_limit_of_memory_and_the_reason_says_so(cli: Cli) -> None:
    found = cli.ok("run", "--wait", "--resource", f"memory={LIMIT}", "--", sys.executable, "-c", EATER)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "oom")
    assert f"{LIMIT:,} bytes of memory" in found["message"]
    assert found["resources"] == {"memory": {"value": LIMIT, "applied": "cgroup"}}
    assert LIMIT // 2 < found["usage"]["peak_memory_bytes"] <= LIMIT
    assert found["usage"]["source"] == {"time": "cgroup", "memory": "cgroup"}
    until(lambda: not in_groups(found["job_id"]), what="the removal of its group")


@pytest.mark.usefixtures("grouped")
def test_a_running_job_has_never_more_memory_than_its_peak(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--resource", f"memory={LIMIT}", "--", "sleep", "60")["job_id"]
    used = cli.ok("usage", job)["usage"]
    cli.ok("kill", job)
    assert 0 < used["memory_bytes"] <= used["peak_memory_bytes"]


@pytest.mark.usefixtures("grouped")
def test_a_shell_that_reports_the_death_of_its_child_is_told_as_memory_too(cli: Cli) -> None:
    words = [sys.executable, "-c", f"import os, sys; sys.exit(137 if os.system('{sys.executable} eater.py') else 0)"]
    Path("eater.py").write_text(EATER)
    found = cli.ok("run", "--wait", "--resource", f"memory={LIMIT}", "--", *words)
    assert found["reason"] == "oom"
    assert found["exit_code"] in (137, None)


@pytest.mark.fault("S19")
@pytest.mark.usefixtures("grouped")
def test_a_fork_beyond_the_limit_of_processes_fails_and_the_supervisor_does_not_count(cli: Cli, work: Path) -> None:
    code = (
        "import os, signal\n"
        "made = 0\n"
        "try:\n"
        "    while made < 50:\n"
        "        if os.fork() == 0: signal.pause()\n"
        "        made += 1\n"
        "except BlockingIOError: pass\n"
        "print(made)\n"
        "os.kill(0, signal.SIGKILL)\n"
    )
    found = cli.ok("run", "--wait", "--resource", "processes=5", "--", sys.executable, "-uc", code)
    assert found["output"] == "4\n"
    assert applied(found) == {"processes": "cgroup"}
    until(lambda: not in_groups(found["job_id"]), what="the removal of its group")


@pytest.mark.usefixtures("grouped")
def test_a_job_that_failed_for_want_of_processes_says_so(cli: Cli) -> None:
    code = "import os\ntry: os.fork()\nexcept BlockingIOError: os._exit(4)"
    found = cli.ok("run", "--wait", "--resource", "processes=1", "--", sys.executable, "-c", code)
    assert (found["exit_code"], found["reason"]) == (4, "exit")
    assert found["message"] == "fork failed in it: its limit of processes is 1"


@pytest.mark.usefixtures("grouped")
def test_processors_are_limited_by_their_time(cli: Cli) -> None:
    words = "cat /sys/fs/cgroup$(grep -E '^[0-9]+:([^:]*,)?cpu(,|:)|^0::' /proc/self/cgroup | head -1 | cut -d: -f3)"
    found = cli.ok("run", "--wait", "--resource", "cpus=0.5", "--", "sh", "-c", f"{words}/cpu.max || true; sleep 0.1")
    assert applied(found) == {"cpus": "cgroup"}
    with_gate = cli.ok("run", "--snapshot-after", "0", "--resource", "cpus=0.5", "--", "sh", "-c", GATE)
    place = json.loads((cli.root / with_gate["job_id"] / "state.json").read_bytes())["job_group"]["places"]["cpu"]
    quota = Path(place) / "cpu.max"
    quota = quota if quota.exists() else Path(place) / "cpu.cfs_quota_us"
    assert quota.read_text().split()[0] == "50000"
    cli.ok("kill", with_gate["job_id"])


@pytest.mark.usefixtures("grouped")
def test_a_successor_keeps_the_group_and_removes_it(cli: Cli, work: Path) -> None:
    script = f"{GATE}; exec {sys.executable} -c '{EATER}'"
    words = ["--resource", f"memory={LIMIT}", "--", "sh", "-c", script]
    for kills in (("supervisor",), ("guardian", "supervisor")):
        job = cli.ok("run", "--snapshot-after", "0", *words)["job_id"]
        pair.end(*[getattr(pair, kind)(job) for kind in kills])
        assert cli.ok("status", job)["resources"]["memory"]["applied"] == "cgroup"
        pair.supervisor(job)  # a new supervisor
        (work / "go").touch()
        found = cli.ok("wait", job, "--timeout-ms", "50s")
        assert (found["state"], found["reason"]) == ("killed", "oom")
        until(lambda job=job: not in_groups(job), what="the removal of its group")
        (work / "go").unlink()


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("point", ["start_marked", "start_spawned", "end_written"])
def test_a_supervisor_that_dies_on_the_way_costs_no_limit(cli: Cli, point: str) -> None:
    words = ["--resource", f"memory={LIMIT}", "--resource", "processes=5", "--resource", "nice=4"]
    found = cli.ok("run", "--wait", *words, "--", "sh", "-c", "nice", env={"OUTLIVE_CRASH_AT": point})
    job = found["job_id"]
    assert (found["exit_code"], found["output"]) == (0, "4\n")
    assert applied(found) == {"memory": "cgroup", "processes": "cgroup", "nice": "kernel"}
    until(lambda: not in_groups(job), what="the removal of its group")


@pytest.mark.usefixtures("grouped")
def test_the_group_of_a_lost_job_is_removed_by_the_reader_that_finds_it_lost(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--resource", "processes=5", "--", "sleep", "60")["job_id"]
    command = cli.ok("status", job)["pid"]
    pair.end_pair(job)
    os.kill(command, signal.SIGKILL)
    until(lambda: not processes.is_alive(command), what="the command's end")
    assert in_groups(job)
    found = cli.ok("status", job)
    assert (found["state"], found["reason"]) == ("failed", "lost")
    assert not in_groups(job)


@pytest.mark.usefixtures("grouped")
def test_a_start_that_a_full_disk_refuses_leaves_no_group(cli: Cli, mount: Mounts) -> None:
    root = mount.small("tmpfs", 4)
    cli.ok("--root", str(root), "list")
    size, before = fill(root).stat().st_size, set(in_groups(""))
    for kib in (4, 8, 12, 16):  # it is refused in one place or another
        os.truncate(root / "filler", size - (kib << 10))
        cli.error("--root", str(root), "run", "--resource", "processes=5", "true", code="launch_failed")
    new = set(in_groups("")) - before  # those of other tests go too
    until(lambda: not new & set(in_groups("")), what="the removal of its group")


@pytest.mark.usefixtures("grouped")
def test_a_start_that_its_launcher_gave_up_runs_nothing_and_leaves_no_group(work: Path, place: Path) -> None:
    before = set(in_groups(""))
    words = [sys.executable, "-c", GIVES_UP, "run", "--resource", "processes=5", "touch ran"]
    env = environment({"OUTLIVE_CRASH_AT": "stop:start_marked"})
    told = subprocess.run(words, capture_output=True, env=env, cwd=work, timeout=60, check=False)
    assert json.loads(told.stdout)["error"]["code"] == "launch_failed"
    new = set(in_groups("")) - before
    (supervisor,) = [pid for pid in processes.of(place) if processes.state(pid) == "T"]
    os.kill(supervisor, signal.SIGCONT)
    assert processes.wait_gone(place, 60) == {}
    assert not (work / "ran").exists()
    until(lambda: not new & set(in_groups("")), what="the removal of its group")


@pytest.mark.usefixtures("grouped")
def test_a_command_that_cannot_be_run_leaves_no_group(cli: Cli) -> None:
    found = cli.ok("run", "--resource", "processes=5", "--", "/nonexistent/program", "x")
    assert (found["state"], found["reason"], found["errno"]) == ("failed", "launch", "ENOENT")
    until(lambda: not in_groups(found["job_id"]), what="the removal of its group")


def test_a_command_that_has_ended_already_is_not_said_to_have_been_refused_its_priority() -> None:
    found = Limits(Resources(nice=3), new_id(), sandboxed=False)
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert found.started(gone.pid)["nice"].applied == "kernel"


@pytest.mark.usefixtures("grouped")
def test_a_sandbox_and_limits_go_together(cli: Cli) -> None:
    if shutil.which("bwrap") is None and cli.run("run", "--sandbox", "read-only", "true").status:
        pytest.skip("no sandbox can be set up here")
    words = ["--sandbox", "workspace-write", "--resource", f"memory={LIMIT}", "--resource", "nice=3"]
    found = cli.ok("run", "--wait", *words, "--resource", "processes=3", "--", "sh", "-c", "nice; sh -c 'nice; exit 5'")
    assert (found["exit_code"], found["output"]) == (5, "3\n3\n")
    assert applied(found) == {"memory": "cgroup", "processes": "cgroup", "nice": "kernel"}
    found = cli.ok("run", "--wait", *words, "--", "tail", "/dev/zero")  # which has no line to print
    assert (found["state"], found["reason"]) == ("killed", "oom")


# --- without a control group ---------------------------------------------------------------------------------------


@pytest.mark.fault("S19")
def test_without_a_control_group_memory_is_sampled_and_the_rest_is_said_not_to_be_limited(ungrouped: Run) -> None:
    asked = {"memory": str(LIMIT), "processes": "5", "cpus": "1", "gpus": "1", "options.partition": "gpu"}
    words = [word for name, value in asked.items() for word in ("--resource", f"{name}={value}")]
    found = ungrouped("--wait", *words, "--", sys.executable, "-c", EATER)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "oom")
    assert f"its limit is {LIMIT:,}" in found["message"]
    assert found["ended_by"] == "outlive"
    left = dict.fromkeys(("cpus", "gpus", "processes", "options"), "not_supported")
    assert applied(found) == {"memory": "sampled", **left}
    assert all(one["why"] for one in found["resources"].values())
    assert found["hint"].startswith("Not limited: cpus (")
    assert found["usage"]["peak_memory_bytes"] > LIMIT // 2
    assert found["usage"]["source"] == {"time": "rusage", "memory": "rusage"}


@pytest.mark.fault("S19")
@pytest.mark.parametrize("killed", first(1, ["guardian supervisor", "supervisor", ""]))
def test_the_sum_of_processor_times_ends_a_job_also_after_its_supervisors_were_killed(
    cli: Cli, work: Path, killed: str
) -> None:
    burn = f"{GATE}; for i in 1 2 3; do {sys.executable} -c '{BURNS}' & done; wait"
    words = ["--snapshot-after", "0", "--kill-after", "5s", "--resource", "cpu_time=1s", "--", "sh", "-c", burn]
    job = cli.ok("run", *words)["job_id"]
    pair.end(*[getattr(pair, kind)(job) for kind in killed.split()])
    assert applied(cli.ok("status", job)) == {"cpu_time": "rlimit"}
    pair.supervisor(job)  # a supervisor
    (work / "go").touch()
    found = cli.ok("wait", job, "--timeout-ms", "60s")
    assert "cpu_time is 1 s" in found["message"]
    assert (found["reason"], found["ended_by"], found["signal"]) == ("limit", "outlive", "SIGTERM"), "it has its grace"


@pytest.mark.fault("S19")
def test_the_kernel_limits_each_process_where_no_supervisor_looks(cli: Cli) -> None:
    found = cli.ok(
        "run", "--wait", "--resource", "cpu_time=90s", "--resource", "nice=7", "--", "sh", "-c", "ulimit -t; nice"
    )
    assert found["output"] == "92\n7\n"
    assert applied(found) == {"cpu_time": "rlimit", "nice": "kernel"}


@MODERN_FIRST
def test_both_faces_tell_the_same_of_a_limited_job(cli: Cli, shared_session: McpSession) -> None:
    started = shared_session.ok("exec", command=["sh", "-c", "exit 3"], resources={"nice": 2, "gpus": 1}, detail="full")
    job = started["job_id"]
    until(lambda: not cli.ok("status", job)["supervised"], what="the end of its supervisor")
    mine, theirs = cli.ok("usage", job), shared_session.ok("process", action="usage", job_id=job, detail="full")
    assert mine == {name: value for name, value in theirs.items() if name != "notices"}
    assert mine["hint"] == "Not limited: gpus (no engine on this machine takes it)."
    brief = shared_session.call("process", action="usage", job_id=job)
    assert brief.result["usage"]["user_ms"] is not None
    assert brief.result["resources"]["nice"] == {"value": 2, "applied": "kernel"}


# --- usage ---------------------------------------------------------------------------------------------------------


def test_usage_counts_a_daemon_that_the_command_left_behind(cli: Cli, work: Path) -> None:
    code = f"""import os, time
room = bytearray({64 * MIB})
while time.process_time() < 0.3: pass
while not os.path.exists("seen"): time.sleep(0.02)"""
    (work / "daemon.py").write_text(code)
    daemon = f"(setsid {sys.executable} daemon.py &); {GATE}"
    job = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", daemon)["job_id"]

    def used() -> dict[str, Any]:
        answer: dict[str, Any] = cli.ok("usage", job)["usage"]
        return answer

    until(lambda: (now := used())["user_ms"] + now["system_ms"] >= 300, what="the daemon's work to be seen")
    (work / "seen").touch()
    until(lambda: used()["processes"] <= 2, what="the daemon's end")
    (work / "go").touch()
    cli.ok("wait", job)
    pair.until_free(cli.root, job)
    after = used()
    assert after["user_ms"] + after["system_ms"] >= 300
    assert after["peak_memory_bytes"] >= 64 * MIB
    assert (after["processes"], after["source"]) == (0, {"time": "rusage", "memory": "rusage"})


def test_a_daemon_that_outlives_its_command_is_counted_at_its_own_end(cli: Cli, work: Path) -> None:
    code = "import time\nwhile time.process_time() < 0.3: pass"
    job = cli.ok("run", "--wait", "--", "sh", "-c", f"(setsid {sys.executable} -c '{code}' &); true")["job_id"]
    pair.until_free(cli.root, job)
    used = cli.ok("usage", job)["usage"]
    assert used["user_ms"] + used["system_ms"] >= 300


def test_the_peak_of_a_small_command_is_not_that_of_its_supervisor(cli: Cli) -> None:
    """A child counts what it shared with a large parent before execve(2): measured, `true` of a parent with 209 MiB
    had a ru_maxrss of 209 MiB."""
    small = cli.ok("run", "--wait", "--", "/bin/true")
    small = cli.ok("usage", small["job_id"])["usage"]
    assert small["peak_memory_bytes"] is None
    assert "memory" not in small["source"]
    large = cli.ok("run", "--wait", "--", sys.executable, "-c", f"room = b'x' * {48 * MIB}")["usage"]
    assert 48 * MIB < large["peak_memory_bytes"] < 96 * MIB


def test_a_running_job_is_sampled_when_a_call_asks(cli: Cli) -> None:
    code = f"room = b'x' * {32 * MIB}; print('here', flush=True); import time; time.sleep(60)"
    job = cli.ok("run", "--until", "output", "--", sys.executable, "-c", code)["job_id"]
    answers = [
        cli.ok("usage", job)["usage"],
        cli.ok("status", job)["usage"],
        cli.ok("list", "--all")["jobs"][0]["usage"],
    ]
    for used in answers:
        assert used["memory_bytes"] > 32 * MIB
        assert used["peak_memory_bytes"] >= 32 * MIB
        assert (used["processes"], used["output_bytes"]) == (1, 5)
        assert set(used["source"].values()) == {"sampled"}
    cli.ok("kill", job)
    event = cli.ok("events", job)["events"][-1]
    assert event["type"] in ("finished", "descendants_left")


def test_usage_of_a_job_that_never_ran_is_refused(cli: Cli) -> None:
    job = cli.ok("create", "--", "true")["job_id"]
    assert "has not run" in cli.error("usage", job, code="invalid_state")["message"]
    assert "usage" not in cli.ok("status", job)


def test_the_finished_event_has_what_the_command_used(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--", sys.executable, "-c", "sum(range(10**6))")["job_id"]
    event = next(one for one in cli.ok("events", job)["events"] if one["type"] == "finished")
    assert event["usage"]["user_ms"] > 0
