"""What runs in an allocation: the guardian itself, in the place of the batch script.

It never leaves the allocation: what ends that ends guardian, supervisor and command. SIGTERM is
Slurm's order to end the job: before the time limit, or because it was cancelled or preempted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from outlive import limits, parts
from outlive.core.env_files import read_env_files
from outlive.core.records import Definition, EngineState, Sandbox
from outlive.errors import OutliveError, invalid
from outlive.jobs.definition import open_stdin
from outlive.jobs.starting import boundary
from outlive.parts.hosts.slurm import verdict
from outlive.parts.hosts.slurm.record import HIDDEN, NAME, SlurmRecord, digest_of
from outlive.parts.sandbox.confinement import bubblewrap, visible_paths
from outlive.store import history
from outlive.store.inspection import handed_over
from outlive.store.job_dir import CONTROL, JobDir, Locks
from outlive.store.root import Store
from outlive.supervisor.ending import outcome
from outlive.supervisor.fork_protocol import Pair
from outlive.supervisor.guardian import fork_guardian
from outlive.supervisor.request import Request
from outlive.system import fds, machine, own_programs, prctl, signals

_LOCK_S = 60.0  # the process that submitted the job holds its locks until sbatch has answered
_LOCK_AGAIN_S = 0.05
_GRACE_MS = 20_000  # less than Slurm's own grace, whose default is 30 s (KillWait, slurm.conf(5))
_ASK_S = 4.0
_SIGNALLED_S, _LOOK_S, _RECENT_S = 0.3, 0.01, 30.0
_OTHER_VARIABLES = "the variables in {} changed after it was decided that the job may run; nothing is run"
_LATE_S = 120  # so close to its end a job is ended because of that


def main(root: str, job_id: str) -> int:
    """Run a job, and return when nothing of it is left: its exit status, which Slurm shows."""
    umask = os.umask(0o077)
    store = Store.existing(root)
    try:
        job = JobDir.open(store, job_id)
    except OutliveError:
        return _refused("the job was removed; nothing is run")
    locks = _locks(job)
    if locks is None:
        return _refused("another process holds the job's locks; nothing is run")
    state = job.read_state()
    if state is None or state.state != "created":
        if os.environ.get("SLURM_RESTART_COUNT", "0") != "0":  # the caller's own options can bring that about
            history.record(job, history.REQUEUED, state="REQUEUED")
        return _refused(f"the job is {state.state if state else 'unknown'}; a command is never run twice")
    record = handed_over.read_as(SlurmRecord, job) or SlurmRecord()
    own_programs.take(Request.of(record.request).known)
    try:
        definition = _with_sandbox(job.read_meta())
        request, stdin = _request(definition, record, root, umask), _stdin(definition)
    except OutliveError as error:
        return _refused("; ".join(filter(None, (error.message, error.hint))))
    _note_start(job, record)
    _guard(request, stdin, locks)
    return _status(root, job_id)


def _status(root: str, job_id: str) -> int:
    """Return how the command ended, as a shell tells it."""
    try:
        with JobDir.open(Store.existing(root), job_id) as job:
            state = job.read_state()
    except (OSError, OutliveError):
        return 1
    if state is None or not state.finished:
        return 1
    if state.exit_code is not None:
        return state.exit_code & 0xFF
    return 128 + (signals.number_of(state.signal) or 0) if state.signal else 1


def _refused(why: str) -> int:
    sys.stderr.write(f"outlive: {why}\n")
    return 1


def _locks(job: JobDir) -> Locks | None:
    """Return the job's locks, once the process that submitted it has let go of them."""
    until = time.monotonic() + _LOCK_S
    while time.monotonic() < until:
        try:
            return Locks(job)
        except BlockingIOError:
            time.sleep(_LOCK_AGAIN_S)
    return None


def _note_start(job: JobDir, record: SlurmRecord) -> None:
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    history.record(job, history.STARTED_ON, node=node)
    engine = EngineState(name=NAME, job_id=os.environ.get("SLURM_JOB_ID"), state="RUNNING")
    try:
        handed_over.write(job, SlurmRecord.replace(record, engine=engine, node=node, machine=machine.here()))
    except OSError:  # a full disk: Slurm tells the same
        return


def _request(definition: Definition, record: SlurmRecord, root: str, umask: int) -> Request:
    """Return what the supervisor is told. Errors: those of the env files, which this node must see too."""
    environment = _environment()
    sandbox = definition.sandbox
    overrides = {**read_env_files(definition.env_files, boundary.reading_in(sandbox)), **definition.env}
    if record.decided is not None and record.decided != digest_of(overrides):
        raise OutliveError("denied", _OTHER_VARIABLES.format(", ".join(definition.env_files)))
    return Request.replace(
        Request.of(record.request),
        root=root,
        job_id=definition.job_id,
        # It has waited already; and devices have other numbers here
        definition=Definition.replace(definition.without(parts.WAIT_HERE), cwd_id=None),
        environment=environment if sandbox is None else visible_paths.filtered(environment, sandbox.environment),
        overrides=overrides,
        umask=umask,
    )


