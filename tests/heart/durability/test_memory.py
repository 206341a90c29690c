"""When memory runs out: who is ended first, and what is said of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import State
from outlive.supervisor.ending import outcome
from outlive.system import cgroup, oom, process, systemd
from support import pair
from support.cli import Cli, answer_of
from support.control_groups import MemoryGroups, memory_groups
from support.preloaded import OUTLIVE
from support.systemd import Standin
from support.wait import until

pytestmark = pytest.mark.real_start  # memory of processes

# Touches a page after the other, far beyond the limit
EATER = "import mmap\nroom = mmap.mmap(-1, 1 << 30)\nfor at in range(0, 1 << 30, 4096): room[at] = 1\n"

# --- what is said of an end ----------------------------------------------------------------------------------------


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """`group(path, kills)`: we are in a stand-in for a group at `path` that counts so many."""

    def made(path: str, kills: int) -> None:
        place = tmp_path / path.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup.procs").touch()
        (place / "memory.events").write_text(f"oom 9\noom_kill {kills}\n")
        monkeypatch.setattr(cgroup, "paths", lambda pid="self": {"": path})

    monkeypatch.setattr(cgroup, "_USUAL", {"": (str(tmp_path),)})
    monkeypatch.setattr(oom, "named_since", lambda start: set())
    return made


def _ended(**changes: Any) -> State:
    found = {"state": "killed", "signal": "SIGKILL", "reason": "signal", "pid": 4242, "started_ns": 10**15}
    return State(job_id=changes.pop("job_id", new_id()), group=cgroup.record(), **{**found, **changes})


@pytest.mark.fault("F08")
def test_a_command_alone_in_its_group_in_which_the_kernel_ended_something_was_ended_for_memory(
    group: Callable[[str, int], None],
) -> None:
    job_id = new_id()
    group(f"/app.slice/{systemd.scope_of_job(job_id)}", 3)
    ended = _ended(job_id=job_id)
    assert outcome.judged(ended) == ended, "nothing was counted since it started"
    group(f"/app.slice/{systemd.scope_of_job(job_id)}", 4)
    found = outcome.judged(ended)
    assert (found.state, found.signal, found.reason) == ("killed", "SIGKILL", "oom")
    for other in (
        State.replace(_ended(job_id=job_id), group=ended.group, signal="SIGSEGV"),
        State.replace(ended, reason="kill"),
        State.replace(ended, reason="timeout"),
        State.replace(ended, state="exited", signal=None, exit_code=0, reason="exit"),
        State.replace(ended, group=None),
    ):
        assert outcome.judged(other) == other


@pytest.mark.fault("F08")
def test_in_a_group_of_many_the_kernels_log_decides_and_else_it_is_only_said(
    group: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    group("/user.slice/session-3.scope", 1)
    ended = _ended()
    group("/user.slice/session-3.scope", 3)
    found = outcome.judged(ended)
    assert (found.reason, found.signal) == ("signal", "SIGKILL")
    assert found.message and "ended 2 processes of its control group" in found.message
    monkeypatch.setattr(oom, "named_since", lambda start: {4242})
    monkeypatch.setattr(process, "is_first_namespace", lambda: False)
    assert outcome.judged(ended).reason == "signal", "the log's pid may be another process here"
    monkeypatch.setattr(process, "is_first_namespace", lambda: True)
    assert outcome.judged(ended).reason == "oom"
    monkeypatch.setattr(oom, "named_since", lambda start: {4243})
    assert outcome.judged(ended).reason == "signal"


def test_a_shell_whose_child_was_ended_for_memory_keeps_its_code_and_the_message_says_it(
    group: Callable[[str, int], None],
) -> None:
    group("/a", 0)
    ended = _ended(state="exited", signal=None, exit_code=137, reason="exit")
    group("/a", 1)
    found = outcome.judged(ended)
    assert (found.reason, found.exit_code) == ("exit", 137)
    assert found.message and "ended a process of its control group" in found.message


def test_the_kernels_log_is_read_from_a_moment_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        b"3,900,5000000,-;Out of memory: Killed process 11 (old) total-vm:1kB\n",
        b"6,901,9000000,-;usb 1-1: new device\n SUBSYSTEM=usb\n",
        b"3,902,9500000,-;Memory cgroup out of memory: Killed process 22 (new) total-vm:1kB, anon-rss:1kB\n",
    ]
    monkeypatch.setattr(oom, "_records", lambda fd: iter(records))
    monkeypatch.setattr(oom, "_LOG", os.devnull)
    assert oom.named_since(9_000_000) == {22}
    assert oom.named_since(1_000_000) == {11, 22}
    monkeypatch.setattr(oom, "_LOG", str(tmp_path / "missing"))
    assert oom.named_since(0) == set()


# --- real ones -----------------------------------------------------------------------------------------------------


@pytest.fixture
def groups() -> Iterator[MemoryGroups]:
    """Control groups with a limit of memory; where none can be made, the test is skipped."""
    with memory_groups() as found:
        yield found


@pytest.mark.fault("F08")
def test_a_command_that_takes_too_much_memory_in_a_scope_of_its_own_ended_by_oom(
    cli: Cli, place: Path, groups: MemoryGroups
) -> None:
    systemd = Standin(place / "standin")
    systemd.acts("for word; do case $word in --unit=*) unit=${word#--unit=};; esac; done; " + groups.enter("$unit"))
    found = cli.ok("run", "--wait", "--systemd-scope", "--", sys.executable, "-c", EATER, env=systemd.env)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "oom")
    assert "memory ran out" in found["message"]
    asked = cli.ok("run", "--snapshot-after", "0", "--systemd-scope", "sleep 60", env=systemd.env)["job_id"]
    assert cli.ok("kill", asked, "--grace-ms", "0")["reason"] == "kill"


@pytest.mark.fault("F08")
def test_of_many_in_one_group_nobody_is_said_to_have_been_ended_for_memory_who_was_not(
    cli: Cli, groups: MemoryGroups
) -> None:
    words = [*OUTLIVE, "run", "--snapshot-after", "0", "sleep 60; exit 1"]
    done = groups.run("shared", *words)
    job = answer_of(done)
    assert groups.run("shared", sys.executable, "-c", EATER).returncode == -9
    os.kill(job["pid"], 9)
    found = cli.ok("wait", job["job_id"])
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "signal")
    assert "memory ran out" in cli.ok("status", job["job_id"])["message"]
    cli.ok("remove", job["job_id"])


@pytest.mark.fault("F08")
def test_the_command_of_many_in_one_group_that_the_kernel_ended_is_named_by_its_log_or_not_at_all(
    cli: Cli, groups: MemoryGroups
) -> None:
    done = groups.run("shared", *OUTLIVE, "run", "--wait", "--", sys.executable, "-c", EATER)
    found = answer_of(done)
    assert (found["state"], found["signal"]) == ("killed", "SIGKILL")
    readable = os.access("/dev/kmsg", os.R_OK) and process.is_first_namespace()
    assert found["reason"] == ("oom" if readable else "signal")
    assert "memory ran out" in found["message"]


# --- who is ended first --------------------------------------------------------------------------------------------


def _scores(job: dict[str, Any]) -> tuple[int | None, int | None, int | None]:
    supervisor = pair.supervisor(job["job_id"])
    return oom.score(pair.guardian(job["job_id"])), oom.score(supervisor), oom.score(job["pid"])


def _own() -> int:
    found = oom.score()
    if found is None or found > 500:
        pytest.skip(f"the score of this process is {found}: nothing can be tried out")
    return found


def _permitted(score: int) -> int:
    """What a process that came with `score` can make of it here: tried out by one."""
    code = f"from outlive.system import oom; oom.set_score({score}); oom.spare(); print(oom.score())"
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


@pytest.mark.fault("F61")
@pytest.mark.parametrize("more", [0, 300])
def test_supervisors_are_spared_as_far_as_permitted_and_the_command_is_as_its_caller(cli: Cli, more: int) -> None:
    before = _own()
    score = before + more
    oom.set_score(score)
    try:
        answer = cli.ok(
            "run", "--snapshot-after", "0", "--notify-command", "cat /proc/self/oom_score_adj > told", "sleep 60"
        )
    finally:
        oom.set_score(before)
    spared = _permitted(score)
    assert spared <= score
    assert score == before or spared < score, "a score that was raised may be lowered again"
    assert _scores(answer) == (spared, spared, score)
    cli.ok("kill", answer["job_id"], "--grace-ms", "0")
    until(lambda: Path("told").exists() and Path("told").read_text(encoding="utf-8").strip(), what="the notification")
    assert int(Path("told").read_text(encoding="utf-8")) == score


@pytest.mark.fault("F61")
def test_a_guardian_that_takes_over_is_spared_too_and_starts_nothing_that_is(cli: Cli) -> None:
    before = _own()
    oom.set_score(before + 200)
    try:
        job = cli.ok(
            "run", "--snapshot-after", "0", "--notify-command", "cat /proc/self/oom_score_adj > told", "sleep 60"
        )
    finally:
        oom.set_score(before)
    pair.take_over(job["job_id"])
    assert oom.score(pair.supervisor(job["job_id"])) == _permitted(before + 200)
    cli.ok("kill", job["job_id"], "--grace-ms", "0")
    until(lambda: Path("told").exists() and Path("told").read_text(encoding="utf-8").strip(), what="the notification")
    assert int(Path("told").read_text(encoding="utf-8")) == before + 200


def test_a_server_and_its_fork_server_keep_their_score(raw_mcp: Callable[..., Any], cli: Cli) -> None:
    server = raw_mcp()
    job = server.call("exec", command="sleep 60", yield_ms=0)
    before = oom.score()
    assert (oom.score(server.pid), oom.score(pair.fork_server(job["job_id"])), oom.score(job["pid"])) == (before,) * 3
    cli.ok("kill", job["job_id"], "--grace-ms", "0")


def test_the_record_of_a_running_job_names_its_group(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    state = json.loads((root / job / "state.json").read_bytes())
    assert state["group"] is None or state["group"].keys() == {"ns", "hierarchy", "path", "id", "memory", "oom_kills"}
    assert bool(state["group"]) == bool(cgroup.paths())
