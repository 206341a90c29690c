"""What gc deleted and kept, as text: for a model and for a person."""

from __future__ import annotations

from outlive.cli import human
from outlive.cli.text import Style
from outlive.core.ids import short_id
from outlive.core.members import Members, entries_of, number_of, text_of
from outlive.core.quoted import visible
from outlive.core.units import counted, size
from outlive.mcp.tools import sentences
from outlive.parts.cleanup.answers import IN_WINDOW

_KEPT_JOBS = 4  # named of those that gc kept


def for_model(answer: Members) -> tuple[str, list[str]]:
    """Return no text of a job, and our lines (part.py)."""
    dry = answer.get("dry_run")
    would = sum(job.get("action") == "would_delete" for job in entries_of(answer, "jobs"))
    count = would if dry else number_of(answer, "deleted")
    word = "Would delete" if dry else "Deleted"
    freed = f"{answer.get('freed_bytes') or 0:,} bytes"
    age = _age_of_deleted(answer)
    is_window_alone = not count and answer.get("skipped") and age and not age.endswith(" 0s")
    every = "; older_than=0s takes all that have ended" if is_window_alone else ""
    others = number_of(answer, "out_of_scope")
    left = f" Not yours, and left alone: {counted(others, 'job')}." if others else ""
    return "", [
        f"{word} {counted(count, 'finished job')}{age} ({freed}); {answer.get('skipped') or 0} kept{_kept(answer)}{every}.{left}",
        f"All jobs together: {counted(number_of(answer, 'used_jobs'), 'job')}, {answer.get('used_bytes') or 0:,} bytes on disk.",
        *sentences.hint(answer),
    ]


def _kept(answer: Members) -> str:
    """Return which jobs gc kept for another reason than their age, and why: the first few."""
    jobs = [
        job for job in entries_of(answer, "jobs") if job.get("action") == "skipped" and job.get("reason") != IN_WINDOW
    ]
    named = [f"{short_id(text_of(job, 'job_id'))}: {job.get('reason')}" for job in jobs[:_KEPT_JOBS]]
    more = [f"{len(jobs) - len(named)} more"] if len(jobs) > len(named) else []
    return f" ({'; '.join([*named, *more])})" if named else ""


def _age_of_deleted(answer: Members) -> str:
    """Return " older than 30d" if each job that gc deleted was; "" if one went for another bound, or not all are listed."""
    whys = [text_of(job, "reason") for job in entries_of(answer, "jobs") if job.get("action") != "skipped"]
    by_age = not answer.get("truncated") and all(why.startswith("older_than") for why in whys)
    return f" older than {text_of(answer, 'older_than')}" if by_age and answer.get("older_than") else ""


# --- for a person ---


def for_person(answer: Members, style: Style, *, verbose: bool) -> str:
    """Return a sentence; with `verbose` every member."""
    about = human.fields(dict(answer), style) if verbose else _deleted(answer)
    return "\n".join(filter(None, (about, human.hint(dict(answer)))))


def _deleted(answer: Members) -> str:
    would = [job for job in entries_of(answer, "jobs") if job["action"] == "would_delete"]
    did, count = ("Would delete", len(would)) if answer["dry_run"] else ("Deleted", number_of(answer, "deleted"))
    left = f"{counted(number_of(answer, 'used_jobs'), 'job')} ({size(number_of(answer, 'used_bytes'))}) {'are' if answer['dry_run'] else 'stay'}"
    gone = f"{counted(count, 'job')}{visible(_age_of_deleted(answer))}, {size(number_of(answer, 'freed_bytes'))}"
    return f"{did} {gone}; {left} in {visible(text_of(answer, 'root'))}.\n"
