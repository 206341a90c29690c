"""Brief answers: which members of a full answer an agent acts on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What `detail: brief` leaves out: what repeats another member, echoes the call, or is nothing to
# act on
FULL_ONLY = frozenset(
    "schema_version sessionId status short_id name command cwd tags owner sandbox resources pid created_at started_at finished_at "
    "updated_at duration_ms elapsed_ms waited_ms idle_ms timeout_ms since_seq env_vars stdout_log_path stderr_log_path "
    "snapshot encoding stdout_bytes stderr_bytes stdout_observed_bytes stderr_observed_bytes stdout_included_bytes "
    "stderr_included_bytes stored_bytes quota_bytes dropped_bytes missing_bytes adopted supervised supervisor "
    "supervisor_pid descendants usage root skipped unreachable_since".split()
)
# Of these types the named members are the answer: brief keeps them, and the marked ones even where
# they are empty
_OWN = {
    "wait": "name",
    "status": "name cwd tags elapsed_ms idle_ms stdout_bytes stderr_bytes descendants",
    "usage": "usage resources",
    "list": "jobs!",
    "events": "events!",
    "screen": "lines!",
    "tag_set": "tags!",
    "gc": "skipped",
}
_MORE_FULL_ONLY = {"gc": "older_than_source out_of_scope bounds automatic leftovers jobs"}
LIST_ENTRY = tuple(
    "job_id state exit_code? signal? reason? name waiting_for_input? started_at? last_line? approval? host? queue? reachable? machine? supervisor_pid? "
    "damage?".split()
)
WAITED_ENTRY = tuple("job_id state exit_code? signal? reason? name fired? last_lines?".split())


def names(type_: str, full: tuple[str, ...]) -> dict[str, bool]:
    """Return which of these members a brief answer of this type has, and which of them even where
    they say nothing."""
    own = {name.removesuffix("!"): name.endswith("!") for name in _OWN.get(type_, "").split()}
    left_out = (FULL_ONLY | set(_MORE_FULL_ONLY.get(type_, "").split())) - own.keys()
    return {name: own.get(name, False) for name in full if name not in left_out}


def of(found: dict[str, Any]) -> dict[str, Any]:
    """Return the brief form of a full answer: members that say nothing are absent."""
    kept = names(found["type"], tuple(found))
    answer = {name: found[name] for name, always in kept.items() if always or _says_something(found[name])}
    for name in ("echo", "reachable"):  # a password is asked for; its host is out of reach
        if found.get(name) is False:
            answer[name] = False
    if found["type"] == "list" and "jobs" in found:
        answer["jobs"] = [of_entry(entry, LIST_ENTRY) for entry in found["jobs"]]
    if found["type"] == "wait" and "jobs" in found:
        answer["jobs"] = [of_entry(entry, WAITED_ENTRY) for entry in found["jobs"]]
    never_ran = found["type"] == "kill" and (found.get("state"), found.get("reason")) == ("failed", "kill")
    if found.get("already_ended") or never_ran:  # the signal that was asked for, and not sent
        answer.pop("signal", None)
    if found["type"] == "tail":
        from outlive.render.plain_text import readable

        answer |= {name: readable(answer[name]) for name in ("stdout_tail", "stderr_tail") if name in answer}
    return answer


def of_entry(entry: dict[str, Any], kept: tuple[str, ...]) -> dict[str, Any]:
    """Return the brief form of one job of an answer about several."""
    names_kept = [one.removesuffix("?") for one in kept]
    return {
        name: entry[name]
        for name in names_kept
        if _says_something(entry.get(name)) or (name == "reachable" and entry.get(name) is False)
    }


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value not in ("", [], {})
