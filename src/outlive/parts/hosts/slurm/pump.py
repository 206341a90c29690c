"""One end of a control connection to a job in an allocation: a socket here, srun(1) there.

`python -m outlive.parts.hosts.slurm.pump FD SRUN SLURM_ID PYTHON ROOT ID`: carry what comes at the socket
FD to a step of the job's allocation, and back, until one side ends. On stdin is what the process that
starts it knows of where jobs work.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile

from outlive.core.members import parse_json
from outlive.parts.hosts import control_stream
from outlive.parts.hosts.slurm import programs
from outlive.system import fds, interpreter, own_programs
from outlive.system.known import Known

_END_S = 5.0


def main(number: int, srun: str, engine_id: str, python: str, root: str, job_id: str) -> int:
    own_programs.take(Known.of(parse_json(fds.read_all(0))))
    sock = fds.socket_of(number)
    words = [srun, f"--jobid={engine_id}", "--overlap", "--nodes=1", "--ntasks=1", "--relative=0", "--mem=0"]
    words += ["--quiet", "--unbuffered", "--input=all", "--chdir=/", "--kill-on-bad-exit=0"]
    words += [*interpreter.words(python, "-EP", "outlive.parts.hosts.far.step"), root, job_id]
    with tempfile.TemporaryFile() as errors:
        step = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=programs.environment(),
            cwd=own_programs.ELSEWHERE,
        )
        assert step.stdin is not None
        assert step.stdout is not None
        told = False
        try:
            # Else a step that could not be started yet would do what its asker was told has failed
            told = control_stream.carry(sock, step.stdout, step.stdin, abandoned=step.terminate)
        finally:
            step.stdin.close()
            try:
                status = step.wait(_END_S)
            except subprocess.TimeoutExpired:
                step.terminate()
                status = step.wait()
        if not told:
            errors.seek(0)
            _tell(sock, programs.said(errors.read()), status)
    sock.close()
    return 0


def _tell(sock: socket.socket, error: str, status: int) -> None:
    """Answer the request that got no further."""
    message = f"Slurm did not lead to the job's node: {error or f'srun ended with {status}'}"
    hint = "Try again; if Slurm's controller is down, the job itself goes on."
    answer = {"ok": False, "code": "io_error", "message": message, "retryable": True, "hint": hint}
    try:
        fds.send(sock, json.dumps(answer).encode(), wait=False)
    except OSError:
        return


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
