"""Ask the person at this terminal about a job that waits for approval."""

from __future__ import annotations

import sys

from outlive.cli import stdio
from outlive.core.ids import short_id
from outlive.jobs import adoption
from outlive.jobs.permission import approval
from outlive.jobs.permission.person import person, require_person
from outlive.jobs.waiting import drive
from outlive.render.plain_text import readable
from outlive.store import approval as answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.context import Context
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

_WAY = "outlive attach"


def is_pending(job: JobDir, found: Inspection) -> bool:
    """Return whether the job waits for approval."""
    return found.definition.approval is not None and found.state.state == "created" and answers.read(job) is None


def about(ctx: Context, job: JobDir, *, read_only: bool) -> Inspection:
    """Show a pending job and take the person's answer. Return what is true of the job then; a person
    who gives no answer leaves it pending.

    Errors: denied inside a job, invalid_state if another answer was first.
    """
    found: Inspection = adoption.inspect_and_adopt(ctx, job)
    name = short_id(job.job_id)
    stdio.note(_shown(found, name))
    if read_only:
        return found
    require_person()
    said = _line("Run it? y: once, a: always here, n: no [y/a/n, Enter: later] ")
    by = person(_WAY)
    if said in ("y", "yes", "a", "always"):
        found = drive(approval.decide(ctx, job, answers.APPROVED, by=by))
        if said.startswith("a"):
            approval.remember(found.definition, by)
    elif said in ("n", "no"):
        reason = _line("Reason (Enter: none): ", keep=True)
        found = drive(approval.decide(ctx, job, answers.DENIED, by=by, reason=reason or None))
    else:
        stdio.note(f"[job {name} still waits]\n")
        return found
    stdio.note(f"[job {name} {'approved' if found.state.reason != 'denied' else 'denied'}]\n")
    return found


def _shown(found: Inspection, name: str) -> str:
    definition = found.definition
    asked = definition.approval or {}
    why = f": {asked['reason']}" if asked.get("reason") else ""
    lines = [f"Job {name} of {definition.owner} waits for approval ({asked.get('rule')}{why}).", ""]
    lines += [f"  {line}" for line in " ".join(definition.command).splitlines()]
    if " ".join(asked.get("command") or ()) not in " ".join(definition.command):  # a notification command
        lines += ["", "It names another command that has to be approved:", f"  {' '.join(asked['command'])}"]
    lines += ["", f"In {definition.cwd}, until {asked.get('expires_at')}.", ""]
    # What is approved must not be able to hide itself
    return readable("\n".join(lines))


def _line(prompt: str, *, keep: bool = False) -> str:
    """Return the line that the person types; empty at the end of the input and after ^C."""
    stdio.note(prompt)
    try:
        line = sys.stdin.readline().strip()
    except KeyboardInterrupt:
        line = ""
        stdio.note("\n")
    return line if keep else line.lower()
