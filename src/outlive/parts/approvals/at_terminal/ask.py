"""Ask the person at this terminal about a job that waits for approval."""

from __future__ import annotations

import shutil
import sys

from outlive.cli import stdio
from outlive.core.ids import short_id
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.parts.approvals import answer_file, facts, question_record, wait_for_answer
from outlive.parts.approvals.person import require_person_here
from outlive.parts.approvals.verbs.approve import NO_TITLES
from outlive.parts.user import person
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir

_WAY = "outlive attach"
QUESTION = "Run it? y: once, a: always here, n: no, with a reason behind it [y/a/n, Enter: later] "
_ONCE, _ALWAYS, _NO = ("y", "yes", "allow", "approve"), ("a", "always"), ("n", "no", "deny")
_GOES_ON = "    | "
_LEAST_COLUMNS = 20


def is_pending(job: JobDir, inspection: Inspection) -> bool:
    return (
        question_record.is_asked(inspection.definition)
        and inspection.state.state == "created"
        and answer_file.read(job) is None
    )


def about(ctx: Context, job: JobDir, *, read_only: bool) -> Inspection:
    """Show a pending job and take the person's answer. Return what is true of the job then; a person who gives no
    answer leaves it pending. Errors: denied inside a job, invalid_state if another answer was first."""
    inspection: Inspection = adoption.inspect_and_adopt(ctx, job)
    stdio.note(shown(inspection))
    if read_only:
        return inspection
    require_person_here(ctx.store)
    return take(ctx, job, inspection, _line(QUESTION), _WAY)


def take(ctx: Context, job: JobDir, inspection: Inspection, line: str, way: str) -> Inspection:
    """Take a person's answer, a word and perhaps a reason, about a pending job, and say what became of it. Return what
    is true of the job then. Errors: as `about`."""
    if line.strip().lower() in _NO and (reason := _line("Reason (Enter: none): ")):
        line = f"{line.strip()} {reason}"
    after = decide(ctx, job, inspection, line, way)
    stdio.note(f"[{what_became(after)}]\n")
    return after


def decide(ctx: Context, job: JobDir, inspection: Inspection, line: str, way: str) -> Inspection:
    """Take a person's answer as `take`; print nothing. An answer that is none leaves the job pending."""
    word, _, reason = line.strip().partition(" ")
    word, reason, by = word.lower(), reason.strip(), person(way)
    if word not in (*_ONCE, *_ALWAYS, *_NO):
        return inspection
    state = answer_file.DENIED if word in _NO else answer_file.APPROVED
    return wait_for_answer.decide(ctx, job, state, by=by, reason=reason or None, always=word in _ALWAYS)


def what_became(inspection: Inspection) -> str:
    state = inspection.state
    became = "still waits" if state.state == "created" else "denied" if state.reason == "denied" else "approved"
    return f"job {short_id(inspection.definition.job_id)} {became}"


def before_approving(ctx: Context, job: str) -> None:
    """Show the person at this terminal what `approve` is about to approve, and ask once more. Errors: invalid_state if
    the person does not want it."""
    with lookup.open_exactly(ctx, job, "approve", NO_TITLES) as opened:
        inspection: Inspection = adoption.inspect_and_adopt(ctx, opened)
        if not is_pending(opened, inspection):  # approve says why
            return
        name = short_id(opened.job_id)
        stdio.note(shown(inspection))
        if _line("Run it? [y/N] ").lower() not in ("y", "yes"):
            raise OutliveError("invalid_state", f"job {name} was not approved; it still waits")


def shown(inspection: Inspection) -> str:
    definition = inspection.definition
    name = short_id(definition.job_id)
    lines = [piece for line in facts.text(definition).splitlines() for piece in _folded(line)]
    until = question_record.of(definition).expires_at
    return "\n".join([f"Job {name} waits for approval until {until}.", "", *lines, ""])


def _folded(line: str) -> list[str]:
    """Return a fact in lines of this terminal, each but the first marked as a part of it: where the terminal folds it,
    the rest would look like another fact."""
    # A character outside of ASCII may take two columns
    room = max(_LEAST_COLUMNS, shutil.get_terminal_size().columns - len(_GOES_ON)) // (1 if line.isascii() else 2)
    pieces = [line[at : at + room] for at in range(0, len(line), room)]
    return [f"  {pieces[0]}", *(_GOES_ON + piece for piece in pieces[1:])]


def _line(prompt: str) -> str:
    """Return the line that the person types; empty at the end of the input and after ^C."""
    stdio.note(prompt)
    try:
        return sys.stdin.readline().strip()
    except KeyboardInterrupt:
        stdio.note("\n")
        return ""
