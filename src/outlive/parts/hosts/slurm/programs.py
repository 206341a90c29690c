"""Slurm's programs: where they are, and what they say."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from outlive.errors import OutliveError, from_os
from outlive.parts.hosts.findings import visible
from outlive.system import own_programs

NEEDED = ("sbatch", "squeue", "scancel", "srun", "sinfo", "scontrol")
_MOST_BYTES = 4 << 20  # of what a program prints
_PIECE_BYTES = 65_536
_GIVEN_UP = 124
ASK_S = 10.0  # a controller that is up answers within milliseconds


def path(name: str, folder: str | None) -> str:
    """Return the path of a program. None: on PATH. Errors: launch_failed."""
    try:
        return own_programs.find(name, os.environ, folder)
    except OutliveError as error:
        hint = "Install Slurm's client programs here (Debian: apt install slurm-client), or name their directory: "
        raise OutliveError(error.code, error.message, hint=hint + "programs in [hosts.NAME].") from error


def run(name: str, folder: str | None, *words: str, timeout_s: float = ASK_S) -> tuple[int, str, str]:
    """Return the exit status, the output and the error of a program, both of them bounded; 124 if it
    took too long or printed too much. Errors: launch_failed."""
    words = (path(name, folder), *words)
    try:
        return bounded(name, words, timeout_s=timeout_s, env=environment())
    except OSError as error:
        raise from_os(f"starting {name}", error, code="launch_failed", on="process") from error


def bounded(
    name: str, words: Sequence[str], *, timeout_s: float, env: Mapping[str, str], pass_fds: Sequence[int] = ()
) -> tuple[int, str, str]:
    """Run a program as `run` does. It ends with all it has started if it takes too long, prints too
    much, or leaves a process behind that holds its output. Errors: OSError."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        pass_fds=pass_fds,
        cwd=own_programs.ELSEWHERE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    pipes = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    printed, errors = pipes.values()
    why = ""
    with process.stdout, process.stderr:
        try:
            why = _read_to_end(name, pipes, time.monotonic() + timeout_s, timeout_s)
        finally:
            _end(process, timeout_s=0.0 if why else timeout_s)
    if why:
        return _GIVEN_UP, "", why
    return process.returncode, printed.decode("utf-8", "replace"), said(bytes(errors))


def _read_to_end(name: str, pipes: dict[int, bytearray], deadline: float, timeout_s: float) -> str:
    """Read what a program prints. Return why it is to be ended, "" if it has said all."""
    poller = select.poll()
    for fd in pipes:
        poller.register(fd, select.POLLIN)
    still_open = len(pipes)
    while still_open:
        ready = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ready:
            return f"{name} did not answer within {timeout_s:.0f} s"
        for fd, _ in ready:
            piece = os.read(fd, _PIECE_BYTES)
            pipes[fd] += piece
            if not piece:
                poller.unregister(fd)
                still_open -= 1
            if len(pipes[fd]) > _MOST_BYTES:
                return f"{name} printed more than {_MOST_BYTES:,} bytes"
    return ""


def _end(process: subprocess.Popen[bytes], *, timeout_s: float) -> None:
    """Wait for the end of a program. After `timeout_s` bring it about, and that of all it has started."""
    with suppress(subprocess.TimeoutExpired):
        if timeout_s:
            process.wait(timeout_s)
            return
    os.killpg(process.pid, signal.SIGKILL)  # a child that was not reaped: the number is still its own
    process.wait()


def environment() -> dict[str, str]:
    """Return an environment in which Slurm's programs write times in one form."""
    return {**own_programs.environment(os.environ), "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}


def said(error: bytes) -> str:
    """Return the line of what a program wrote to stderr that says what is wrong."""
    lines = [line.strip() for line in error.decode("utf-8", "replace").splitlines() if line.strip()]
    if lines and lines[-1].startswith("Try "):  # Try "sbatch --help" for more information
        lines.pop()
    return visible(lines[-1]) if lines else ""