def _environment() -> dict[str, str]:
    """Return the variables of the caller, those too that Slurm did not see by their names."""
    return {name.removeprefix(HIDDEN): value for name, value in os.environ.items()}


def _stdin(definition: Definition) -> int | None:
    """Open the file that the job reads, if its sandbox shows where it lies by now. Errors: io_error, denied."""
    path = definition.stdin_path
    return None if path is None else open_stdin(path, boundary.reading_in(definition.sandbox))


def _guard(request: Request, stdin: int | None, locks: Locks) -> None:
    """Become the guardian of the job."""
    pair, guardian_end, supervisor_end = Pair.new()
    waiter_here, waiter_there = fds.pair()
    files = {
        "request": request.to_file(),
        "lock0": locks.fds[0],
        "lock1": locks.fds[1],
        "waiter": waiter_there.fileno(),
    }
    if stdin is not None:
        files["stdin"] = stdin
    pair.send(files)
    pair.close()
    waiter_here.close()
    waiter_there.close()
    if stdin is not None:
        os.close(stdin)
    os.close(files["request"])
    locks.close()
    os.chdir("/")
    signals.clean_slate()
    end = _squeue("--format=%e")  # asked while nothing is being ended yet
    if end.isdigit():  # else it is not known, and an order means kill
        _ends_at.append(float(end))
    outcome.ask_engine = _why_ended  # the supervisor is forked from this process
    outcome.engine_group = f"/job_{os.environ.get('SLURM_JOB_ID')}/"  # where Slurm uses control groups
    path = os.path.join(request.root, request.job_id)

    def listen() -> None:
        signal.signal(signal.SIGTERM, lambda *_: _obey(path))

    fork_guardian(guardian_end, supervisor_end, _in_place, ready_to_guard=listen)


def _in_place(body: Callable[[], int], keep: set[int], title: str) -> None:
    """Run the guardian in this process, which is Slurm's batch script."""
    fds.close_others(keep)
    prctl.rename(title)
    body()


def _with_sandbox(definition: Definition) -> Definition:
    """Return the definition with a bwrap that this node has. Errors: sandbox_unavailable."""
    if definition.sandbox is None or os.access(definition.sandbox.bwrap, os.X_OK):
        return definition
    sandbox = Sandbox.replace(definition.sandbox, bwrap=bubblewrap.find(None))
    return Definition.replace(definition, sandbox=sandbox)


def _obey(path: str) -> None:
    """Do as Slurm orders: end the job in this directory. The order is SIGTERM to this process alone
    (--signal=B:TERM, scancel --batch), or to all of the allocation."""
    request = {"op": "kill", "signal": int(signal.SIGTERM), "grace_ms": _GRACE_MS, "by": "engine", "cause": _cause()}
    folder, name = os.path.split(CONTROL)
    try:
        with fds.Closing(os.open(os.path.join(path, folder), os.O_RDONLY | os.O_DIRECTORY)) as io:
            sock = fds.connected(io, name)
        try:
            fds.send(sock, json.dumps(request).encode())
            sock.settimeout(limits.CONTROL_S)
            sock.recv(limits.CONTROL_BYTES)
        finally:
            sock.close()
    except OSError:  # its supervisor has just ended, or is being replaced: Slurm's KILL follows
        return


def _why_ended() -> tuple[str, str] | None:
    """Return why Slurm ends the job, and a sentence; None if Slurm did not signal this process, the
    supervisor, with the command."""
    until = time.monotonic() + _SIGNALLED_S
    while (at := signals.received.get(signal.SIGTERM)) is None and time.monotonic() < until:
        time.sleep(_LOOK_S)
    if at is None or time.monotonic() - at > _RECENT_S:
        return None
    word = "TIMEOUT" if _cause() == "timeout" else "REQUEUED" if _is_requeued() else "CANCELLED"
    _, reason, message = verdict.of(word, started=True)
    return reason, message


def _is_requeued() -> bool:
    """Return whether Slurm ends this run of the batch script to start it again: it has counted the
    next run by now."""
    counted = _squeue("--Format=RestartCnt")
    return counted.isdigit() and int(counted) > int(os.environ.get("SLURM_RESTART_COUNT") or 0)


_ends_at: list[float] = []  # when Slurm's time limit ends the job (Unix seconds)


def _cause() -> str:
    """Return `timeout` if the job is about to reach Slurm's time limit, else `kill`."""
    return "timeout" if _ends_at and time.time() >= _ends_at[0] - _LATE_S else "kill"


def _squeue(format: str) -> str:
    """Return what Slurm says of this job, "" if it does not answer."""
    try:
        program = own_programs.find("squeue", _environment())
    except OutliveError:
        return ""
    words = [program, "--noheader", "--states=all", "--jobs", os.environ.get("SLURM_JOB_ID", ""), format]
    env = {**own_programs.environment(_environment()), "SLURM_TIME_FORMAT": "%s"}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_ASK_S, check=False, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise invalid("job", "usage: python -m outlive.parts.hosts.slurm.inside_allocation ROOT ID")
    sys.exit(main(sys.argv[1], sys.argv[2]))
