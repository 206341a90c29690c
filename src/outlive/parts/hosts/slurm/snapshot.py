"""What Slurm says of all jobs of this user, asked for once by all processes together; and what its accounting says of one
that it has forgotten.

The answer of squeue(1) is a file in the job root. A process that finds it too old asks again,
unless another process does just now: so the controller is asked at most every ASK_EVERY_S seconds,
however many calls wait.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time

from outlive.core.records import EngineState
from outlive.errors import OutliveError
from outlive.parts.hosts.slurm import programs, verdict
from outlive.parts.hosts.slurm.record import SlurmRecord
from outlive.store.root import Store
from outlive.system import own_programs

ASK_EVERY_S = 5.0
WAIT_S = 3.0  # for the answer; a later one serves the next call
_LOOK_S = 0.01
_FORMAT = "%A|%j|%T|%r|%V|%S|%B"
# The files' names are arguments: squeue's output and exit status, whole or not at all
_SCRIPT = '"$1" --me --states=all --noheader --format="$2" >"$3" 2>&1; echo "exit $?" >>"$3"; mv "$3" "$4"'
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Entry:
    """One job: Slurm's id, its word for the state, why it waits, and when it started or is to start (Unix seconds)."""

    def __init__(self, words: list[str]) -> None:
        self.job_id, _, self.state, reason, _, start, _ = words
        self.reason = None if reason in ("", "None") else reason
        self.start = float(start) if start.isdigit() and start != "0" else None


class Snapshot:
    """`jobs` by their names, which are our ids; `failed`: why Slurm did not answer; `at`: when (Unix
    seconds)."""

    def __init__(self, text: str, at: float) -> None:
        *lines, last = text.splitlines() or [""]
        self.at = at
        self.failed: str | None = None
        self.jobs: dict[str, Entry] = {}
        if last != "exit 0":
            self.failed = lines[-1].strip() if lines else "squeue did not run"
            return
        for line in lines:
            words = line.split("|")
            if len(words) == len(_FORMAT.split("|")):
                entry = Entry(words)
                old = self.jobs.get(words[1])
                if old is None or int(old.job_id) < int(entry.job_id):
                    self.jobs[words[1]] = entry


def take(
    store: Store, record: SlurmRecord, *, max_age_s: float = ASK_EVERY_S, wait_s: float = WAIT_S
) -> Snapshot | None:
    """Return what Slurm says; None if it was never asked with success or not, and cannot be now."""
    name = f".slurm-{record.host}"
    known = _read(store, name)
    if known is not None and 0 <= time.time() - known.at < max(max_age_s, ASK_EVERY_S):
        return known
    try:
        lock = os.open(f"{name}.lock", _FLAGS, 0o600, dir_fd=store.fd)
    except OSError:
        return known
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another process asks
            return _awaited(store, name, known, wait_s)
        again = _read(store, name)
        if again is not None and 0 <= time.time() - again.at < ASK_EVERY_S:
            return again
        _ask(store, name, record, lock)
    finally:
        os.close(lock)
    return _awaited(store, name, known, wait_s)


def _ask(store: Store, name: str, record: SlurmRecord, lock: int) -> None:
    """Have squeue write its answer. The lock is held until it has, whether this process waits or
    not."""
    target = os.path.join(store.path, name)
    temporary = f"{target}.{os.getpid()}"
    words = ["/bin/sh", "-c", _SCRIPT, "sh", programs.path("squeue", record.programs), _FORMAT, temporary, target]
    subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock,),
        cwd=own_programs.ELSEWHERE,
        env=programs.environment(),
        start_new_session=True,
        umask=0o077,
    )


def _awaited(store: Store, name: str, known: Snapshot | None, wait_s: float) -> Snapshot | None:
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        answer = _read(store, name)
        if answer is not None and (known is None or answer.at != known.at):
            return answer
        time.sleep(_LOOK_S)
    return known


def _read(store: Store, name: str) -> Snapshot | None:
    key = os.path.join(store.path, name)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=store.fd)
    except OSError:
        return None
    with open(fd, encoding="utf-8", errors="replace") as file:
        at = os.fstat(fd).st_mtime
        if key not in _parsed or _parsed[key].at != at:  # a list asks about each of its jobs
            _parsed[key] = Snapshot(file.read(), at)
    return _parsed[key]


_parsed: dict[str, Snapshot] = {}


_BEFORE_S = 3600  # the clocks of two machines may differ


def end_of(job_id: str, record: SlurmRecord) -> EngineState | None:
    """Return Slurm's id of a job and its word for the end, as its accounting has them (sacct(1)); None if that is not known.
    Many clusters have no accounting; then, and while its database does not answer, nothing is."""
    engine_id = record.engine.job_id
    which = [f"--jobs={engine_id}", "--duplicates"] if engine_id else [f"--name={job_id}"]
    begin = time.localtime(max(0.0, record.submitted - _BEFORE_S))
    since = f"--starttime={time.strftime('%Y-%m-%dT%H:%M:%S', begin)}"
    flags = ("--allocations", "--noheader", "--parsable2", "--format=JobIDRaw,JobName,State")
    try:
        status, printed, _ = programs.run("sacct", record.programs, *which, since, *flags)
    except (OSError, OutliveError):
        return None
    entries = [line.split("|") for line in printed.splitlines() if line.count("|") == 2]
    # Slurm may give one number to two jobs, after its controller was killed. The name is our id
    own = [(number, word) for number, name, word in entries if name == job_id]
    if status != 0 or not own:
        return None
    known, word = own[-1][0], own[-1][1].split(" ")[0]  # CANCELLED by 1000
    return EngineState.replace(record.engine, job_id=known, state=word) if word in verdict.ENDED else None
