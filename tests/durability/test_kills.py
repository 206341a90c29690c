"""Whatever is killed, whenever: the job goes on, and not a line and not an exit code is lost or made up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.store import files
from outlive.system import process
from support import pair, processes
from support.cli import Cli, Jobs, Text, one_object
from support.mcp_client import RawMcp
from support.wait import until

CODE = 7  # what a counter ends with
KERNEL = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
# Counts on both streams until the file NAME.stop is there; then NAME.count tells how far it got.
COUNTER = f"""
import os, sys, time
name, n = sys.argv[1], 0
while not os.path.exists(name + ".stop"):
    n += 1
    os.write(1, b"out %d\\n" % n)
    os.write(2, b"err %d\\n" % n)
    time.sleep(0.001)
with open(name + ".count", "w") as file:
    file.write(str(n))
os._exit({CODE})
"""


def _counter(name: str) -> list[str]:
    return [sys.executable, "-c", COUNTER, name]


class Counting:
    """A job that counts, and the proof that nothing of it is missing."""

    def __init__(self, cli: Cli, work: Path, job: str, name: str) -> None:
        self.cli, self.work, self.job, self.name = cli, work, job, name
        self.stdout = cli.root / job / "stdout.log"

    @classmethod
    def start(cls, cli: Cli, work: Path, name: str = "c", *flags: str) -> Counting:
        job = cli.ok("run", "--snapshot-after", "0", *flags, "--", *_counter(name))["job_id"]
        found = cls(cli, work, job, name)
        found.grows()
        return found

    def grows(self) -> None:
        """The log takes in more than it holds now."""
        size = self.stdout.stat().st_size
        until(lambda: self.stdout.stat().st_size > size + 100, what="more output")

    def stop(self) -> None:
        (self.work / f"{self.name}.stop").touch()

    def count(self) -> int:
        path = self.work / f"{self.name}.count"
        until(lambda: path.exists() and path.read_text(encoding="utf-8"), what="the counter's own count")
        return int(path.read_text(encoding="utf-8"))

    def end(self) -> dict[str, Any]:
        self.stop()
        return self.cli.ok("wait", self.job, "--timeout-ms", "30s")

    def check_whole(self) -> None:
        count = self.count()
        out, err = (b"".join(b"%s %d\n" % (word, n) for n in range(1, count + 1)) for word in (b"out", b"err"))
        assert self.stdout.read_bytes() == out
        assert (self.stdout.parent / "stderr.log").read_bytes() == err
        merged = merged_output(self.cli, self.job).splitlines(keepends=True)
        assert len(merged) == 2 * count
        assert "".join(line for line in merged if line.startswith("out")).encode() == out
        assert "".join(line for line in merged if line.startswith("err")).encode() == err


def merged_output(cli: Cli, job: str) -> str:
    """The whole merged stream, read page by page along the cursor."""
    pieces, seq = [], 0
    while True:
        page = cli.ok("poll", job, "--since-seq", str(seq), "--max-bytes", "1048576", "--raw")
        assert page["truncated"] is False, "this helper is for jobs whose pages are not cut"
        if page["next_seq"] == seq:
            return "".join(pieces)
        pieces.append(page["output"])
        seq = page["next_seq"]


# --- the supervisor and its guardian -------------------------------------------------------------------------------


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
    _check_known_or_lost(counting.end())
    counting.check_whole()


def test_both_killed_at_once_cost_no_line_once_a_reader_looked(cli: Cli, work: Path) -> None:
    counting = Counting.start(cli, work)
    pair.end(pair.guardian(counting.job), pair.supervisor(counting.job))
    assert cli.ok("status", counting.job)["state"] == "running"
    counting.grows()
    assert pair.supervisor(counting.job)
    _check_known_or_lost(counting.end())
    counting.check_whole()


def test_both_killed_before_anybody_looks_leave_the_output_until_then_and_no_invented_code(
    cli: Cli, work: Path
) -> None:
    counting = Counting.start(cli, work)
    pair.end(pair.guardian(counting.job), pair.supervisor(counting.job))
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
    for _ in range(4):
        pair.end(pair.supervisor(counting.job))
        assert cli.ok("status", counting.job)["state"] == "running"
        until(lambda: pair.supervisor(counting.job), what="a new supervisor")
        counting.grows()
    _check_known_or_lost(counting.end())
    counting.check_whole()


def test_an_adopter_s_guardian_learns_the_code_as_the_adopter_does(cli: Cli, work: Path) -> None:
    found = []
    for name, kills in (("adopter", 0), ("guardian", 1)):
        counting = Counting.start(cli, work, name)
        pair.end(pair.guardian(counting.job), pair.supervisor(counting.job))
        assert cli.ok("status", counting.job)["state"] == "running"
        until(lambda job=counting.job: pair.supervisor(job), what="the adopter")
        for _ in range(kills):
            guardian = pair.guardian(counting.job)
            pair.end(pair.supervisor(counting.job))
            until(lambda job=counting.job: pair.supervisor(job), what="its guardian took over")
            assert pair.supervisor(counting.job) == guardian
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
        stdout, _ = waiting.communicate(timeout=30)
    found = one_object(Text(waiting.returncode, stdout.decode(), ""))
    assert (found["state"], found["exit_code"]) == ("exited", CODE)


def _check_known_or_lost(ended: dict[str, Any]) -> None:
    """Nobody is the command's parent any more: the kernel tells the code from 6.15 on, else it is lost, and said so."""
    told = (ended["state"], ended["reason"], ended["exit_code"])
    assert told in (("exited", "exit", CODE), ("failed", "lost", None)), told
    if KERNEL >= (6, 15):
        assert told[0] == "exited", f"this kernel ({os.uname().release}) keeps the code"


