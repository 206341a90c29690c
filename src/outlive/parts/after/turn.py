"""The turn of a job of a host that waited on this machine: it is given to its host.

As long as it waits it is as any job of this machine that waits: it has a supervisor and a guardian. At its turn they start
the process here, which has the lock of the supervisor too, and let go of the job. Whichever of these processes is killed, at
most one gives the job away: who does holds both locks, and only of a job that still waits. If all are killed, the next reader
gives the job supervisors that wait anew.
"""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress

from outlive.core.members import parse_json
from outlive.core.records import State
from outlive.errors import OutliveError
from outlive.jobs import adoption
from outlive.jobs.context import Context
from outlive.jobs.starting.plan import Plan
from outlive.launch import engines
from outlive.parts.after import own_process
from outlive.store.inspection import handed_over, unseen_end
from outlive.store.job_dir import JobDir, Locks
from outlive.supervisor.request import Request, report_fault
from outlive.system import fault_points, fds

_LOCKS_S, _LOCK_AGAIN_S = 10.0, 0.01  # its guardian lets go in a moment; one that takes over waits for this process
_LOCK = 3  # of the supervisor: the open file
_NOTHING_RUN = "; nothing was run"


def main() -> None:
    request = Request.of(parse_json(fds.read_all(0)))
    try:
        _give(request)
    except Exception as error:
        report_fault(request, "turn", error)
        raise


def _give(request: Request) -> None:
    """Give the job to its host; end it if the host does not take it. Errors: OSError."""
    fault_points.at("turn_told")
    with suppress(FileNotFoundError), request.open_job() as job:  # it was removed meanwhile
        locks = _locks(job)
        if locks is None:
            return
        with closing(locks):
            state = job.read_state()
            if state is None or not state.waits or not job.is_in_place():
                return  # another process gave it away, or it was ended
            fault_points.at("turn_locked")
            # From here on its host has it, as of a job that is started there
            job.write_state(State(job_id=job.job_id, state="created", phase="created", kept=state.kept))
            try:
                _submit(request, job, locks)
                return
            except OutliveError as error:
                handed_over.delete(job)
                _end(job, error)
        with suppress(OSError, OutliveError):  # have its sinks told, as a later reader would
            adoption.inspect_and_adopt(_context(request), job)


def _locks(job: JobDir) -> Locks | None:
    """Return the locks of the job, once its guardian has let go of it; None if it does not. Errors: OSError."""
    until = time.monotonic() + _LOCKS_S
    while time.monotonic() < until:
        try:
            locks = Locks(job, os.dup(_LOCK))
        except BlockingIOError:
            time.sleep(_LOCK_AGAIN_S)
            continue
        os.close(_LOCK)
        return locks
    return None


def _submit(request: Request, job: JobDir, locks: Locks) -> None:
    """Errors: OutliveError; then nothing was handed over."""
    ctx = _context(request)
    definition = job.read_meta()
    name = str(definition.host)
    if name not in ctx.config.hosts():
        raise OutliveError("launch_failed", f"the configuration has no host {name!r} any more")
    host = engines.host_of(ctx.config, name)
    plan = Plan(definition=definition, overrides=request.overrides, stdin_data=job.read_stdin_data())
    host.engine.submit(ctx.caller, host, job, plan, locks, awaited=False)


def _context(request: Request) -> Context:
    """Errors: OSError, config_error."""
    return own_process.context(
        request.root, request.environment, "run", request.sink_shell, config=request.config, known=request.known
    )


def _end(job: JobDir, error: OutliveError) -> None:
    """Write down that a job never ran, since its host did not take it. Its locks are held."""
    state = State(job_id=job.job_id, state="created", phase="created")
    unseen_end.end_never_ran(job, job.read_meta(), state, f"{error.message.removesuffix(_NOTHING_RUN)}; it never ran")
