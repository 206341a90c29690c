"""What runs in an allocation: the guardian itself, in the place of the batch script.

It never leaves the allocation: what ends that ends guardian, supervisor and command. SIGTERM is
Slurm's order to end the job: before the time limit, or because it was cancelled or preempted.
"""

from __future__ import annotations

import os
import sys
import time

from outlive import fastjson, limits
from outlive.core.records import Definition
from outlive.errors import OutliveError, invalid
from outlive.hosts.slurm import verdict
from outlive.store import engine_record, history
from outlive.store.job_dir import CONTROL, JobDir, Locks
from outlive.store.root import Store
from outlive.supervisor.ending import oom_verdict
from outlive.supervisor.fork_protocol import Pair
from outlive.supervisor.guardian import fork_guardian
from outlive.supervisor.request import Request
from outlive.system import fds, machine, signals
from outlive.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LOCK_S = 60.0  # the process that submitted the job holds its locks until sbatch has answered
_LOCK_AGAIN_S = 0.05
_GRACE_MS = 20_000  # less than Slurm's own grace, whose default is 30 s (KillWait, slurm.conf(5))
_ASK_S = 4.0
_SIGNALLED_S, _LOOK_S, _RECENT_S = 0.3, 0.01, 30.0
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
        _note_requeue(job)
        return _refused(f"the job is {state.state if state else 'unknown'}; a command is never run twice")
    try:
        definition = _with_sandbox(job.read_meta())
    except OutliveError as error:
        return _refused(f"{error.message}; {error.hint}")
    record = engine_record.read(job) or {}
    _note_start(job, record)
    _guard(definition, record, root, locks, umask)
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


def _note_start(job: JobDir, record: dict[str, Any]) -> None:
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    history.record(job, history.STARTED_ON, node=node)
    engine = {"name": "slurm", "job_id": os.environ.get("SLURM_JOB_ID"), "state": "RUNNING"}
    try:
        engine_record.write(job, {**record, "engine": engine, "node": node, "machine": machine.here()})
    except OSError:  # a full disk: Slurm tells the same
        return


def _note_requeue(job: JobDir) -> None:
    """Record that Slurm started the script again, which the caller's own options can bring about."""
    if os.environ.get("SLURM_RESTART_COUNT", "0") != "0":
        history.record(job, history.REQUEUED, state="REQUEUED")


def _guard(definition: Definition, record: dict[str, Any], root: str, locks: Locks, umask: int) -> None:
    """Become the guardian of the job."""
    overrides = {**_of_files(definition), **definition.env}
    kept = record.get("request") or {}
    request = Request(
        root=root,
        job_id=definition.job_id,
        definition=definition.to_dict(),
        environment=_inherited(definition),
        overrides=overrides,
        umask=umask,
        sink_shell=kept.get("sink_shell") or list(definition.shell or ("sh", "-c")),
        bounds=kept.get("bounds"),
        audit=kept.get("audit"),
    )
    guardian_here, guardian_there = fds.pair()
    supervisor_here, supervisor_there = fds.pair()
    waiter_here, waiter_there = fds.pair()
    files = {
        "request": request.to_file(),
        "lock0": locks.fds[0],
        "lock1": locks.fds[1],
        "waiter": waiter_there.fileno(),
    }
    if definition.stdin_path is not None:
        files["stdin"] = os.open(definition.stdin_path, os.O_RDONLY | os.O_CLOEXEC)
    pair = Pair(guardian_here, supervisor_here)
    pair.send(files)
    pair.close()
    waiter_here.close()
    waiter_there.close()
    if "stdin" in files:
        os.close(files["stdin"])
    os.close(files["request"])
    locks.close()
    os.chdir("/")
    signals.clean_slate()
    _learn_end()
    oom_verdict.ask_engine = _why_ended  # the supervisor is forked from this process
    oom_verdict.engine_group = f"/job_{os.environ.get('SLURM_JOB_ID')}/"  # where Slurm uses control groups
    order = _Order(os.path.join(root, definition.job_id))
    fork_guardian(guardian_there, supervisor_there, _in_place, spare=False, ready_to_guard=order.listen)


def _in_place(body: Callable[[], int], keep: set[int], title: str) -> None:
    """Run the guardian in this process, which is Slurm's batch script."""
    from outlive.system import prctl

    fds.close_others(keep)
    prctl.rename(title)
    body()


def _with_sandbox(definition: Definition) -> Definition:
    """Return the definition with a bwrap that this node has. Errors: sandbox_unavailable."""
    if definition.sandbox is None or os.access(definition.sandbox["bwrap"], os.X_OK):
        return definition
    from outlive.sandbox import bubblewrap

    here: Definition = definition.replace(sandbox={**definition.sandbox, "bwrap": bubblewrap.find(None)})
    return here


def _inherited(definition: Definition) -> dict[str, str]:
    environment = dict(os.environ)
    if definition.sandbox is None:
        return environment
    from outlive.sandbox import view

    return view.filtered(environment, definition.sandbox["environment"])


def _of_files(definition: Definition) -> dict[str, str]:
    """Return the variables of the job's files, which this node must see too."""
    from outlive.core.env_files import read_env_files

    return read_env_files(definition.env_files)


class _Order:
    """Slurm's order to end the job: SIGTERM to this process alone (--signal=B:TERM, scancel
    --batch), or to all of the allocation."""

    def __init__(self, path: str) -> None:
        self._path = path

    def listen(self) -> None:
        signal.signal(signal.SIGTERM, self._obey)

    def _obey(self, _number: int, _frame: object) -> None:
        request = {
            "op": "kill",
            "signal": int(signal.SIGTERM),
            "grace_ms": _GRACE_MS,
            "by": "engine",
            "cause": _cause(),
        }
        folder, name = os.path.split(CONTROL)
        try:
            io = os.open(os.path.join(self._path, folder), os.O_RDONLY | os.O_DIRECTORY)
            try:
                sock = fds.connected(io, name)
            finally:
                os.close(io)
            try:
                fds.send(sock, fastjson.dumps(request).encode())
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
    _, reason, message = verdict.of("TIMEOUT" if _cause() == "timeout" else "CANCELLED", started=True)
    return reason, message


_ends_at: list[float] = []  # when Slurm's time limit ends the job (Unix seconds)


def _cause() -> str:
    """Return `timeout` if the job is about to reach Slurm's time limit, else `kill`."""
    return "timeout" if _ends_at and time.time() >= _ends_at[0] - _LATE_S else "kill"


def _learn_end() -> None:
    """Ask Slurm for the end of the time limit, while nothing is being ended yet."""
    import subprocess

    words = ["squeue", "--noheader", "--jobs", os.environ.get("SLURM_JOB_ID", ""), "--format=%e"]
    env = {**os.environ, "SLURM_TIME_FORMAT": "%s"}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_ASK_S, check=False, env=env)
    except (OSError, subprocess.TimeoutExpired):  # not known: then an order means kill
        return
    if done.stdout.strip().isdigit():
        _ends_at.append(float(done.stdout.strip()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise invalid("job", "usage: python -m outlive.hosts.slurm.batch ROOT ID")
    sys.exit(main(sys.argv[1], sys.argv[2]))
