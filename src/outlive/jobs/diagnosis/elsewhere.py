"""Say where a job on another machine is, and what can be done about it from here."""

from __future__ import annotations

from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


def place(found: Inspection, job: JobDir) -> dict[str, Any]:
    """Return where the job is: its machine, or its host with what is known there."""
    if found.definition.host is None:
        return {"machine": machine_of(found)}
    from outlive.hosts import engines  # late: a job of this user on another machine has no host

    return engines.described(job, found.definition, found.state.state)


def machine_of(found: Inspection) -> str:
    """Return the name of the machine that has the processes of a job."""
    record = found.state.machine or found.definition.machine or {}
    return str(record.get("name"))


def looked(found: Inspection, job: JobDir, verb: str) -> Waiting[dict[str, Any]]:
    """Ask the host of a job what the job uses now, if it is to be asked for this verb. Return
    {usage, descendants}, each only if it is known."""
    if not found.supervised or found.definition.host is None:
        return {}
    from outlive.hosts import engines

    if not engines.tells_use(job, found.definition, verb):
        return {}
    from outlive.jobs.control_client import ask

    try:
        answer = yield from ask(job, {"op": "usage"})
    except OutliveError:  # the connection broke, or the job has ended meanwhile
        return {}
    return {name: answer[name] for name in ("usage", "descendants") if answer.get(name) is not None}


def hint(found: Inspection, job: JobDir) -> str | None:
    """Return what to do about a job that waits for its start there or cannot be asked about here;
    else None."""
    if found.state.finished:
        return None
    where = place(found, job)
    if "machine" in where:
        name = where["machine"]
        return f"Its processes are on {name}: only there can be seen whether it still runs, and only there it takes kill and write."
    if where.get("reachable") is False:
        return f"Host {where['host']} is out of reach since {where['unreachable_since']}; this is what was known then."
    if "queue" in where:
        from outlive.hosts import engines

        reason = where["queue"].get("reason")
        why = f" ({reason})" if reason else ""
        then = engines.advice(job, found.definition, reason) or "wait tells when it ends; kill cancels it."
        return f"It waits for its start on {where['host']}{why}. {then}"
    return None
