"""What one job costs: started over MCP, started and looked at from the command line."""

from __future__ import annotations

import subprocess

from benchmarks.bench import BARE, TRUE, Bench
from benchmarks.rows import row
from benchmarks.samples import Found, compared, taken_ms

SHELL = '`subprocess.run(["sh", "-c", "true"])`'
PYTHON = "`python -I -c pass`"


def shell_ms() -> float:
    return taken_ms(lambda: subprocess.run(TRUE, check=True))


def python_ms() -> float:
    return taken_ms(lambda: subprocess.run(BARE, check=True))


@row("exec", "MCP `exec` of `true`, warm, to the complete answer", floor=SHELL, ratio=4)
def exec_true(bench: Bench) -> Found:
    with bench.server() as line:

        def ours() -> float:
            return taken_ms(lambda: _finished(line.structured("exec", command="true")))

        return compared({"ours": ours, "floor": shell_ms}, bench.rounds(200))


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

        return compared({"ours": ours, "floor": shell_ms}, bench.rounds(200))


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