def test_a_supervisor_killed_while_it_lingers_loses_nothing_of_what_is_left_behind(
    cli: Cli, jobs: Jobs, work: Path
) -> None:
    late = "(until [ -e go ]; do sleep 0.02; done; echo late; echo later >&2; until [ -e end ]; do sleep 0.02; done) &"
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
    until(lambda: not pair.supervisor(job), what="the end of lingering")
    jobs.end()


@pytest.mark.parametrize("verb", ["kill", "remove"])
def test_what_a_job_left_behind_can_be_ended_when_both_were_killed(
    cli: Cli, jobs: Jobs, place: Path, verb: str
) -> None:
    job = cli.ok("run", "(sleep 60 &) ; echo hi")["job_id"]
    pair.end(pair.guardian(job), pair.supervisor(job))
    found = cli.ok(verb, job)
    if verb == "kill":
        assert (found["survivors"], found["state"], found["exit_code"]) == ([], "exited", 0)
    assert processes.wait_gone(place, 10) == {}
    jobs.end()


def test_a_supervisor_killed_while_a_grace_runs_still_sends_the_kill(cli: Cli) -> None:
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    job = cli.ok("run", "--snapshot-after", "0", stubborn)["job_id"]
    cli.ok("wait", job, "--until", "output", "--timeout-ms", "20s")
    cli.ok("kill", job, "--grace-ms", "1000", "--wait-ms", "0")
    pair.end(pair.supervisor(job))
    ended = cli.ok("wait", job, "--timeout-ms", "20s")
    assert (ended["state"], ended["signal"], ended["reason"]) == ("killed", "SIGKILL", "kill")
    assert cli.ok("status", job)["ended_by"]


