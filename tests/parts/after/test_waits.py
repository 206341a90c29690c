"""What a job waits for is looked at by a process of its own: what starts it, what ends it, and what of that survives."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.parts.after.in_supervisor import AfterOthers
from outlive.supervisor.added import Waiting
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.request import Request
from support import pair, processes
from support.cli import Cli
from support.jobs import rewrite
from support.wait import until

GATE = "until [ -e {gate} ]; do sleep 0.02; done; exit {code}"


@pytest.fixture
def after(cli: Cli) -> Callable[..., str]:
    """`after(*edges, command=…)` starts a job that waits for these, and returns its id."""

    def started(*edges: dict[str, Any], command: str = "echo run >> ran; exit 5") -> str:
        job = cli.ok("create", command)["job_id"]
        rewrite(cli.root / job / "meta.json", after=[*edges])
        answer = cli.ok("start", job, "--snapshot-after", "0")
        assert answer["state"] == "created"
        return str(job)

    return started


@pytest.fixture
def first(cli: Cli) -> Callable[..., str]:
    """`first(code)` starts a job that ends with this code once the file `gate` is there, and returns its id."""

    def started(code: int = 0, gate: str = "gate") -> str:
        return str(cli.ok("run", "--snapshot-after", "0", GATE.format(gate=gate, code=code))["job_id"])

    return started


def runs() -> str:
    return Path("ran").read_text(encoding="utf-8") if Path("ran").exists() else ""


def looker(job: str) -> int:
    """Return the pid of the process that looks at what a job waits for."""
    supervisor = pair.supervisor(job)
    return int(until(lambda: next(iter(processes.descendants(supervisor)), 0), what="the process that looks"))


def test_a_job_starts_when_another_one_has_ended_well(
    cli: Cli, after: Callable[..., str], first: Callable[..., str]
) -> None:
    job = after({"job": first(), "exit": 0})
    Path("gate").touch()
    assert cli.ok("wait", job)["exit_code"] == 5
    assert runs() == "run\n"


@pytest.mark.parametrize("code", [0, 3])
def test_one_that_ended_before_counts_too(code: int, cli: Cli, after: Callable[..., str]) -> None:
    done = cli.ok("run", "--wait", f"exit {code}")["job_id"]
    ended = cli.ok("wait", after({"job": done, "exit": 3}))
    assert ended["reason"] == ("exit" if code == 3 else "dependency")


def test_a_job_that_can_never_start_fails_and_says_why(
    cli: Cli, after: Callable[..., str], first: Callable[..., str]
) -> None:
    other, slow = first(3), first(0, "other")
    job = after({"job": slow, "exit": 0}, {"job": other, "exit": 0})
    Path("gate").touch()
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "dependency"), "it does not wait for the slow one"
    message = cli.ok("status", job)["message"]
    assert "to exit with 0, and that exited with code 3" in message
    assert other[-8:] in message
    Path("other").touch()
    assert runs() == ""


def test_the_deletion_of_what_is_waited_for_ends_it(
    cli: Cli, after: Callable[..., str], first: Callable[..., str]
) -> None:
    other = first()
    job = after({"job": other, "exit": 0})
    looker(job)
    cli.ok("remove", other)
    ended = cli.ok("wait", job)
    assert ended["reason"] == "dependency"


def test_every_condition_of_a_wait_can_be_waited_for(cli: Cli, after: Callable[..., str]) -> None:
    other = cli.ok(
        "run", "--snapshot-after", "0", "echo starting; until [ -e gate ]; do sleep 0.02; done; echo ready; sleep 600"
    )
    job = after(
        {"job": other["job_id"], "until": [{"regex": "^ready$"}]}, {"job": other["job_id"], "until": ["file=made"]}
    )
    Path("gate").touch()
    until(lambda: cli.ok("status", job)["state"] == "created", what="a look")
    Path("made").touch()
    assert cli.ok("wait", job)["exit_code"] == 5
    cli.ok("kill", other["job_id"])


def test_a_condition_that_can_never_come_true_says_so(
    cli: Cli, after: Callable[..., str], first: Callable[..., str]
) -> None:
    job = after({"job": first(), "until": ["regex=ready"]})
    Path("gate").touch()
    assert cli.ok("wait", job)["reason"] == "dependency"
    assert "The job ended before regex came true." in cli.ok("status", job)["message"]


def test_a_chain_runs_in_its_order(cli: Cli, after: Callable[..., str], first: Callable[..., str]) -> None:
    jobs = [first()]
    for number in range(4):
        jobs.append(after({"job": jobs[-1], "exit": 0}, command=f"echo {number} >> ran"))
    Path("gate").touch()
    assert cli.ok("wait", jobs[-1])["exit_code"] == 0
    assert runs() == "0\n1\n2\n3\n"


@pytest.mark.parametrize("which", ["looker", "supervisor", "both", "all"])
@pytest.mark.parametrize("code", [0, 3])
def test_it_waits_on_whichever_process_is_killed(
    which: str, code: int, cli: Cli, after: Callable[..., str], first: Callable[..., str]
) -> None:
    job = after({"job": first(code), "exit": 0})
    looks, supervisor = looker(job), pair.supervisor(job)
    if which == "looker":
        os.kill(looks, signal.SIGKILL)
    elif which == "supervisor":
        pair.end(supervisor)
    else:
        pair.end_both(supervisor)
    until(lambda: not processes.is_alive(looks), what="the end of the process that looked")
    Path("gate").touch()
    if which == "all":
        assert cli.ok("list", "--all")["jobs"]  # no look at this one alone
    ended = cli.ok("wait", job)
    assert ended["reason"] == ("exit" if code == 0 else "dependency")
    assert runs() == ("run\n" if code == 0 else "")


def test_what_keeps_a_process_from_looking_stands_among_the_faults_of_the_job(
    cli: Cli, work: Path, place: Path
) -> None:
    config = place / "config.toml"
    config.write_text("", encoding="utf-8")
    env: dict[str, str | None] = {"OUTLIVE_CONFIG": str(config)}
    first = cli.ok("run", "--snapshot-after", "0", GATE.format(gate="gate", code=0))["job_id"]
    job = cli.ok("run", "--snapshot-after", "0", "--after", first, "exit 5", env=env)["job_id"]
    looks = looker(job)
    config.write_text("[nonsense", encoding="utf-8")
    os.kill(looks, signal.SIGKILL)
    until(lambda: any("config.toml, line 1" in str(one) for one in faults(cli, job)), what="a fault")
    config.write_text("", encoding="utf-8")
    (work / "gate").touch()
    assert cli.ok("wait", job)["exit_code"] == 5


def faults(cli: Cli, job: str) -> list[object]:
    found: list[object] = cli.ok("status", job).get("faults", [])
    return found


def test_a_process_that_cannot_be_started_leaves_no_file_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_words: object, **_how: object) -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    failed: list[str] = []
    monkeypatch.setattr(os, "posix_spawn", refused)
    waits = AfterOthers(Definition(kept={"after": [{"job": new_id(), "exit": 0}]}))
    loop = EventLoop()
    waiting = Waiting(loop, Request(), State, lambda *_: None, loop.stop, lambda _, why: failed.append(why))
    open_files = len(os.listdir("/proc/self/fd"))
    assert waits.wait(waiting)
    for _ in range(10):
        waits._start()
    waits.end_wait()
    assert len(os.listdir("/proc/self/fd")) == open_files
    assert failed == ["10 processes in a row that look at what it waits for ended without an answer"]
    loop.close()
