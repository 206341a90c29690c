"""A server's pairs take one job after the other: nothing of one may reach the next, and any of them may die in between."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.launch import fork_server
from outlive.supervisor import pair_supervisor
from outlive.supervisor.fork_protocol import FREE, LEND, PREPARE, Pair
from outlive.supervisor.job_fds import Escrow
from outlive.system import fault_points, fds, prctl, signals, tree
from support import pair, processes
from support.cli import Cli
from support.jobs import UNASKED
from support.mcp_client import RawMcp
from support.tiers import first
from support.wait import until


def supervisor_of(root: Path, job: str) -> int:
    """Who supervised a job, also when it is over."""
    found: int = json.loads((root / job / "state.json").read_bytes())["supervisor"]["pid"]
    return found


def is_let_go(root: Path, job: str) -> bool:
    return not (root / job / ".io").exists()


def waits(pid: int) -> bool:
    """Does this supervisor wait for a job? Its name in the process table has no job then."""
    return pair.comm(pid) == pair.SUPERVISOR and " ".join(processes.command_line(pid)).split() == [pair.SUPERVISOR]


class Server:
    """A server; `supervisor` has ended its first job and waits for another one."""

    def __init__(self, mcp: RawMcp, root: Path) -> None:
        self.mcp = mcp
        self.root = root
        self.job = self.run("true")
        self.supervisor = self.settled(self.job)
        self.guardian = processes.parent(self.supervisor)

    def run(self, command: str, **given: Any) -> str:
        """A job that has ended with 0."""
        found = self.mcp.call("exec", command=command, **given)
        assert (found["state"], found["exit_code"]) == ("exited", 0), found.text
        job: str = found["job_id"]
        return job

    def settled(self, job: str) -> int:
        """Its supervisor, when that waits for another one or has ended."""
        until(lambda: is_let_go(self.root, job), what="the end of all that was the job's")
        supervisor = supervisor_of(self.root, job)
        until(lambda: waits(supervisor) or not processes.is_alive(supervisor), what="the end of its work")
        return supervisor

    def again(self, command: str = "true", **given: Any) -> str:
        """Start a job whose supervisor had another job before. Any of the supervisors that wait may take it."""
        found: list[str] = []
        known = {self.supervisor}

        def run() -> bool:
            found.append(self.run(command, **given))
            taken = self.settled(found[-1])
            before = taken in known
            known.add(taken)
            return before

        until(run, what="a second job of the same supervisor")
        return found[-1]

    def output(self, job: str) -> str:
        return (self.root / job / "stdout.log").read_text(encoding="utf-8")


@pytest.fixture
def server(raw_mcp: Callable[..., RawMcp], root: Path) -> Server:
    return Server(raw_mcp(env=UNASKED), root)  # a pair that has deleted jobs takes no other


# --- one job after the other ----------------------------------------------------------------------------------------


def test_a_pair_takes_the_next_job_and_keeps_no_file_of_the_last(server: Server) -> None:
    first = _at_rest(server.supervisor)
    for _ in range(3):
        job = server.again("echo out; echo err >&2")
        assert server.output(job) == "out\n"
        assert _at_rest(server.settled(job)) == first


def _at_rest(supervisor: int) -> list[int]:
    """How many files it and its guardian have open: a few lines, and /dev/null. No process is below it."""
    guardian = processes.parent(supervisor)

    def counts() -> list[int]:
        try:
            found = [
                [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
                for pid in (supervisor, guardian)
            ]
        except FileNotFoundError:  # closed since it was listed: look again
            return []
        others = [one for files in found for one in files if one != "/dev/null" and not one.startswith("socket:")]
        return [] if others else [len(files) for files in found]

    assert (tree.children(supervisor), tree.children(guardian)) == ([], [supervisor])
    return until(counts, what="nothing else open")


ASK = """umask; ulimit -n; pwd; ls /proc/self/fd | tr '\\n' ' '; echo "[$LEFT]"; grep -e SigIgn -e SigBlk /proc/self/status"""


def test_nothing_of_a_job_reaches_the_next_one(server: Server, work: Path) -> None:
    told = server.output(server.again(ASK))
    (work / "elsewhere").mkdir()
    loud = "umask 007; ulimit -n 99; cd /; exec 9> /dev/null; trap '' TERM HUP; echo $LEFT"
    assert server.output(server.again(loud, env={"LEFT": "here"}, workdir=str(work / "elsewhere"))) == "here\n"
    assert server.output(server.again(ASK)) == told
    assert "[]" in told


@pytest.mark.parametrize("given", first(1, [{"notify_file": "told"}, {"pty": True}, {"watch": ["ready"]}]), ids=str)
def test_a_pair_whose_job_was_no_plain_one_ends_with_it(server: Server, given: dict[str, Any]) -> None:
    job = server.run("echo ready", **given)
    assert not processes.is_alive(server.settled(job))
    assert server.output(server.run("echo next")) == "next\n"


def test_a_pair_is_not_free_before_what_its_job_left_behind_has_ended(server: Server) -> None:
    job = server.run("sleep 300 > /dev/null 2>&1 & true")
    busy = supervisor_of(server.root, job)
    for _ in range(3):
        assert supervisor_of(server.root, server.run("true")) != busy
    assert not is_let_go(server.root, job)
    server.mcp.call("process", action="kill", job_id=job)
    assert server.settled(job) == busy


class Lines:
    """What a supervisor is reached by, in this process, and the one that has it."""

    def __init__(self) -> None:
        self.guardian, guard = fds.pair()
        self.supervisor, sock = fds.pair()
        self.line, line = fds.pair()
        escrow = Escrow()
        queues = (one for queue in (escrow, escrow.stdin) for one in (queue._in, queue._out))
        self._all = (self.guardian, guard, self.supervisor, sock, self.line, line, *queues)
        self.guard, self.sock = guard, sock
        self.pair_supervisor = pair_supervisor.PairSupervisor(sock, guard, line, escrow)

    def close(self) -> None:
        for one in self._all:
            one.close()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """The lines of one that sees its jobs through without doing anything, and closes no file of this process."""
    for name, stand_in in {"_see_through": True, "_keep_house": False, "_let_go": None}.items():
        monkeypatch.setattr(pair_supervisor.PairSupervisor, name, lambda *_, found=stand_in: found)
    monkeypatch.setattr(signals, "survive", lambda _: None)
    monkeypatch.setattr(prctl, "become_subreaper", lambda: None)
    monkeypatch.setattr(tree, "children", lambda _: [])
    with contextlib.closing(Lines()) as found:
        yield found


def test_a_pair_that_has_had_many_jobs_ends(monkeypatch: pytest.MonkeyPatch, lines: Lines) -> None:
    """No leak of any library may grow for weeks. It never says that it is free and then is not there."""
    monkeypatch.setattr(pair_supervisor, "PAIR_JOBS", 3)
    for _ in range(5):
        fds.send(lines.supervisor, b"job")
    assert lines.pair_supervisor.run(lasting=True) == 0
    lines.guard.close()
    assert [fds.receive(lines.guardian, 16)[0] for _ in range(3)] == [FREE, FREE, b""]


def test_a_pair_that_waits_for_long_ends_and_a_launcher_that_gives_it_a_job_is_told(
    monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    monkeypatch.setattr(pair_supervisor, "PAIR_IDLE_S", 0.0)
    fds.send(lines.supervisor, b"job")
    assert lines.pair_supervisor.run(lasting=True) == 0
    assert Pair(lines.guardian, lines.supervisor).is_free()
    with pytest.raises(BrokenPipeError):
        fds.send(lines.guardian, b"request")


@pytest.mark.parametrize("first", ["job", "death"])
def test_a_job_that_was_sent_to_both_is_seen_through_though_the_guardian_is_killed_at_once(
    lines: Lines, first: str
) -> None:
    """Its supervisor may learn of the death before it learns of the job."""
    fds.send(lines.guardian, b"request")
    later = threading.Timer(0.2, fds.send, (lines.supervisor, b"job"))
    lines.line.close()
    later.start() if first == "death" else fds.send(lines.supervisor, b"job")
    assert lines.pair_supervisor._next(None) == (b"job", [])
    later.cancel()


def test_a_pair_whose_guardian_was_killed_while_it_waited_takes_no_job(lines: Lines) -> None:
    lines.line.close()
    assert lines.pair_supervisor._next(None) == (b"", [])
    with pytest.raises(BrokenPipeError):
        fds.send(lines.guardian, b"request")


def test_a_job_that_is_sent_in_the_moment_a_pair_stops_to_wait_is_seen_through(
    monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    monkeypatch.setattr(pair_supervisor, "ready", lambda *_: [])  # the wait is over, and then it comes
    fds.send(lines.guardian, b"request")
    fds.send(lines.supervisor, b"job")
    assert lines.pair_supervisor._next(0.0) == (b"job", [])


def test_a_launcher_that_is_killed_between_its_two_messages_starts_nothing(lines: Lines) -> None:
    fds.send(lines.guardian, b"request")
    lines.supervisor.close()
    assert lines.pair_supervisor._next(0.0) == (b"", [])


def test_a_server_that_asks_for_a_pair_to_use_again_is_answered_though_there_is_none() -> None:
    """Else it would wait for that answer for ever, and ask for fewer and fewer."""
    (server, lender), pair_ = fds.pair(), fds.pair()
    with pytest.raises(BlockingIOError):
        Pair.borrowed(server)
    fork_server._lend(None, [LEND], lender)
    fork_server._lend(None, [], lender)
    fork_server._lend(Pair(*pair_), [LEND], lender)
    assert Pair.borrowed(server) is None
    found = Pair.borrowed(server)
    assert found is not None
    with pytest.raises(BlockingIOError):
        Pair.borrowed(server)
    found.close()
    lender.close()
    with pytest.raises(ConnectionResetError):
        Pair.borrowed(server)
    for one in (server, *pair_):
        one.close()


def _switches(pid: int) -> list[str]:
    """How often a process was put on a core, and taken off it (proc_pid_status(5))."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return [line for line in status if "ctxt_switches" in line]


