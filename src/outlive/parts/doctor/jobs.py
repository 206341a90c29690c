"""The jobs of the root: how many, how large, and whether each running job has a supervisor that
answers.
"""

from __future__ import annotations

import os
import time
from contextlib import closing

from outlive.core import units
from outlive.core.records import State
from outlive.errors import OutliveError
from outlive.jobs.control_client import ControlClient
from outlive.jobs.processes import stopped
from outlive.parts.finding import CheckContext, Finding, ok, unopened, warn
from outlive.store import delete
from outlive.store.atomic_file import Damaged
from outlive.store.inspection import inspect
from outlive.store.job_dir import IO, META, SEEN, STATE, JobDir
from outlive.system import process

_LISTED = 10
_ANSWER_S = 1.0  # for one supervisor; a sound one answers within microseconds
_ALL_ANSWERS_S = 10.0


def jobs(context: CheckContext) -> Finding:
    """Count the jobs. Name those whose records cannot be read, and the tracebacks that processes of
    outlive left in their directories."""
    if context.store is None:
        return unopened(context)
    ids, size = context.store.ids(), 0
    tracebacks: list[str] = []
    spoiled: list[str] = []
    for job_id in ids:
        try:
            with JobDir.open(context.store, job_id) as job:
                size += delete.bytes_of_job(job)
                spoiled += [f"{job_id}/{name}" for name in _spoiled(job)]
                tracebacks += [os.path.join(job.path, name) for name in job.fault_names()]
        except (OSError, OutliveError):
            continue
    left = len(list(context.store.leftovers()))
    facts: dict[str, object] = {
        "jobs": len(ids),
        "running": len(context.store.live_ids()),
        "bytes": size,
        "leftovers": left,
    }
    told = f"{len(ids):,} in the root, {units.size(size)}; {facts['running']:,} may still run"
    if left:
        told += f"; {left} half-made or half-deleted directories, which `outlive gc` deletes when they are an hour old"
    advice: list[str] = []
    if spoiled:
        told += f"; files that are not what outlive wrote: {len(spoiled)}"
        advice.append(f"Look at {_names(spoiled)}; `outlive remove` deletes the job.")
    if tracebacks:
        told += f"; tracebacks of processes of outlive that an exception ended: {len(tracebacks)}"
        advice.append(f"Please report them: {_names(tracebacks)}.")
    facts |= {"tracebacks": tracebacks[:_LISTED]} if tracebacks else {}
    facts |= {"spoiled": spoiled[:_LISTED]} if spoiled else {}
    return warn(told, " ".join(advice), **facts) if advice else ok(told, **facts)


def _spoiled(job: JobDir) -> list[str]:
    """Return the names of files that cannot be those that outlive wrote."""
    with os.scandir(job.fd) as entries:
        names = {
            entry.name for entry in entries if entry.name not in (IO, SEEN) and not entry.is_file(follow_symlinks=False)
        }
    for name, read in ((META, job.read_meta), (STATE, job.read_state)):
        try:
            read()
        except (Damaged, FileNotFoundError):
            names.add(name)
    return sorted(names)


def supervision(context: CheckContext) -> Finding:
    """Check that each running job has a supervisor that answers.

    Like every other call that inspects a job, this records an end that no supervisor saw.
    """
    if context.store is None:
        return unopened(context)
    by_fault: dict[str, list[str]] = {"orphaned": [], "lost": [], "unresponsive": [], "unreadable": []}
    running, deadline = 0, time.monotonic() + _ALL_ANSWERS_S
    for job_id in context.store.live_ids():
        try:
            with JobDir.open(context.store, job_id) as job:
                seen = inspect.inspect_job(job)
                silent = seen.supervised and not _answers(context, job, seen.state, deadline)
        except (OSError, OutliveError):
            continue  # it was removed just now
        if seen.damage is not None:
            by_fault["unreadable"].append(job_id)
        elif seen.just_ended:
            by_fault["lost"].append(job_id)
        elif seen.orphaned:
            by_fault["orphaned"].append(job_id)
        elif silent:
            by_fault["unresponsive"].append(job_id)
        running += seen.state.state == "running"
    return _finding(running, by_fault)


def _answers(context: CheckContext, job: JobDir, state: State, deadline: float) -> bool:
    """Return whether the job's supervisor answers a ping, and note its version.

    A supervisor that has ended in the meantime counts as answering: the job has ended too, or is
    taken over.
    """
    supervisor = state.supervisor
    if not supervisor or process.start_time(supervisor.pid) != supervisor.start_time:
        return True
    if stopped(state) is not None:
        return False
    with closing(ControlClient(job, output=False)) as client:
        if not client.request({"op": "ping"}):
            return True
        answer = client.answer(min(deadline, time.monotonic() + _ANSWER_S))
        if answer is not None:
            context.versions[job.job_id] = answer.get("version")
        return answer is not None or not client.connected or time.monotonic() > deadline


_ADVICE = {
    "orphaned": "{0} run without a supervisor: `outlive list --all` or `status` gives them a new one.",
    "lost": "{0} ended unseen, which was found just now: `outlive status` says what is known.",
    "unresponsive": "The supervisor of {0} is stopped or stuck: continue it with kill -CONT.",
    "unreadable": "The files of {0} are damaged: `outlive status` says which.",
}


def _finding(running: int, by_fault: dict[str, list[str]]) -> Finding:
    facts = {name: ids[:_LISTED] for name, ids in by_fault.items()}
    wrong = [name for name, ids in by_fault.items() if ids]
    if not wrong:
        each = ", each with a supervisor that answers" if running else ""
        return ok(f"{running} of this root running{each}", running=running)
    told = f"{running} of this root running; " + ", ".join(f"{name}: {len(by_fault[name])}" for name in wrong)
    advice = " ".join(_ADVICE[name].format(_names(by_fault[name])) for name in wrong)
    return warn(told, advice, running=running, **facts)


def _names(ids: list[str]) -> str:
    more = f" and {len(ids) - 3} others" if len(ids) > 3 else ""
    return ", ".join(ids[:3]) + more
