"""Say where a job on another machine is, and what can be done about it from here."""

from __future__ import annotations

from outlive.answers.job import Elsewhere
from outlive.core.members import object_of
from outlive.core.records import EngineRecord
from outlive.errors import OutliveError
from outlive.jobs.control_client import ask
from outlive.launch import engines
from outlive.store.inspection import handed_over
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


def elsewhere(inspection: Inspection, job: JobDir) -> Elsewhere:
    """Return where the job is: its machine, or its host with what is known there."""
    host = inspection.definition.host
    if host is None:
        return Elsewhere(machine=machine_of(inspection))
    record = handed_over.read(job) or EngineRecord()
    queue = record.queue if inspection.state.state == "created" else None
    return Elsewhere(
        host=host,
        engine=None if record.engine is None else record.engine.to_dict(),
        queue=None if queue is None else queue.to_dict(),
        reachable=False if record.unreachable_since is not None else None,
        unreachable_since=record.unreachable_since,
    )


def machine_of(inspection: Inspection) -> str:
    machine = inspection.state.machine or inspection.definition.machine
    return str(None if machine is None else machine.name)


def asked(inspection: Inspection, job: JobDir, verb: str) -> tuple[dict[str, object] | None, int | None]:
    """Ask the host of a job what the job uses now, if it is to be asked for this verb. Return its usage, as answers
    have it, and the number of its descendants, each None if it is not known, as of a job of this machine."""
    if not (inspection.elsewhere and inspection.supervised):
        return None, None
    record, engine = handed_over.read(job), engines.of_job(job, inspection.definition)
    is_reached = record is None or record.unreachable_since is None
    if not is_reached or engine is None or verb not in engine.tells_use:
        return None, None
    try:
        answer = ask(job, {"op": "usage"})
    except OutliveError:  # the connection broke, or the job has ended meanwhile
        return None, None
    alive = answer.get("descendants")
    return object_of(answer, "usage") or None, alive if isinstance(alive, int) else None


def hint(inspection: Inspection, job: JobDir) -> str | None:
    """Return what to do about a job that waits for its start there or cannot be asked about here;
    else None."""
    if inspection.state.finished:
        return None
    where, engine = elsewhere(inspection, job), engines.of_job(job, inspection.definition)
    if engine is not None and engine.missing is not None:
        return f"It was handed to {where.host}, and {engine.missing}. This is what was known."
    if where.machine is not None:
        return f"Its processes are on {where.machine}: only there can be seen whether it still runs, and only there it takes kill and write."
    if where.reachable is False:
        return f"Host {where.host} is out of reach since {where.unreachable_since}; this is what was known then."
    if where.queue is not None:
        reason = str(where.queue.get("reason") or "")
        why = f" ({reason})" if reason else ""
        then = (engine and engine.advice(reason)) or "wait tells when it ends; kill cancels it."
        return f"It waits for its start on {where.host}{why}. {then}"
    return None
