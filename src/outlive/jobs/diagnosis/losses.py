"""Say what is missing of the output of a job, and why."""

from __future__ import annotations

from outlive.answers.job import Losses
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import LOGS
from outlive.store.output.merged import Output


def add(lost: Losses, inspection: Inspection, output: Output, hidden: int) -> None:
    """Add the counts of missing bytes, and the sentences about them. `hidden` bytes at the end are
    in the log files, but are not shown."""
    hints = []
    if output.missing_bytes:
        lost.missing_bytes = output.missing_bytes
        hints.append(_missing(output))
    if inspection.state.dropped_bytes:
        lost.dropped_bytes = inspection.state.dropped_bytes
        hints.append(_dropped(inspection, output))
    if hidden:
        why = "the processes that knew the masked values were killed before they had searched them"
        hints.append(f"The last {hidden:,} bytes of output are not shown, because {why}. The log files have them.")
    lost.hint = " ".join(hints)


def _missing(output: Output) -> str:
    where = [
        f"bytes {start:,} to {stop:,} of {name}"
        for name, spans in zip(LOGS, output.missing, strict=True)
        for start, stop in spans
    ]
    places = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
    how = f"a log was cut or deleted ({places}). Positions still count them."
    return f"{output.missing_bytes:,} bytes of output are missing: {how}"


def _dropped(inspection: Inspection, output: Output) -> str:
    quota = inspection.definition.quota_bytes
    why = "the disk under the job root was full. Free some space."
    limit = inspection.state.file_limit
    if limit is not None:
        why = (
            f"no file of its supervisor may be larger than {limit:,} bytes (`ulimit -f` of what started it): raise it."
        )
    elif 0 < quota <= output.end and not output.gap.merged.stop:
        why = f"they came after the job's quota of {quota:,} bytes, and this file system cannot punch holes into files."
    return f"{inspection.state.dropped_bytes:,} bytes of output are lost, because {why}"