def test_from_the_start_to_the_end_of_a_job_nothing_wakes_its_guardian(server: Server) -> None:
    until(lambda: processes.state(server.guardian) == "S", what="its sleep")
    before, jobs = _switches(server.guardian), 0
    # All code that each may need is loaded before the fork
    kinds: list[dict[str, Any]] = [{}, {"env": {"NAME": "value"}}, {"stdin": "open"}, {"mask": ["HOME"]}]
    while jobs < len(kinds):
        job = server.run("echo out; echo err >&2", **kinds[jobs])
        jobs += server.settled(job) == server.supervisor
    assert _switches(server.guardian) == before


def test_a_start_does_not_wait_for_a_guardian_that_is_stopped(lines: Lines) -> None:
    """It reads nothing, and its socket takes ten messages."""
    lines.line.setblocking(False)
    for _ in range(50):
        lines.pair_supervisor._tell_guardian(lines.sock.fileno())
    message, (number,) = fds.receive(lines.line, 16)
    os.close(number)
    assert message == PREPARE


# --- deaths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [point for point in fault_points.POINTS if point.startswith("free_")])
def test_a_death_between_two_jobs_costs_neither(
    cli: Cli, raw_mcp: Callable[..., RawMcp], root: Path, work: Path, point: str
) -> None:
    server = raw_mcp(env={**UNASKED, fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")})
    for turn in range(3):
        found = server.call("exec", command=f"echo run {turn} >> ran; echo {turn}")
        assert (found["exit_code"], found["output"]) == (0, f"{turn}\n")
        until(lambda turn=turn: (work / "crashes").exists() and _deaths(work) > turn, what="a death")
        status = cli.ok("status", found["job_id"])
        assert (status["state"], status["exit_code"], "adopted" in status) == ("exited", 0, False)
    assert (work / "ran").read_text().split() == "run 0 run 1 run 2".split()
    server.close_stdin()
    server.wait()
    # A traceback of a successor would stand there too
    assert set((work / "crashes").read_text().splitlines()) == {point}


def _deaths(work: Path) -> int:
    return len((work / "crashes").read_text().split())


@pytest.mark.parametrize("who", first(1, ["both", "guardian", "supervisor"]))
def test_a_pair_that_was_killed_while_it_waited_costs_no_start_and_runs_none_twice(
    server: Server, work: Path, who: str
) -> None:
    dead = {"guardian": [server.guardian], "supervisor": [server.supervisor]}
    pair.end(*dead.get(who, [server.guardian, server.supervisor]))
    for turn in range(3):
        assert server.output(server.run(f"echo run >> ran; echo {turn}")) == f"{turn}\n"
    assert (work / "ran").read_text().split() == ["run"] * 3
    until(lambda: not processes.is_alive(server.supervisor), what="its end: without a guardian it takes no job")


def _living_supervisor(guardian: int) -> int:
    below = [pid for pid in tree.children(guardian) if pair.comm(pid) == pair.SUPERVISOR and processes.is_alive(pid)]
    return below[0] if below else 0


@pytest.mark.fault("F76")
def test_a_fork_server_that_was_killed_comes_back_with_the_next_start(raw_mcp: Callable[..., RawMcp]) -> None:
    """A pair that waits would take every start, and no caller would notice."""
    server = raw_mcp()
    held = server.call("exec", command="sleep 600", yield_ms=0)["job_id"]
    old = pair.fork_server(held)
    assert server.call("exec", command="exit 3")["exit_code"] == 3  # its pair waits for the next job
    pair.end(old)
    assert server.call("exec", command="exit 4")["exit_code"] == 4
    until(lambda: "Z" not in map(processes.state, tree.children(server.pid)), what="no zombie below the server")
    started = [held]

    def is_from_another() -> bool:  # pairs that the old one lent may take some starts first
        started.append(server.call("exec", command="sleep 600", yield_ms=0)["job_id"])
        above = processes.parent(pair.guardian(started[-1]))
        return pair.comm(above) == pair.FORK_SERVER and above != old

    until(is_from_another, what="a start by another fork server")
    for job in started:
        server.call("process", action="kill", job_id=job)


@pytest.mark.slow
def test_kills_at_random_moments_of_many_jobs_of_one_server_lose_none_and_run_none_twice(
    raw_mcp: Callable[..., RawMcp], root: Path, work: Path
) -> None:
    """In a job, between two, and while another one is forked; of no pair both."""
    server = raw_mcp()
    held = server.call("exec", command="sleep 600", yield_ms=0)["job_id"]
    fork_server = pair.fork_server(held)
    chance, over, kills = random.Random(1), threading.Event(), Counter[str]()
    # A command that is not executed yet has the name of the supervisor that forked it, and becomes a child of the
    # guardian when that supervisor is killed: it must not be taken for a supervisor, and its guardian for one of two
    supervisors: dict[int, int] = {}

    def kill() -> None:
        while not over.wait(chance.uniform(0.005, 0.06)):
            guardians = [pid for pid in tree.children(fork_server) if pair.comm(pid) == pair.GUARDIAN]
            whole = {above: below for above in guardians if (below := _living_supervisor(above))}
            whole = {above: below for above, below in whole.items() if supervisors.setdefault(above, below) == below}
            if not whole:
                continue
            pid = chance.choice([*whole.keys(), *whole.values()])
            kills[pair.comm(pid)] += 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            while processes.is_alive(pid):  # its death is on its way: the other one is not to be taken for whole
                over.wait(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for first in range(0, 80, 2):
            lines = "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo out $i; echo err $i >&2; done"
            asked = [
                server.begin_call("exec", command=f"echo {n} >> ran; {lines}; exit {n}", yield_ms=30_000)
                for n in (first, first + 1)
            ]
            for n, call in enumerate(asked, first):
                found = server.tool_answer(call)
                assert (found["state"], found["exit_code"]) == ("exited", n), found.text
                for stream, word in (("stdout", "out"), ("stderr", "err")):
                    log = (root / found["job_id"] / f"{stream}.log").read_text(encoding="utf-8")
                    assert log == "".join(f"{word} {i}\n" for i in range(1, 41))
    finally:
        over.set()
        killer.join()
    assert sorted(map(int, (work / "ran").read_text(encoding="utf-8").split())) == list(range(80))
    assert kills[pair.GUARDIAN] and kills[pair.SUPERVISOR], f"a process has to have been killed: {kills}"
    server.call("process", action="remove", job_id=held)


@pytest.mark.parametrize("how", first(1, ["killed", "closed"]))
def test_pairs_that_wait_end_with_their_server(server: Server, how: str) -> None:
    if how == "closed":
        server.mcp.close_stdin()
    else:
        os.kill(server.mcp.pid, signal.SIGKILL)
    server.mcp.wait()
    for pid in (server.supervisor, server.guardian):
        until(lambda pid=pid: not processes.is_alive(pid), what=f"the end of {pid}")
