"""Why a job is not there: gc may have deleted it, another session removed it, or somebody deleted
its directory while it ran."""

from __future__ import annotations

import os
import shlex

from outlive.core.ids import is_id
from outlive.core.quoted import cut, visible
from outlive.errors import OutliveError, per_face
from outlive.jobs.context import Principal
from outlive.store import deletions
from outlive.store.job_dir import JobDir
from outlive.system import tree

_SHOWN = 5  # processes
_COMMAND_CHARS = 60
_WHY = {
    "older_than": "it ended longer ago than jobs are kept",
    "max_jobs": "there were more finished jobs than are kept",
    "max_bytes": "the jobs took more bytes than they may",
    "max_percent": "the jobs took more than their share of the file system",
}


def explained(caller: Principal, text: str, error: OutliveError) -> OutliveError:
    """Return the error job_not_found for `text`, which says when and why gc deleted the job, or who
    removed it, if that is known, or which of its processes run. A job behind the wall was never there."""
    deletion = deletions.find(caller.store, text, caller.wall)
    if deletion is None:
        wanted = text.strip().upper()
        return error if caller.wall is not None or not is_id(wanted) else _running(caller, wanted) or error
    bound, details = str(deletion["bound"]), {"deleted_at": deletion["at"]}
    what = f"{deletion['by']} removed it on {deletion['at']}"
    if bound != deletions.REMOVED:
        details["bound"] = bound
        # What is kept without a word says the configuration; a call of gc may have said something else
        by, given = ("automatic gc", f"[gc] {bound}") if deletion["by"] == "automatic" else ("gc", f"its {bound}")
        what = f"{by} deleted it on {deletion['at']}, because {_WHY.get(bound, 'it was beyond a bound')} ({given})"
    hint = "Its output is gone. Run the command again if you need it."
    return OutliveError("job_not_found", f"no job {text!r}: {what}", hint=hint, details=details)


def _running(caller: Principal, job_id: str) -> OutliveError | None:
    """Return the error of a job that is not in this root and whose processes run; None if none does."""
    members = tree.with_cookie(job_id)
    if not members:
        return None
    mark = b"OUTLIVE_ROOT="
    variable = next((word for word in tree.environment(members[0].pid) if word.startswith(mark)), mark)
    root = os.fsdecode(variable[len(mark) :])
    if root and root != caller.store.path and os.path.isdir(os.path.join(root, job_id)):
        return OutliveError(
            "job_not_found",
            f"no job {job_id!r} in the job root {caller.store.path}: it is in {root}",
            hint=per_face(
                f"Repeat the call with --root {shlex.quote(root)}.", "The user can name that root for this server."
            ),
        )
    said, hint = still_run(members)
    return OutliveError("job_not_found", f"no job {job_id!r}: its directory was deleted; {said}", hint=hint)


def meanwhile(job: JobDir) -> OutliveError:
    """Return the error of a job whose directory was deleted while a call was at work in it."""
    message, hint = f"job {job.job_id} was removed during this call", "Its output and its outcome are gone."
    root = os.path.dirname(job.path)
    if not os.path.isdir(root):
        message = f"the job root {root} was deleted during this call, and job {job.job_id} with it"
    if members := tree.with_cookie(job.job_id):
        said, hint = still_run(members)
        message = f"{message}; {said}"
    return OutliveError("job_not_found", message, hint=hint)


def lost(job_id: str) -> str:
    """Return what became of a job whose directory was deleted before its end was told, and what can be done."""
    members = tree.with_cookie(job_id)
    if not members:
        return "its directory was deleted, and with it its output and its outcome; none of its processes runs"
    return f"its directory was deleted; {'. '.join(still_run(members))}"


def still_run(members: list[tree.Member]) -> tuple[str, str]:
    """Return which processes of a deleted job run, and how they can be ended."""
    pids = [member.pid for member in members]
    shown = ", ".join(f"{pid} ({_command(pid)})" for pid in pids[:_SHOWN])
    more = f" and {len(pids) - _SHOWN} more" if len(pids) > _SHOWN else ""
    these, it = ("a process of it still runs", "it") if len(pids) == 1 else ("processes of it still run", "them")
    ends = f"`kill {' '.join(map(str, pids))}` ends {it}. Its output and its outcome are lost."
    return f"{these}: {shown}{more}", ends


def _command(pid: int) -> str:
    return cut(visible(" ".join(tree.command_line(pid).split())), _COMMAND_CHARS)