def test_a_supervisor_killed_before_a_timeout_still_keeps_it(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--timeout", "1500", "echo ready; sleep 60")["job_id"]
    cli.ok("wait", job, "--until", "output", "--timeout-ms", "20s")
    pair.end(pair.supervisor(job))
    ended = cli.ok("wait", job, "--timeout-ms", "20s")
    assert (ended["state"], ended["reason"], ended["exit_code"]) == ("killed", "timeout", None)


def test_stdin_stays_open_when_its_supervisor_is_killed(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", "cat; echo end; exit 5")["job_id"]
    cli.ok("write", job, "--data", "before\n")
    pair.end(pair.supervisor(job))
    assert cli.ok("status", job)["state"] == "running"
    assert cli.ok("write", job, "--data", "after\n")["bytes_written"] == len("after\n")
    cli.ok("write", job, "--eof")
    ended = cli.ok("wait", job, "--timeout-ms", "20s")
    assert (ended["state"], ended["exit_code"]) == ("exited", 5)
    assert (cli.root / job / "stdout.log").read_bytes() == b"before\nafter\nend\n"


def test_stdin_that_was_closed_stays_closed_when_its_supervisor_is_killed(cli: Cli, work: Path) -> None:
    command = "cat; until [ -e go ]; do sleep 0.02; done"
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", command)["job_id"]
    cli.ok("write", job, "--data", "all\n", "--eof")
    pair.end(pair.supervisor(job))
    cli.error("write", job, "--data", "more\n", code="stdin_closed")
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "20s")["exit_code"] == 0
    assert (cli.root / job / "stdout.log").read_bytes() == b"all\n"


def test_a_supervisor_killed_while_it_starts_never_runs_a_command_twice_and_never_invents(
    cli: Cli, root: Path, work: Path
) -> None:
    for turn in range(15):
        mark = work / f"ran{turn}"
        command = f"echo x >> {mark}; sleep 0.02; echo one; echo two >&2; exit 5"
        before = set(_ids(root))
        with cli.spawn("run", "--snapshot-after", "0", command) as call:
            job = until(lambda before=before: set(_ids(root)) - before, what="the job's directory").pop()
            state = root / job / "state.json"
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                until(lambda state=state, call=call: state.exists() or call.poll() is not None, what="state.json")
                os.kill(json.loads(state.read_bytes())["supervisor"]["pid"], signal.SIGKILL)
            stdout, _ = call.communicate(timeout=60)
        answer = one_object(Text(call.returncode, stdout.decode(), ""))
        if not answer["ok"]:
            assert answer["error"]["code"] == "launch_failed"
            assert not mark.exists(), f"turn {turn}: the caller was told that nothing ran"
            continue
        found = cli.ok("wait", job, "--timeout-ms", "20s")
        runs = mark.read_text(encoding="utf-8").count("x") if mark.exists() else 0
        if found["state"] == "exited":
            assert (found["exit_code"], runs) == (5, 1), f"turn {turn}"
            assert (root / job / "stdout.log").read_bytes() == b"one\n"
            assert (root / job / "stderr.log").read_bytes() == b"two\n"
        else:
            assert (found["reason"], runs) == ("lost", 0), f"turn {turn}: {found}"


def _ids(root: Path) -> list[str]:
    return [name for name in os.listdir(root) if not name.startswith(".")] if root.exists() else []


# --- servers, nurseries and clients --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill", "kill_group", "kill_tree"])
def test_jobs_do_not_notice_the_end_of_their_server(
    raw_mcp: Callable[..., RawMcp], cli: Cli, work: Path, how: str
) -> None:
    server = raw_mcp()
    printing = Counting(cli, work, server.call("exec", command=_counter("c"), background=True)["job_id"], "c")
    silent_command = "until [ -e go ]; do sleep 0.02; done; exit 4"
    silent = server.call("exec", command=silent_command, background=True)["job_id"]
    printing.grows()
    fresh_command = "until [ -e go ]; do sleep 0.02; done; echo fresh; exit 6"
    fresh = server.call("exec", command=fresh_command, background=True)["job_id"]
    nursery = pair.nursery(silent)
    getattr(server, how)()
    printing.grows()
    for job in (printing.job, silent, fresh):
        assert cli.ok("status", job)["state"] == "running"
        assert "adopted" not in cli.ok("status", job), "not even its supervisor noticed"
    until(lambda: not processes.is_alive(nursery), what="the nursery's end after its server's")

    again = raw_mcp()
    listed = {job["job_id"] for job in again.call("process", action="list")["jobs"]}
    assert {printing.job, silent, fresh} <= listed, "the same client finds its jobs without being told an id"
    (work / "go").touch()
    printing.stop()
    for job, code in ((printing.job, CODE), (silent, 4), (fresh, 6)):
        ended = again.call("process", action="wait", job_id=job, timeout_ms=20_000)
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
    server.begin_call("exec", command="echo begun; until [ -e go ]; do sleep 0.02; done; exit 9", yield_ms=40_000)
    job = until(lambda: _ids(root), what="the job")[0]
    until((root / job / "stdout.log").read_bytes, what="its output")
    server.kill_tree()
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "20s")
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 9, "begun\n")


