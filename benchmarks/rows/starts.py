"""Measure what one job costs: started over MCP, started and inspected from the command line."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable

from benchmarks import peers
from benchmarks.bench import BARE, TRUE, Bench
from benchmarks.client import Client
from benchmarks.peers import Peer
from benchmarks.rows import row
from benchmarks.samples import Found, Work, compared, taken_ms

SHELL = '`subprocess.run(["sh", "-c", "true"])`'
PYTHON = "`python -I -c pass`"
_IN_ONE = "workspace-write"
_BY_BASH = "of the string `true`, which bash runs, ms"


# The pause between two calls: a model does not call again within the millisecond. What back-to-back
# calls cost is in the row `burst`, and in how cost grows with clients.
PAUSE_S = 0.02


def paused(work: Work) -> Work:
    """Return this work behind a pause that does not count."""

    def rested() -> float:
        time.sleep(PAUSE_S)
        return work()

    return rested


def shell_ms() -> float:
    return taken_ms(lambda: subprocess.run(TRUE, check=True))


def python_ms() -> float:
    return taken_ms(lambda: subprocess.run(BARE, check=True))


def exec_once(client: Client, command: str | list[str] = TRUE) -> Work:
    """Return the work: run a command and wait for the complete answer.

    By default the command is that of the floor. A string would run in bash where there is one, which
    alone takes twice as long to start and end as the sh of the floor and of the peers.
    """
    return lambda: taken_ms(lambda: _finished(client.structured("exec", command=command)))


@row("exec", "MCP `exec` of `sh -c true`, warm, to the complete answer", floor=SHELL, ratio=3.5, beats_peers=True)
def exec_true(bench: Bench) -> Found:
    with bench.server() as client, contextlib.ExitStack() as stack:
        works = {"ours": exec_once(client), "floor": shell_ms, _BY_BASH: exec_once(client, "true")}
        for peer in peers.installed(bench):
            works[peer.name] = _by(peer.finish, stack.enter_context(peer.connected(bench)))
        found = compared({name: paused(work) for name, work in works.items()}, bench.rounds(100))
    found.notes[_BY_BASH] = round(found.peers.pop(_BY_BASH).median, 3)
    return found


def sandbox_once(client: Client) -> Work:
    """Return the work: run a command without a sandbox and in one. Its cost is the difference."""
    free = exec_once(client)

    def inside() -> None:
        _finished(client.structured("exec", command=TRUE, sandbox=_IN_ONE))

    return lambda: max(0.0, -paused(free)() + paused(lambda: taken_ms(inside))())


@row("sandbox", "what a sandbox adds to MCP `exec` of `sh -c true`, with the look at what it left")
def sandbox_adds(bench: Bench) -> Found:
    with bench.server() as client:
        return compared({"ours": sandbox_once(client)}, bench.rounds(60))


@row("sandbox-start", "what a sandbox adds to a background start in a tree of 1,000 directories", most=8)
def sandbox_start_adds(bench: Bench) -> Found:
    with bench.server() as client:
        return compared({"ours": sandbox_start_once(bench, client)}, bench.rounds(60))


def sandbox_start_once(bench: Bench, client: Client) -> Work:
    """Return the work: start a command in the background in a tree of 1,000 directories, without a
    sandbox and in one. Its cost is the difference."""
    for number in range(1000):
        (bench.work / "tree" / f"{number // 30}" / f"{number}").mkdir(parents=True)
    free, inside = background_once(bench, client), background_once(bench, client, sandbox=_IN_ONE)
    return lambda: max(0.0, -paused(free)() + paused(inside)())


def _by(ask: Callable[[Client, str], object], client: Client) -> Work:
    return lambda: taken_ms(lambda: ask(client, "true"))


def _started(peer: Peer, client: Client) -> Work:
    def work() -> float:
        jobs: list[str] = []
        assert peer.start
        assert peer.knows
        took = taken_ms(lambda: jobs.append(peer.start(client, "true")))  # type: ignore[misc]
        # one peer notices the end of a job only when it is asked, and takes ten jobs
        peer.knows(client, jobs[0])
        return took

    return work


def _finished(answer: dict[str, object]) -> None:
    assert answer["exit_code"] == 0, answer


def background_once(bench: Bench, client: Client, **how: str) -> Work:
    """Return the work: start the command of the floor in the background.

    Its end does not count, and is over before the next start.
    """

    def work() -> float:
        jobs: list[str] = []

        def start() -> None:
            jobs.append(client.structured("exec", command=TRUE, yield_ms=0, **how)["job_id"])

        took = taken_ms(start)
        bench.ended(jobs[0])
        return took

    return work


@row("background", "MCP background start", floor=SHELL, ratio=2.5)
def background_start(bench: Bench) -> Found:
    with bench.server() as client, contextlib.ExitStack() as stack:
        works = {"ours": background_once(bench, client), "floor": shell_ms}
        for peer in peers.installed(bench):
            if peer.start is not None:
                works[peer.name] = _started(peer, stack.enter_context(peer.connected(bench)))
        return compared({name: paused(work) for name, work in works.items()}, bench.rounds(100))


def cli_run_once(bench: Bench) -> Work:
    return lambda: taken_ms(lambda: _finished(bench.outlive("run", "--", "true")))


@row("cli-run", "`outlive run -- true` to the complete answer", floor=PYTHON, ratio=5.5)
def cli_run(bench: Bench) -> Found:
    return compared({"ours": cli_run_once(bench), "floor": python_ms}, bench.rounds(60))


def cli_status_once(bench: Bench) -> Work:
    job = str(bench.outlive("run", "--", "true")["job_id"])
    return lambda: taken_ms(lambda: bench.outlive("status", job))


@row("cli-status", "`outlive status JOB`", floor=PYTHON, ratio=4.2)
def cli_status(bench: Bench) -> Found:
    return compared({"ours": cli_status_once(bench), "floor": python_ms}, bench.rounds(60))
