"""What `outlive doctor` says of what automatic gc deletes."""

from __future__ import annotations

from outlive.core.units import size
from outlive.parts.cleanup import settings, surplus
from outlive.parts.finding import CheckContext, Finding, ok, unopened, warn
from outlive.store import delete, deletions


def automatic(context: CheckContext) -> Finding:
    """Tell the share of the store, how much of it is taken, and what was deleted automatically."""
    if context.store is None or context.config is None:
        return unopened(context)
    told, facts = _deleted(context)
    bounds = settings.bounds(context.config)
    if bounds is None:
        return ok(f"off: [gc] of the configuration bounds nothing{told}", automatic=False, **facts)
    limit = surplus.bytes_of_share(context.store.fd, bounds.max_percent)
    facts |= {"automatic": True, "max_percent": bounds.max_percent, "share_bytes": limit}
    if limit is None:
        return ok(f"on; no share of the file system is set{told}", **facts)
    share = f"at most {size(limit)}, {bounds.max_percent:g} % of the file system"
    facts["used_bytes"] = used = delete.bytes_of_jobs(context.store.path, context.store.fd, context.store.ids())
    text = f"on: jobs take {share}; {size(used)} now{told}"
    if used > limit:
        advice = (
            "What runs, or ended in the last five minutes, is not deleted automatically. `outlive list --all` shows the "
            "jobs, `outlive remove JOB` ends and deletes one; [gc] max_percent sets the share."
        )
        return warn(text, advice, **facts)
    return ok(text, **facts)


def _deleted(context: CheckContext) -> tuple[str, dict[str, object]]:
    assert context.store is not None
    entries = [entry for entry in deletions.entries(context.store) if entry["by"] == "automatic"]
    if not entries:
        return "; nothing was deleted automatically", {"deleted": 0}
    freed = sum(int(entry["bytes"]) for entry in entries)
    facts = {
        "deleted": len(entries),
        "deleted_bytes": freed,
        "deleted_from": entries[-1]["at"],
        "deleted_to": entries[0]["at"],
    }
    jobs = "1 job was" if len(entries) == 1 else f"{len(entries):,} jobs were"
    return f"; {jobs} deleted ({size(freed)}), the last on {entries[0]['at']}", facts