def test_a_killed_nursery_is_replaced_and_its_jobs_go_on(raw_mcp: Callable[..., RawMcp], cli: Cli, work: Path) -> None:
    server = raw_mcp()
    counting = Counting(cli, work, server.call("exec", command=_counter("c"), background=True)["job_id"], "c")
    counting.grows()
    nursery = pair.nursery(counting.job)
    for turn in range(3):
        pair.end(nursery)
        found = server.call("exec", command=f"echo {turn}; exit {turn}")
        assert not found.is_error
        assert (found["exit_code"], found["output"]) == (turn, f"{turn}\n")
        other = server.call("exec", command="sleep 60", background=True)["job_id"]
        nursery = pair.nursery(other)
        server.call("process", action="remove", job_id=other)
    counting.grows()
    ended = counting.end()
    assert (ended["state"], ended["exit_code"]) == ("exited", CODE)
    counting.check_whole()
    assert "adopted" not in cli.ok("status", counting.job)
    server.close_stdin()
    server.wait()
    until(lambda: not processes.is_alive(nursery), what="the nursery's end after its server's")


def test_a_nursery_ends_when_its_server_ends_in_good_order(raw_mcp: Callable[..., RawMcp]) -> None:
    server = raw_mcp()
    job = server.call("exec", command="sleep 60", background=True)["job_id"]
    nursery = pair.nursery(job)
    spares = {pid for pid in processes.descendants(nursery) if not _belongs(pid, job)}
    server.call("process", action="remove", job_id=job)
    server.close_stdin()
    assert server.wait() == 0
    for pid in {nursery, *spares}:
        until(lambda pid=pid: not processes.is_alive(pid), what=f"the end of {pid}")


def _belongs(pid: int, job: str) -> bool:
    supervisor = pair.supervisor(job)
    return pid in {supervisor, processes.parent(supervisor)} | processes.descendants(supervisor)


