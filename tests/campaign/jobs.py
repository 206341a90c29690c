"""The kinds of jobs: how each is asked for, and what must be there when it has ended."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from campaign import program
from campaign.plan import JobPlan

PROGRAM = Path(program.__file__)
QUOTA_BYTES = 131_072
TIMEOUT_MS = 2_500
LAST = b"last\n"


@dataclass(frozen=True)
class Files:
    """The files of one job, outside of its job directory."""

    program: Path  # where a sandbox shows it
    ledger: Path  # one line for each run
    steps: Path  # what releases its output
    clock: Path  # seconds by which the clock of our processes is off
    crashes: Path  # OUTLIVE_DEBUG_FILE: a line for each process that killed itself at a point, and tracebacks
    event: Path  # the notification of its end
    hits: Path  # what its watch has seen

    @classmethod
    def below(cls, work: Path, name: str) -> Files:
        ends = ("ran", "steps", "clock", "crashes", "event", "hits")
        return cls(work / PROGRAM.name, *(work / f"{name}.{end}" for end in ends))


@dataclass(frozen=True)
class Outcome:
    state: str
    reason: str
    exit_code: int | None = None
    signal: str | None = None


LOST = Outcome("failed", "lost")


def command(plan: JobPlan, files: Files) -> list[str]:
    # Not that of a virtual environment below /tmp, which a sandbox does not show
    words = [
        os.path.realpath(sys.executable),
        "-IS",
        str(files.program),
        plan.kind,
        str(files.ledger),
        str(files.steps),
    ]
    return [*words, str(plan.code), str(plan.lines)]


def options(plan: JobPlan, files: Files) -> list[str]:
    """Return the flags of `run` that make a job of this kind."""
    of_kind = {
        "stdin": ["--stdin", "open"],
        "quota": ["--quota-bytes", str(QUOTA_BYTES)],
        "watch": ["--watch", "^hit [0-9]+$", "--watch-file", str(files.hits)],
        "sinks": ["--notify-file", str(files.event), "--notify-command", f"cat >> {files.event}.command"],
        "terminal": ["--pty"],
        "sandbox": ["--sandbox", "workspace-write"],
        "limits": ["--resource", "cpu_time=10m", "--resource", "memory=2G", "--resource", "nice=5"],
        "timeout": ["--timeout", str(TIMEOUT_MS)],
        "ssh": ["--host", "box"],
        "slurm": ["--host", "cluster"],
    }
    return of_kind.get(plan.kind, [])


def output(plan: JobPlan) -> tuple[bytes, bytes]:
    """Return all that the program of a job writes on stdout and stderr, but for what it copies from its stdin."""
    out, err = (
        b"".join(program.line(plan.kind, fd, number) for number in range(1, plan.lines + 1))
        if plan.kind != "stdin"
        else b""
        for fd in (1, 2)
    )
    if plan.kind == "terminal":
        return (out + LAST).replace(b"\n", b"\r\n"), b""
    return out + LAST, b"" if plan.kind == "stdin" else err


def without_last(out: bytes) -> bytes:
    """Return what is there if the program wrote its last line, and ended, while no supervisor lived."""
    return out.removesuffix(LAST).removesuffix(LAST.replace(b"\n", b"\r\n"))


def outcomes(plan: JobPlan) -> set[Outcome]:
    """Return how a job of this plan may end. At a time-out KILL follows TERM at once, and either may come first."""
    if plan.kind == "timeout":
        return {Outcome("killed", "timeout", signal=name) for name in ("SIGTERM", "SIGKILL")}
    if plan.kind == "kill":
        return {Outcome("killed", "kill", signal="SIGTERM")}
    return {Outcome("exited", "exit", plan.code)}


def ends_itself(plan: JobPlan) -> bool:
    """Return whether the program ends by itself, with its last line."""
    return plan.kind not in ("timeout", "kill")
