"""What one job costs: started over MCP, started and looked at from the command line."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable

from benchmarks import peers
from benchmarks.bench import BARE, TRUE, Bench
from benchmarks.line import Line
from benchmarks.peers import Peer
from benchmarks.rows import row
from benchmarks.samples import Found, Work, compared, taken_ms

SHELL = '`subprocess.run(["sh", "-c", "true"])`'
PYTHON = "`python -I -c pass`"


# Between two calls: whoever calls is a model, and does not call again within the millisecond. What back-to-back calls cost
# is in the row `burst`, and in how cost grows with clients.
PAUSE_S = 0.02


def paused(work: Work) -> Work:
    """The same behind a pause that does not count."""

    def rested() -> float:
        time.sleep(PAUSE_S)
        return work()

    return rested


def shell_ms() -> float:
    return taken_ms(lambda: subprocess.run(TRUE, check=True))


def python_ms() -> float:
    return taken_ms(lambda: subprocess.run(BARE, check=True))


@row("exec", "MCP `exec` of `true`, warm, to the complete answer", floor=SHELL, ratio=4, beats_peers=True)
def exec_true(bench: Bench) -> Found:
    with bench.server() as line:

        def ours() -> float:
            return taken_ms(lambda: _finished(line.structured("exec", command="true")))

        with contextlib.ExitStack() as stack:
            works = {"ours": ours, "floor": shell_ms}
            for peer in peers.installed(bench):
                works[peer.name] = _by(peer.finish, stack.enter_context(peer.connected(bench)))
            return compared({name: paused(work) for name, work in works.items()}, bench.rounds(100))


def _by(ask: Callable[[Line, str], object], line: Line) -> Work:
    return lambda: taken_ms(lambda: ask(line, "true"))


def _started(peer: Peer, line: Line) -> Work:
    def work() -> float:
        jobs: list[str] = []
        assert peer.start
        assert peer.knows
        took = taken_ms(lambda: jobs.append(peer.start(line, "true")))  # type: ignore[misc]
        peer.knows(line, jobs[0])  # one of them notices that a job has ended only when it is asked, and takes ten
        return took

    return work


def _finished(answer: dict[str, object]) -> None:
    assert answer["exit_code"] == 0, answer


@row("background", "MCP background start", floor=SHELL, ratio=3)
def background_start(bench: Bench) -> Found:
    with bench.server() as line:

        def ours() -> float:
            jobs: list[str] = []

            def start() -> None:
                jobs.append(line.structured("exec", command="true", background=True)["job_id"])

            took = taken_ms(start)
            bench.ended(jobs[0])  # its end is not to weigh on the next one
            return took

        with contextlib.ExitStack() as stack:
            works = {"ours": ours, "floor": shell_ms}
            for peer in peers.installed(bench):
                if peer.start is not None:
                    works[peer.name] = _started(peer, stack.enter_context(peer.connected(bench)))
            return compared({name: paused(work) for name, work in works.items()}, bench.rounds(100))


@row("cli-run", "`outlive run -- true` to the complete answer", floor=PYTHON, ratio=3.5)
def cli_run(bench: Bench) -> Found:
    def ours() -> float:
        return taken_ms(lambda: _finished(bench.outlive("run", "--", "true")))

    return compared({"ours": ours, "floor": python_ms}, bench.rounds(60))


@row("cli-status", "`outlive status JOB`", floor=PYTHON, ratio=2.5)
def cli_status(bench: Bench) -> Found:
    job = str(bench.outlive("run", "--", "true")["job_id"])

    def ours() -> float:
        return taken_ms(lambda: bench.outlive("status", job))

    return compared({"ours": ours, "floor": python_ms}, bench.rounds(60))