def test_a_killed_command_line_that_waited_leaves_its_job_alone(cli: Cli, root: Path, work: Path) -> None:
    with cli.spawn("run", "--wait", "--", *_counter("c"), start_new_session=True) as call:
        job = until(lambda: _ids(root), what="the job")[0]
        counting = Counting(cli, work, job, "c")
        counting.grows()
        for pid in [call.pid, *processes.descendants(call.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(call.pid, signal.SIGKILL)
        assert call.wait(20) == -signal.SIGKILL
        call.communicate()
    counting.grows()
    ended = counting.end()
    assert (ended["state"], ended["exit_code"]) == ("exited", CODE)
    counting.check_whole()


# --- the process table ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", ["cli", "mcp"])
def test_no_pattern_ends_them_all_and_no_secret_shows(
    raw_mcp: Callable[..., RawMcp], cli: Cli, jobs: Jobs, root: Path, face: str
) -> None:
    secret, outer = "s3cr3t-of-the-job", "s3cr3t-of-the-server"
    server = raw_mcp(env={"OUTER_TOKEN": outer})
    if face == "mcp":
        job = server.call("exec", command="sleep 60", background=True, env={"TOKEN": secret}, mask=["TOKEN"])["job_id"]
    else:
        flags = ("--snapshot-after", "0", "--env", f"TOKEN={secret}", "--mask", "TOKEN")
        job = cli.ok("run", *flags, "sleep 60", env={"OUTER_TOKEN": outer})["job_id"]
    ours = {"supervisor": pair.supervisor(job), "guardian": pair.guardian(job)}
    if face == "mcp":
        ours["nursery"] = pair.nursery(job)
    shown = {name: f"{pair.comm(pid)} {' '.join(processes.command_line(pid))}" for name, pid in ours.items()}
    shown["server"] = " ".join(processes.command_line(server.pid))
    for name, pid in ours.items():
        assert "python" not in shown[name].lower(), shown
        assert not Path(f"/proc/{pid}/environ").read_bytes().strip(b"\0"), f"the environment of the {name}"
        assert secret not in shown[name] and outer not in shown[name]
    for name, line in shown.items():
        for word in set(re.findall(r"[\w.-]{3,}", line)) - {job}:
            others = {other: text for other, text in shown.items() if other != name and word in text}
            assert not others, f"{word!r} of the {name} is found in {others}"
    for path in root.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
            assert outer.encode() not in path.read_bytes(), path
    jobs.end()


# --- a job inside a job --------------------------------------------------------------------------------------------

INNER = "run --snapshot-after 0 --title inner"


def _nested(cli: Cli, rest: str) -> tuple[str, str]:
    """(outer, inner): the inner job was started by the outer one's command, which goes on with `rest`."""
    inner = f"{sys.executable} -m outlive {INNER} 'echo in; until [ -e go ]; do sleep 0.02; done; echo done; exit 8'"
    outer = cli.ok("run", "--snapshot-after", "0", f"{inner} && {rest}")["job_id"]
    found = until(
        lambda: [job["job_id"] for job in cli.ok("list", "--all")["jobs"] if job["name"] == "inner"],
        what="the inner job",
    )
    return outer, found[0]


def test_a_job_started_inside_a_job_survives_the_kill_of_the_outer_one(cli: Cli, work: Path) -> None:
    outer, inner = _nested(cli, "sleep 60")
    cli.ok("wait", inner, "--until", "output", "--timeout-ms", "20s")
    killed = cli.ok("kill", outer)
    assert (killed["state"], killed["reason"], killed["survivors"]) == ("killed", "kill", [])
    until(lambda: not pair.supervisor(outer), what="the end of the outer supervisor")
    assert cli.ok("status", inner)["state"] == "running"
    assert pair.supervisor(inner)
    (work / "go").touch()
    ended = cli.ok("wait", inner, "--timeout-ms", "20s")
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 8, "in\ndone\n")


def test_a_job_started_inside_a_job_does_not_keep_the_outer_one_lingering(cli: Cli, work: Path) -> None:
    outer, inner = _nested(cli, "exit 2")
    ended = cli.ok("wait", outer, "--timeout-ms", "20s")
    assert (ended["exit_code"], ended["descendants"]) == (2, 0)
    until(lambda: not pair.supervisor(outer), what="the end of the outer supervisor")
    assert cli.ok("status", inner)["state"] == "running"
    (work / "go").touch()
    assert cli.ok("wait", inner, "--timeout-ms", "20s")["exit_code"] == 8


def test_the_supervisors_of_both_may_be_killed(cli: Cli, work: Path) -> None:
    outer, inner = _nested(cli, "until [ -e go ]; do sleep 0.02; done; exit 2")
    pair.end(pair.supervisor(outer))
    pair.end(pair.supervisor(inner))
    for job in (outer, inner):
        assert cli.ok("status", job)["state"] == "running"
    (work / "go").touch()
    assert cli.ok("wait", outer, "--timeout-ms", "20s")["exit_code"] == 2
    assert cli.ok("wait", inner, "--timeout-ms", "20s")["exit_code"] == 8
    until(lambda: not pair.supervisor(outer) and not pair.supervisor(inner), what="the end of both supervisors")


# --- what a reader finds -------------------------------------------------------------------------------------------


def _make_running(root: Path, job: str, **changes: Any) -> None:
    """Rewrite a finished job's record as that of one whose supervisors vanished while it ran."""
    path = root / job / "state.json"
    until(lambda: not pair.supervisor(job), what="the supervisor's end")
    found = files.load(path.read_bytes())
    found |= {"state": "running", "phase": "running", "exit_code": None, "reason": None}
    found |= {"finished_at": None, "duration_ms": None} | changes
    path.write_bytes(files.dump(found))


def _gone(root: Path, job: str) -> dict[str, Any]:
    """An identity that no process has."""
    found: dict[str, Any] = files.load((root / job / "state.json").read_bytes())["identity"]
    return {"identity": {**found, "start_time": 1}}


def test_after_a_reboot_a_job_that_ran_has_failed_for_that_reason(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "echo kept")["job_id"]
    other = "00000000-1111-2222-3333-444444444444"
    identity = {**process.identity(os.getpid()), "boot_id": other}  # its pid is somebody else's now
    _make_running(root, job, boot_id=other, identity=identity, pid=os.getpid())
    for _ in range(2):
        found = cli.ok("status", job)
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "reboot", None)
        assert found["finished_at"]
    assert cli.ok("list", "--all")["jobs"][0]["reason"] == "reboot"
    assert cli.ok("log", job)["output"] == "kept\n"
    assert cli.ok("wait", job, "--timeout-ms", "5s")["reason"] == "reboot"


