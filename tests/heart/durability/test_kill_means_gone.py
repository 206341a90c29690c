"""A kill that was answered leaves no process, whatever it met: an end of its own, a stopped tree, a frozen process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import processes
from support.cli import Cli, answer_of
from support.tiers import first
from support.wait import until

FREEZER = Path("/sys/fs/cgroup/freezer")  # version 1: what it holds takes no signal, not even KILL
ENDS = {
    ("exited", 7, "exit", None),
    ("exited", 7, "kill", None),
    ("killed", None, "kill", "SIGTERM"),
    ("killed", None, "kill", "SIGKILL"),
}


@pytest.mark.fault("F36")
@pytest.mark.parametrize(("grace", "turns"), first(1, [("5s", 3), ("5s", 10), ("0", 10)]))
def test_a_kill_at_the_instant_of_the_end_gives_one_end_and_the_same_for_ever(
    cli: Cli, work: Path, grace: str, turns: int
) -> None:
    """The command ends by itself when the kill begins: which of both was first is for them to settle."""
    seen = set()
    for turn in range(turns):
        go = work / f"go{turn}"
        words = ("run", "--snapshot-after", "0", f"until [ -e {go} ]; do :; done; exit 7")
        job_id = cli.ok(*words)["job_id"]
        with cli.spawn("kill", job_id, "--grace-ms", grace) as call:
            go.touch()
            killed = answer_of(call)
        assert killed["survivors"] == []
        found = cli.ok("status", job_id)
        seen.add(
            (found["state"], found["exit_code"], found["reason"], found.get("ended_signal") or found.get("signal"))
        )
        assert {name: killed[name] for name in ("state", "exit_code")} == {
            name: found[name] for name in ("state", "exit_code")
        }
        assert not processes.is_alive(found["pid"])
    assert {(state, code, reason) for state, code, reason, _ in seen} <= {end[:3] for end in ENDS}


STOPPED_TREE = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        open("pids", "a").write("%d\\n" % os.getpid())
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(60)
        os._exit(0)
open("pids", "a").write("%d\\n" % os.getpid())
os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(60)
"""


@pytest.mark.fault("F38")
def test_a_stopped_tree_of_term_ignorers_in_sessions_of_their_own_is_gone(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", sys.executable, "-c", STOPPED_TREE)

    def pids() -> list[int]:
        path = work / "pids"
        return [int(word) for word in path.read_text(encoding="utf-8").split()] if path.exists() else []

    until(lambda: len(pids()) == 4, what="all four")
    until(lambda: all(processes.state(pid) == "T" for pid in pids()), what="that all are stopped")
    killed = cli.ok("kill", job["job_id"], "--grace-ms", "200")
    assert (killed["state"], killed["survivors"]) == ("killed", [])
    assert not [pid for pid in pids() if processes.is_alive(pid)]


@pytest.mark.fault("F36")
def test_a_kill_after_a_kill_that_did_not_wait_is_answered_with_the_same_end(cli: Cli) -> None:
    job_id = cli.ok("run", "--snapshot-after", "0", "trap '' TERM; echo up; sleep 60 & wait; sleep 60")["job_id"]
    cli.ok("wait", job_id, "--until", "output", "--timeout-ms", "50s")
    first = cli.ok("kill", job_id, "--grace-ms", "60s", "--wait-ms", "0")
    assert first["state"] == "running" and first["survivors"]
    second = cli.ok("kill", job_id, "--signal", "KILL")
    third = cli.ok("kill", job_id)
    assert (second["state"], second["survivors"], second["reason"]) == ("killed", [], "kill")
    assert {name: third[name] for name in ("state", "exit_code", "reason")} == {
        name: second[name] for name in ("state", "exit_code", "reason")
    }


@pytest.fixture
def freezer() -> Iterator[Path]:
    path = FREEZER / f"outlive-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no process can be made unkillable here: {path}: {error.strerror}")
    yield path
    with contextlib.suppress(OSError):
        (path / "freezer.state").write_text("THAWED")
    until(lambda: not (path / "cgroup.procs").read_text(encoding="utf-8"), what="the end of what was frozen")
    path.rmdir()


@pytest.mark.fault("F39")
def test_what_takes_no_signal_is_named_as_a_survivor_and_ends_when_it_can(cli: Cli, work: Path, freezer: Path) -> None:
    script = f"(echo $$ > /dev/null; sh -c 'echo $$ > \"{freezer}/cgroup.procs\"; echo in > there; exec sleep 60') & wait; exit 1"
    job_id = cli.ok("run", "--snapshot-after", "0", script)["job_id"]
    until((work / "there").exists, what="the process in the freezer")
    (freezer / "freezer.state").write_text("FROZEN")
    until(lambda: (freezer / "freezer.state").read_text(encoding="utf-8").strip() == "FROZEN", what="the frost")
    (frozen,) = (int(word) for word in (freezer / "cgroup.procs").read_text(encoding="utf-8").split())
    killed = cli.ok("kill", job_id, "--grace-ms", "0", "--wait-ms", "500")
    assert killed["state"] == "killed", "the command itself could be ended"
    assert [(one["pid"], "sleep 60" in one["command"]) for one in killed["survivors"]] == [(frozen, True)]
    again = cli.ok("kill", job_id, "--grace-ms", "0", "--wait-ms", "100")
    assert [one["pid"] for one in again["survivors"]] == [frozen]
    (freezer / "freezer.state").write_text("THAWED")
    until(lambda: not processes.is_alive(frozen), what="its end")
    assert cli.ok("kill", job_id)["survivors"] == []
