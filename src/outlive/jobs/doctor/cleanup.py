"""Automatic gc: how much of the file system the store may take, and what was deleted of late."""

from __future__ import annotations

from outlive.core.units import timestamp
from outlive.jobs.doctor.finding import Finding, Place, ok, unopened, warn
from outlive.jobs.doctor.root import size
from outlive.store.cleanup import deletions, when_to_collect


def automatic(place: Place) -> Finding:
    """Tell the share of the store, how much of it was taken when it was last measured, and what
    was deleted since."""
    if place.store is None or place.config is None:
        return unopened(place)
    told, facts = _deleted(place)
    bounds = place.config.bounds()
    if bounds is None:
        return ok(f"off: [gc] of the configuration bounds nothing{told}", automatic=False, **facts)
    limit = when_to_collect.share(place.store.fd, bounds.max_percent)
    last = when_to_collect.Last.of_root(place.store.fd)
    facts |= {"automatic": True, "max_percent": bounds.max_percent, "share_bytes": limit}
    if limit is None:
        return ok(f"on; no share of the file system is set{told}", **facts)
    share = f"at most {size(limit)}, {bounds.max_percent:g} % of the file system"
    if last is None or not last.measured_at:
        return ok(f"on: jobs take {share}; not measured yet{told}", **facts)
    facts |= {"used_bytes": last.used_bytes, "measured_at": timestamp(last.measured_at)}
    text = f"on: jobs take {share}; {size(last.used_bytes)} on {facts['measured_at']}{told}"
    if last.used_bytes > limit:
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
