"""What `outlive doctor` says of what automatic gc deletes."""

from __future__ import annotations

from outlive.core.units import size
from outlive.parts.cleanup import settings, surplus
from outlive.parts.finding import Finding, Place, ok, unopened, warn
from outlive.store import delete, deletions


def automatic(place: Place) -> Finding:
    """Tell the share of the store, how much of it is taken, and what was deleted automatically."""
    if place.store is None or place.config is None:
        return unopened(place)
    told, facts = _deleted(place)
    bounds = settings.bounds(place.config)
    if bounds is None:
        return ok(f"off: [gc] of the configuration bounds nothing{told}", automatic=False, **facts)
    limit = surplus.bytes_of_share(place.store.fd, bounds.max_percent)
    facts |= {"automatic": True, "max_percent": bounds.max_percent, "share_bytes": limit}
    if limit is None:
        return ok(f"on; no share of the file system is set{told}", **facts)
    share = f"at most {size(limit)}, {bounds.max_percent:g} % of the file system"
    facts["used_bytes"] = used = delete.bytes_of_jobs(place.store.path, place.store.fd, place.store.ids())
    text = f"on: jobs take {share}; {size(used)} now{told}"
    if used > limit:
        advice = (
            "What runs, or ended in the last five minutes, is not deleted automatically. `outlive list --all` shows the "
            "jobs, `outlive remove JOB` ends and deletes one; [gc] max_percent sets the share."
        )
        return warn(text, advice, **facts)
    return ok(text, **facts)


def _deleted(place: Place) -> tuple[str, dict[str, object]]:
    assert place.store is not None
    entries = [entry for entry in deletions.entries(place.store) if entry["by"] == "automatic"]
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
