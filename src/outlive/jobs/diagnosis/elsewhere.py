"""Say where a job on another machine is, and what can be done about it from here."""

from __future__ import annotations

from outlive.answers.job import Place
from outlive.errors import OutliveError
from outlive.hosts import engines
from outlive.jobs.control_client import ask
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir


def place(inspection: Inspection, job: JobDir) -> Place:
    """Return where the job is: its machine, or its host with what is known there."""
    if inspection.definition.host is None:
        return Place(machine=machine_of(inspection))
    return engines.place(job, inspection.definition, inspection.state.state)


def machine_of(inspection: Inspection) -> str:
    machine = inspection.state.machine or inspection.definition.machine
    return str(None if machine is None else machine.name)


def asked(inspection: Inspection, job: JobDir, verb: str) -> tuple[dict[str, object] | None, int | None]:
    """Ask the host of a job what the job uses now, if it is to be asked for this verb. Return its usage, as answers
    have it, and the number of its descendants, each None if it is not known, as of a job of this machine."""
    is_there = inspection.elsewhere and inspection.supervised and inspection.definition.host is not None
    if not is_there or not engines.tells_use(job, inspection.definition, verb):
        return None, None
    try:
        answer = ask(job, {"op": "usage"})
    except OutliveError:  # the connection broke, or the job has ended meanwhile
        return None, None
    return answer.get("usage"), answer.get("descendants")


def hint(inspection: Inspection, job: JobDir) -> str | None:
    """Return what to do about a job that waits for its start there or cannot be asked about here;
    else None."""
    if inspection.state.finished:
        return None
    where = place(inspection, job)
    if where.machine is not None:
        return f"Its processes are on {where.machine}: only there can be seen whether it still runs, and only there it takes kill and write."
    if where.reachable is False:
        return f"Host {where.host} is out of reach since {where.unreachable_since}; this is what was known then."
    if where.queue is not None:
        reason = str(where.queue.get("reason") or "")
        why = f" ({reason})" if reason else ""
        then = engines.advice(job, inspection.definition, reason) or "wait tells when it ends; kill cancels it."
        return f"It waits for its start on {where.host}{why}. {then}"
    return None
