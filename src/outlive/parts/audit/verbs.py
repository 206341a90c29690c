"""Show the audit record."""

from __future__ import annotations

from collections.abc import Iterator

from outlive import limits
from outlive.core.base_directories import state_directory
from outlive.core.units import moment, timestamp
from outlive.errors import OutliveError, argument, from_os, invalid
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.parts.audit import settings
from outlive.parts.audit.answers import Audit
from outlive.parts.audit.reader import Reader
from outlive.parts.audit.record import END, FILE, SYSLOG
from outlive.store.inspection import inspect
from outlive.verbs import canonical
from outlive.verbs.spec import INT, STR, Arg, Verb

_STARTS = frozenset({"run", "start", "restart"})
_OUTCOME = ("state", "exit_code", "signal", "reason", "message", "ended_by", "finished_at", "duration_ms")
_FILTERS = ("token", "verb", "owner", "face")


def audit(
    ctx: Context,
    *,
    since: str | None = None,
    job: str | None = None,
    limit: int,
    before: str | None = None,
    **filters: str | None,
) -> Audit:
    """Return the entries that fit all filters, the newest first, each start with the outcome of its
    job. Errors: invalid_argument, io_error."""
    oldest = None if since is None else timestamp(moment(since, argument("since")))
    if job is not None and len(job) < limits.ID_PART_CHARS:
        raise invalid("job", f"name the job by {limits.ID_PART_CHARS} or more characters of its id")
    wanted = {name: value for name in _FILTERS if (value := filters.get(name)) is not None}
    if "verb" in wanted:
        wanted["verb"] = canonical(wanted["verb"]) or wanted["verb"]
    told, directory = settings.of(ctx.config), state_directory(ctx.env)
    reader = Reader(directory)
    entries: list[dict[str, object]] = []
    more = False
    try:
        for entry in _chosen(reader, wanted, job, oldest, before):
            if len(entries) == limit and limit:
                more = True
                break
            is_start = entry["verb"] in _STARTS
            entries.append({**entry, "outcome": _outcome(ctx, reader, entry)} if is_start else entry)
    except OSError as error:
        raise from_os(f"reading the audit record in {directory}", error) from error
    return Audit(
        to=told.to,
        path=reader.paths[0],
        required=told.required,
        entries=entries,
        next_before=str(entries[-1]["id"]) if more else None,
        unreadable=reader.unreadable,
        hint=_hint(told.to, entries, before),
    )


def _chosen(
    reader: Reader, wanted: dict[str, str], job: str | None, oldest: str | None, before: str | None
) -> Iterator[dict[str, object]]:
    waiting = before is not None
    for entry in reader.entries():
        if waiting:  # entries of one moment may stand in any order: the place counts, not the time
            waiting = entry["id"] != before
            continue
        if oldest is not None and str(entry.get("at")) < oldest:
            # Not the end: clocks are set back, and lines of one moment change places
            continue
        if entry["verb"] == END and wanted.get("verb") != END:
            continue
        if any(entry.get(name) != value for name, value in wanted.items()):
            continue
        name = str(entry.get("job_id") or "")
        if job is None or name.startswith(job.upper()) or name.endswith(job.upper()):
            yield entry


def _outcome(ctx: Context, reader: Reader, entry: dict[str, object]) -> dict[str, object] | None:
    """Return how the job of a start ended: what its supervisor recorded, else what its directory
    says now; None if both are gone."""
    job_id = str(entry.get("job_id"))
    end = reader.end_of(job_id)
    if end is None and entry.get("root") == ctx.store.path:
        try:
            with lookup.open_known(ctx.caller, job_id) as job:
                end = inspect.inspect_job(job).state.to_dict()
        except (OSError, OutliveError):
            return None
    return None if end is None else {name: end[name] for name in _OUTCOME if end.get(name) is not None}


def _hint(to: str, entries: list[dict[str, object]], before: str | None) -> str | None:
    if to == SYSLOG:
        return "The record goes to syslog: `journalctl -t outlive -o cat` shows it."
    if to != FILE:
        return 'Nothing is recorded now: write to = "file" under [audit] into the configuration.'
    return "No entry fits, or the entry named by --before was deleted by rotation." if before and not entries else None


AUDIT = Verb(
    "audit",
    "Show who did what: the audit record, the newest entry first.",
    audit,
    group="Decide",
    args=(
        Arg("since", STR, "Entries not older than this: a duration such as 2h or 7d, or a time such as "
            "2026-11-22T14:00:00Z.", metavar="WHEN"),
        Arg("token", STR, "Entries of this token.", metavar="NAME"),
        Arg("job", STR, f"Entries about this job: its id, or {limits.ID_PART_CHARS} or more characters of its beginning or end.", cli="--job",
            metavar="JOB"),
        Arg("verb", STR, "Entries of this verb: run, kill, write, …; end: the lines about the ends of jobs.",
            metavar="VERB"),
        Arg("owner", STR, "Entries of this owner.", metavar="NAME"),
        Arg("face", STR, "Entries by this way in.", choices=("cli", "stdio", "http")),
        Arg("limit", INT, "Most entries; 0: no limit.", default=100, minimum=0, metavar="N"),
        Arg("before", STR, "Only entries before this one, the next_before of an earlier answer.", metavar="ID"),
    ),
    result=Audit,
    detail="Nothing is recorded unless [audit] of the configuration says where: to = \"file\" or \"syslog\".",
)  # fmt: skip
