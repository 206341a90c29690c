"""Events of a job as lines for a reader."""

from __future__ import annotations

_HITS = {
    "watch_hit": "{watch} ({pattern}) {stream}: {line}",
    "watch_suppressed": "{watch} ({pattern}) {count} more matches up to here; the last: {line}",
}


def about(event: dict[str, object]) -> str:
    """Return the members of an event other than its number, time, position and type, as one line."""
    rest = {key: value for key, value in event.items() if key not in ("n", "seq", "at", "type", "job_id")}
    try:
        return _HITS[str(event["type"])].format(**rest)
    except KeyError:  # another type, or a line that the job itself wrote
        pass
    return ", ".join(f"{name} {word(value)}" for name, value in rest.items() if value is not None)


def word(value: object) -> str:
    """Return a value of a member on one line."""
    if isinstance(value, dict):
        return f"({', '.join(f'{name} {word(one)}' for name, one in value.items() if one is not None)})"
    if isinstance(value, list):
        return f"({', '.join(map(word, value))})"
    return str(value).lower() if isinstance(value, bool) else str(value)
