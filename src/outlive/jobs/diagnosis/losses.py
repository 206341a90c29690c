"""Say what is missing of the output of a job, and why."""

from __future__ import annotations

from outlive.store.job_dir import LOGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.inspect import Inspection
    from outlive.store.output.merged import Output


def told(found: Inspection, output: Output, hidden: int) -> dict[str, Any]:
    """Return the counts of missing bytes, and the sentences about them. `hidden` bytes at the end are
    in the log files, but are not shown."""
    found_losses = [*_missing(output), *_dropped(found, output)]
    hints = [hint for _, _, hint in found_losses]
    if hidden:
        why = "the processes that knew the masked values were killed before they had searched them"
        hints.append(f"The last {hidden:,} bytes of output are not shown, because {why}. The log files have them.")
    return {**{name: count for name, count, _ in found_losses}, "hint": " ".join(hints)}


def _missing(output: Output) -> list[tuple[str, int, str]]:
    count = output.missing_bytes
    if not count:
        return []
    where = [
        f"bytes {start:,} to {stop:,} of {name}"
        for name, spans in zip(LOGS, output.missing, strict=True)
        for start, stop in spans
    ]
    told = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
    how = f"a log was cut or deleted ({told}). Positions still count them."
    return [("missing_bytes", count, f"{count:,} bytes of output are missing: {how}")]


def _dropped(found: Inspection, output: Output) -> list[tuple[str, int, str]]:
    lost, quota = found.state.dropped_bytes, found.definition.quota_bytes
    if not lost:
        return []
    why = "the disk under the job root was full. Free some space."
    if 0 < quota <= output.end and not output.gap.merged.stop:
        why = f"they came after the job's quota of {quota:,} bytes, and this file system cannot punch holes into files."
    return [("dropped_bytes", lost, f"{lost:,} bytes of output are lost, because {why}")]
