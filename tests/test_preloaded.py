"""What tests start is the same whether it is forked from a process that has its code loaded, or started for real."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support import fake_ssh, pair, preloaded, processes
from support.cli import Cli, Jobs, configured
from support.fake_ssh import FakeSsh
from support.mcp_client import RawMcp
from support.wait import until

STATUS = (
    "Name", "Umask", "PPid", "Uid", "Gid", "Groups", "Threads", "SigBlk", "SigIgn", "SigCgt", "CapEff", "NoNewPrivs",
)  # fmt: skip
INTERNAL = 3 << 31  # the two signals of glibc, which its posix_spawn(3) lets a program ignore


def facts(pid: int) -> dict[str, Any]:
    """Return what can be seen of a process from outside, without what differs from one process to the next."""
    place = Path(f"/proc/{pid}")
    status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines() if ":\t" in line)
    stat = (place / "stat").read_text().rpartition(")")[2].split()
    environment = {word for word in (place / "environ").read_bytes().split(b"\0") if not word.startswith(b"PADDING=")}
    return {
        **{name: status[name] for name in STATUS},
        "SigIgn": int(status["SigIgn"], 16) & ~INTERNAL,
        "command line": processes.command_line(pid),
        "environment": environment - {b""},
        "program": os.readlink(place / "exe"),
        "directory": os.readlink(place / "cwd"),
        # Which number a file gets that it opened itself depends on what was open for a moment then
        "files": sorted((min(int(fd), 3), re.sub(r"\d+", "N", of)) for fd, of in processes.open_files(pid).items()),
        "leads": {name: stat[at] == str(pid) for name, at in (("group", 2), ("session", 3))},
        "nice": stat[16],
        "limits": (place / "limits").read_text(),
        "group": (place / "cgroup").read_text(),
    }


def differences(one: int, other: int) -> dict[str, tuple[Any, Any]]:
    """Return the facts that are not the same of two processes."""
    facts_of_one, facts_of_other = facts(one), facts(other)
    return {name: (fact, facts_of_other[name]) for name, fact in facts_of_one.items() if fact != facts_of_other[name]}


@pytest.mark.parametrize("session", [False, True])
def test_a_copy_is_what_a_real_start_is(
    cli: Cli, jobs: Jobs, work: Path, monkeypatch: pytest.MonkeyPatch, session: bool
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sleep 600")["job_id"]
    there = work / "there"
    there.mkdir()
    before = os.umask(0o027)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        started = []
        for allowed in (False, True):
            monkeypatch.setattr(preloaded, "allowed", allowed)
            how: dict[str, Any] = {"cwd": there, "start_new_session": session}
            started.append(cli.spawn("wait", job, "--timeout-ms", "600s", env={"SAME": "in both"}, **how))
    finally:
        os.umask(before)
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    real, copy = started
    with real, copy:
        try:
            until(lambda: len(facts(real.pid)["files"]) > 3, what="the wait of the real start")
            with suppress(AssertionError):  # the next lines show what differs
                until(lambda: differences(real.pid, copy.pid) == {}, what="the same facts")
            assert differences(real.pid, copy.pid) == {}
            assert len(facts(copy.pid)["environment"]) > 5
            cli.ok("kill", job)
            said = [call.communicate(timeout=60) for call in started]
        finally:
            for call in started:  # else a failure would be told when both have waited for the job in vain
                call.kill()
    assert [call.returncode for call in started] == [0, 0]
    assert said[0][1] == said[1][1] == b""
    assert b'"killed"' in said[0][0] and b'"killed"' in said[1][0]
    jobs.end()


def test_a_copy_is_ended_by_a_signal_and_waited_for_like_any_child(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sleep 600")["job_id"]
    for number in (signal.SIGKILL, signal.SIGTERM):
        with cli.spawn("wait", job) as call:
            call.send_signal(number)
            assert call.wait(60) == -number
    jobs.end()


@pytest.mark.usefixtures("copies")
def test_a_server_with_a_patch_is_what_a_real_start_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "sys.stderr.write(repr((sys.argv, sys.orig_argv, sys.path[0], __name__)))"
    words = [sys.executable, "-c", f"import sys; {told}; {preloaded.MAIN}", "serve", "--help"]
    asked: list[Any] = []
    real = preloaded.Preloaded.copy

    def copy(*how: Any) -> int | None:
        asked.append(how)
        return real(*how)

    monkeypatch.setattr(preloaded.Preloaded, "copy", copy)
    said = []
    for allowed in (False, True):
        monkeypatch.setattr(preloaded, "allowed", allowed)
        # Without `env` a real start has what readline adds for C alone: COLUMNS, where pytest runs tests itself
        done = subprocess.run(words, check=False, capture_output=True, timeout=60, env=dict(os.environ))
        said.append((done.returncode, done.stdout, done.stderr))
    assert len(asked) == 1
    assert said[0] == said[1]
    assert said[0][0] == 0 and b"'__main__'" in said[0][2]


@pytest.mark.usefixtures("copies")
def test_a_fork_server_and_its_jobs_are_what_real_starts_are(
    monkeypatch: pytest.MonkeyPatch, place: Path, work: Path
) -> None:
    before = os.umask(0o027)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with RawMcp(log=place / "copy.log") as one:
            monkeypatch.setattr(preloaded, "allowed", False)
            with RawMcp(log=place / "real.log") as other:
                jobs = [
                    server.start().call("exec", command="exec sleep 600", yield_ms=0)["job_id"]
                    for server in (one, other)
                ]
                servers = [pair.fork_server(job) for job in jobs]
                # A copy has a large environment, which is as empty
                is_copy = [len(Path(f"/proc/{pid}/environ").read_bytes()) > 4096 for pid in servers]
                assert is_copy == [True, False]
                assert differences(*servers) == {}
                for find in (pair.guardian, pair.supervisor):
                    assert differences(*map(find, jobs)).keys() <= {"PPid", "command line", "files"}
                for job in jobs:
                    other.call("process", action="remove", job_id=job)
    finally:
        os.umask(before)
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


@pytest.mark.usefixtures("copies")
def test_a_mirror_and_our_end_behind_it_are_what_real_starts_are(
    cli: Cli, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = FakeSsh(place, tmp_path / "carried")
    monkeypatch.setenv("FAKE_SSH", str(box.place))
    monkeypatch.setenv("PATH", f"{box.bin}:{os.environ['PATH']}")
    configured(place, f'[hosts.box]\nkind = "ssh"\ntarget = "box"\npython = "{sys.executable}"\n')
    jobs: list[str] = []
    ends: list[int] = []
    before = os.umask(0o027)
    try:
        for allowed in (False, True):
            monkeypatch.setattr(preloaded, "allowed", allowed)
            box.fork_what_is_unpacked()
            jobs.append(cli.ok("run", "--host", "box", "--snapshot-after", "0", "exec sleep 600")["job_id"])
            ends += until(lambda: _far_ends(place, but=ends), what="our end there")  # noqa: B023 - called at once
    finally:
        os.umask(before)
    mirrors = [_mirror(job) for job in jobs]
    try:
        assert differences(*mirrors).keys() <= {"command line", "files"}
        assert differences(*ends).keys() <= {"PPid", "files"}  # that by which the fork says how it ended
    finally:
        for job in jobs:
            cli.ok("remove", job)
    box.wait_empty()


def _mirror(job: str) -> int:
    pids = (pid for pid in processes.all_pids() if processes.name(pid) == "outmirror")
    return next(pid for pid in pids if job in " ".join(processes.command_line(pid)))


def _far_ends(place: Path, but: list[int]) -> list[int]:
    """Return the pids of our ends of connections."""
    return [pid for pid in processes.of(place) if processes.command_line(pid) == fake_ssh.ARGV and pid not in but]


def test_a_directory_that_is_not_there_is_refused(cli: Cli, work: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cli.spawn("--version", cwd=work / "none")


def _imports_are_told(cli: Cli) -> bool:
    """Return whether Python, told by its environment to do so, reports its imports: only a real start imports."""
    with cli.spawn("--version", env={"PYTHONPROFILEIMPORTTIME": "1"}) as call:
        return b"import time:" in call.communicate(timeout=60)[1]


@pytest.fixture
def copies() -> None:
    if not preloaded.allowed:
        pytest.skip("the option --real-starts: no start is a copy, and this test compares one")


@pytest.mark.usefixtures("copies")
def test_what_the_interpreter_is_told_by_its_environment_counts(cli: Cli) -> None:
    assert _imports_are_told(cli)


@pytest.mark.real_start
def test_a_marked_test_starts_for_real(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(preloaded.Preloaded, "copy", lambda *_: asked.append("a copy"))
    assert cli.text("--version").status == 0
    assert asked == []


@pytest.mark.usefixtures("copies")
def test_options_of_popen_that_a_copy_cannot_have_are_a_real_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(preloaded.Preloaded, "copy", lambda *_: asked.append("a copy"))
    words = [*preloaded.OUTLIVE, "--version"]
    for how in ({"umask": 0o077}, {"close_fds": False}, {"executable": preloaded.OUTLIVE[0]}):
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True, **how)
    assert asked == []
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    assert asked == ["a copy"]