def test_a_job_whose_launcher_died_never_ran_and_is_never_run(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("create", f"touch {work}/ran")["job_id"]
    (root / job / "state.json").unlink()
    for _ in range(2):
        found = cli.ok("status", job)
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "launch", None)
    assert cli.ok("list", "--all")["jobs"][0]["reason"] == "launch"
    cli.error("start", job, code="invalid_state")
    assert not (work / "ran").exists()
    cli.ok("clear", job)


@pytest.mark.parametrize("verb", ["status", "poll", "wait", "list", "log", "tail"])
def test_an_end_found_by_a_reader_is_notified_once(cli: Cli, root: Path, work: Path, verb: str) -> None:
    sink = work / "ends"
    job = cli.ok("run", "--notify-file", str(sink), "true")["job_id"]
    until(sink.exists, what="the first notification")
    _make_running(root, job, **_gone(root, job))
    sink.unlink()
    (root / job / "completion_event.json").unlink()
    words = ("list", "--all") if verb == "list" else (verb, job)
    _at_once(cli, [words] * 3)
    found = cli.ok("status", job)
    assert (found["state"], found["reason"]) == ("failed", "lost")
    event = root / job / "completion_event.json"
    until(lambda: event.exists() and json.loads(event.read_bytes())["delivered"], timeout=10, what="the notification")
    cli.ok("status", job)
    until(lambda: not pair.supervisor(job), what="the end of who told it")
    lines = [json.loads(line) for line in sink.read_text(encoding="utf-8").splitlines()]
    assert [(line["event_type"], line["job_id"], line["state"], line["reason"]) for line in lines] == [
        ("job.finished", job, "failed", "lost")
    ]


def test_the_end_of_a_job_that_lost_both_is_notified_once(cli: Cli, work: Path) -> None:
    sink = work / "ends"
    counting = Counting.start(cli, work, "c", "--notify-file", str(sink))
    pair.end(pair.guardian(counting.job), pair.supervisor(counting.job))
    _at_once(cli, [("status", counting.job)] * 4)
    counting.end()
    until(lambda: not pair.supervisor(counting.job), what="the supervisor's end")
    assert len(sink.read_text(encoding="utf-8").splitlines()) == 1
    counting.check_whole()


def _at_once(cli: Cli, calls: list[tuple[str, ...]]) -> None:
    """Several readers at the same time, all answered."""
    running: list[subprocess.Popen[bytes]] = [cli.spawn(*words) for words in calls]
    for call in running:
        with call:
            stdout, stderr = call.communicate(timeout=60)
        assert call.returncode == 0, (stdout, stderr)


def test_a_copy_of_a_finished_job_tells_what_the_job_tells(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "echo kept; exit 3")["job_id"]
    until(lambda: not pair.supervisor(job), what="the supervisor's end")
    copy = f"00000000{job[8:]}"
    shutil.copytree(root / job, root / copy)
    found = cli.ok("log", copy)
    assert (found["job_id"], found["output"]) == (copy, "kept\n")
    assert cli.ok("status", copy)["exit_code"] == 3
