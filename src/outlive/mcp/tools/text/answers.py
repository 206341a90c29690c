"""The text of an answer: the job's output first, then short lines of ours that say what to do next.

Output is data: a blank line separates it from our words. Some clients show only this text, others
only the structured answer, so neither may depend on the other. sentences.py words how a job ended;
a hint comes from jobs/job_answer.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from outlive.core.records import FINISHED
from outlive.mcp.tools.text import sentences
from outlive.render import events
from outlive.render.rows import folded

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Found = dict[str, Any]


def render(found: Found, *, process: bool = True) -> str:
    """Return the text of an answer. `process`: the process tool is offered, and may be named."""
    if not found.get("ok"):
        return "\n".join([_error(found["error"]), *sentences.notices(found)])
    body, words = _BY_TYPE.get(found["type"], _plain)(found, process)
    lines = [*words, *sentences.clamped(found), *sentences.notices(found)]
    if not lines:
        return body
    return "\n\n".join(part for part in (body.rstrip("\n"), "\n".join(lines)) if part)


def _error(error: Found) -> str:
    lines = [f"{error['code']}: {error['message']}"]
    if error.get("hint"):
        lines.append(error["hint"])
    candidates = (error.get("details") or {}).get("candidates")
    if candidates:
        lines.append("Candidates: " + ", ".join(_candidate(one) for one in candidates))
    if error.get("retryable"):
        lines.append("The same call may succeed later.")
    return "\n".join(lines)


def _candidate(one: Any) -> str:
    return f"{one.get('job_id')} ({one.get('name')})" if isinstance(one, dict) else str(one)


# --- one function a type: (body, lines of ours) ----------------------------------------------------------------------


def _run(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = sentences.gap(found, process)
    if found.get("deduplicated"):
        lines.append("A job with this dedupe_key was running already: this is that job, nothing was started.")
    if found.get("restarted_from"):
        lines.append(f"Restart of job {found['restarted_from']}; this is job {found['job_id']}.")
    fired = found.get("fired")
    if fired and not sentences.is_exit(fired):
        lines.append(sentences.condition(fired))
    if found.get("timed_out"):
        lines.append(f"Not yet, after {sentences.duration_of(found, 'waited_ms')}; the job goes on.")
    if not sentences.succeeded(found):
        lines.append(sentences.state_line(found, process))
    lines += [*sentences.drawn(found), *sentences.left_behind(found, process)]
    return sentences.output(found, "(no output)"), [*lines, *sentences.hint(found)]


def _poll(found: Found, process: bool) -> tuple[str, list[str]]:
    snippet = str(found.get("snippet") or "").rstrip("\n")
    nothing = f"(no new output; the last was)\n{snippet}" if snippet else "(no new output)"
    lines = [*sentences.gap(found, process), *sentences.drawn(found), sentences.state_line(found, process)]
    if found.get("retry_after_ms") and not found.get("output"):
        lines.append(
            f"Use process wait instead of polling; polling again is of use after {sentences.duration_of(found, 'retry_after_ms')}."
        )
    return sentences.output(found, nothing), [*lines, *sentences.left_behind(found, process), *sentences.hint(found)]


def _wait(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = [*sentences.gap(found, process), *sentences.drawn(found)]
    fired = found.get("fired")
    if fired and not sentences.is_exit(fired):
        lines.append(sentences.condition(fired))
    if found.get("timed_out"):
        advice = "." if found.get("state") == "created" else "; the job goes on."
        lines.append(f"Not yet, after {sentences.duration_of(found, 'waited_ms')}{advice}")
    others = [one for one in found.get("jobs") or [] if isinstance(one, dict) and one.get("job_id") != found["job_id"]]
    whose = f"job {found['job_id']}: " if others and found.get("state") in FINISHED else ""  # else the line names it
    lines.append(f"{whose}{sentences.state_line(found, process)}")
    lines += [f"job {other.get('job_id')}: {sentences.short_state(other)}" for other in others]
    return sentences.output(found, ""), [*lines, *sentences.left_behind(found, process), *sentences.hint(found)]


def _events(found: Found, _process: bool) -> tuple[str, list[str]]:
    lines = [_event_line(event) for event in found.get("events") or []]
    go_on = f"[since_event={found.get('next_event')} goes on from here]"
    return "\n".join(lines) or "(no events yet)", [*([go_on] if lines else []), *sentences.hint(found)]


def _event_line(event: Found) -> str:
    """Return an event as `12:00:01 seq 120 watch_hit w1 (ERROR) stdout: line`."""
    return " ".join((event["at"][11:19], f"seq {event['seq']}", event["type"], events.about(event))).rstrip()


def _status(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = [sentences.state_line(found, process)]
    if found.get("command"):
        lines.append(f"command: {sentences.command_line(found['command'])}")
    shown = ("name", "cwd", "owner", "started_at", "finished_at", "damage")
    lines += [f"{key}: {found[key]}" for key in shown if found.get(key)]
    if found.get("tags"):
        lines.append(f"tags: {', '.join(found['tags'])}")
    watches = (found.get("notification") or {}).get("watches")
    if watches:
        names = [f"{watch['id']} ({watch['pattern']})" for watch in watches]
        lines.append(f"watches: {', '.join(names)}")
    if found.get("stdout_bytes") is not None:
        lines.append(f"output: {found['stdout_bytes']} bytes stdout, {found.get('stderr_bytes', 0)} bytes stderr")
        lines += sentences.removed_by_quota(found)
    if found.get("state") == "running" and found.get("idle_ms") is not None:
        lines.append(f"idle: {sentences.duration_of(found, 'idle_ms')}")
    return "", [*lines, *sentences.left_behind(found, process), *sentences.hint(found)]


def _log(found: Found, process: bool) -> tuple[str, list[str]]:
    first, last, total = (found.get(key) for key in ("first_line", "last_line", "total_lines"))
    lines = sentences.gap(found, process)
    if first and last and total and (first > 1 or last < total):
        advice = "" if found.get("hint") else "; offset (from 0) and limit show others"
        lines.append(f"[lines {first}-{last} of {total}{advice}]")
    if found.get("matches") is not None:
        lines.append(f"[{sentences.counted(found['matches'], 'line')} matched]")
    return sentences.output(found, "(no output here)" if total else "(no output yet)"), [*lines, *sentences.hint(found)]


def _tail(found: Found, _process: bool) -> tuple[str, list[str]]:
    out, err = str(found.get("stdout_tail") or ""), str(found.get("stderr_tail") or "")
    body = f"stdout:\n{out}\n\nstderr:\n{err}" if out and err else out or err or "(no output)"
    observed = (found.get("stdout_observed_bytes") or 0) + (found.get("stderr_observed_bytes") or 0)
    lines = []
    if found.get("truncated") is True:
        lines.append(
            f"[the end of {observed} bytes; process action=log job_id={found['job_id']} offset=0 shows the start]"
        )
    lines += sentences.removed_by_quota(found)
    return body, [*lines, *sentences.hint(found)]


def _create(found: Found, _process: bool) -> tuple[str, list[str]]:
    job_id = found["job_id"]
    return "", [f"Created job {job_id}; nothing runs yet. process action=start job_id={job_id} starts it."]


def _write(found: Found, process: bool) -> tuple[str, list[str]]:
    if "output" in found:
        return _reaction(found, process)
    closed = "; its stdin is now closed" if found.get("stdin") == "closed" or found.get("eof") else ""
    lines = [f"Wrote {found.get('bytes_written', 0)} bytes to job {found['job_id']}{closed}."]
    lines += [f"Warning: {warning}" for warning in found.get("warnings") or []]
    return "", [*lines, *sentences.hint(found)]


def _reaction(found: Found, process: bool) -> tuple[str, list[str]]:
    """Return what the job said to what was written, and its state."""
    lines = [*sentences.gap(found, process), *sentences.drawn(found), sentences.state_line(found, process)]
    lines += [f"Warning: {warning}" for warning in found.get("warnings") or []]
    if found.get("stdin") == "closed" and found.get("state") not in FINISHED:
        lines.append("Its stdin is now closed.")
    left = sentences.left_behind(found, process)
    return sentences.output(found, "(it printed nothing)"), [*lines, *left, *sentences.hint(found)]


def _kill(found: Found, _process: bool) -> tuple[str, list[str]]:
    job_id, state = found["job_id"], found.get("state")
    if state in FINISHED:
        ended = {**found, "signal": found.get("ended_signal")}  # `signal` is the one that was sent
        lines = [f"Job {job_id} has ended: {sentences.ending(ended)}"]
    else:
        lines = [f"{found.get('signal')} was sent to job {job_id}, which still runs."]
    count = found.get("ended_count") or 0
    if count > 1:  # that the command itself ended is said above
        lines += [f"{count} processes of it ended:", *_processes(found["ended"])]
    hint = sentences.hint(found)
    return "", [*lines, *hint, *(_processes(found.get("survivors") or []) if hint else [])]


def _processes(listed: list[Found]) -> list[str]:
    return [f"  {one.get('pid')} {sentences.command_line(one.get('command') or '')}" for one in listed]


def _list(found: Found, _process: bool) -> tuple[str, list[str]]:
    jobs = found.get("jobs") or []
    if not jobs:
        return "", [
            "No running or recent jobs of this client." if found.get("hint") else "There is no such job.",
            *sentences.hint(found),
        ]
    lines = [_list_line(job) for job in jobs]
    if found.get("truncated"):
        lines.append("[there are more; limit=0 shows all]")
    return "\n".join(lines), sentences.hint(found)


def _list_line(job: Found) -> str:
    since = job.get("started_at") or job.get("created_at")
    parts = [
        str(job.get("short_id") or job.get("job_id")),
        sentences.short_state(job),
        f"since {since[:19]}Z" if since and job.get("state") in ("running", "created") else "",
        f"at {job['finished_at'][:19]}Z" if job.get("finished_at") else "",
        f"[its supervisor is stopped: kill -CONT {job['supervisor_pid']}]" if job.get("supervisor") else "",
        "[waiting for input]" if job.get("waiting_for_input") else "",
        sentences.command_line(job.get("name") or job.get("command") or ""),
    ]
    last = f" :: {sentences.command_line(job['last_line'])}" if job.get("last_line") else ""
    return "  ".join(part for part in parts if part) + last


def _removed(found: Found, _process: bool) -> tuple[str, list[str]]:
    word = "Removed" if found["type"] == "remove" else "Cleared"
    return "", [f"{word} job {found['job_id']}; {found.get('freed_bytes') or 0} bytes freed.", *sentences.hint(found)]


def _tag_set(found: Found, _process: bool) -> tuple[str, list[str]]:
    return "", [
        f"Tags of job {found['job_id']}: {', '.join(found.get('tags') or []) or 'none'}.",
        *sentences.hint(found),
    ]


def _notify_set(found: Found, _process: bool) -> tuple[str, list[str]]:
    wanted = found.get("notification") or {}
    watches = [f"{watch['id']} ({sentences.command_line(watch['pattern'])})" for watch in wanted.get("watches") or []]
    lines = [f"Watches of job {found['job_id']}: {', '.join(watches) or 'none'}."]
    if watches and found.get("state") not in FINISHED:
        lines[0] += " What they hit comes as notices with later calls; wait is not woken by it."
    others = [key for key in ("notify_command", "notify_file", "on_output_match") if wanted.get(key)]
    return "", [*lines, *([f"Set as well: {', '.join(others)}."] if others else []), *sentences.hint(found)]


def _gc(found: Found, _process: bool) -> tuple[str, list[str]]:
    dry = found.get("dry_run")
    count = sum(job.get("action") == "would_delete" for job in found.get("jobs") or []) if dry else found.get("deleted")
    word = "Would delete" if dry else "Deleted"
    freed = f"{found.get('freed_bytes') or 0} bytes"
    age = f" older than {found['older_than']}" if found.get("older_than") else ""
    return "", [
        f"{word} {sentences.counted(count or 0, 'finished job')}{age} ({freed}); {found.get('skipped') or 0} kept.",
        f"All jobs together: {sentences.counted(found.get('used_jobs') or 0, 'job')}, {found.get('used_bytes') or 0} bytes on disk.",
        *sentences.hint(found),
    ]


def _screen(found: Found, _process: bool) -> tuple[str, list[str]]:
    about = [_size(found), *sentences.cursor(found.get("cursor"))]
    about += ["alternate screen"] if found.get("alternate_screen") else []
    about += [f"title: {found['title']}"] if found.get("title") else []
    lines = [f"[{'; '.join(about)}]", *(found.get("warnings") or [])]
    if found.get("state") in FINISHED:
        lines.append(f"The job has ended ({found['state']}): this is how it left its terminal.")
    elif found.get("waiting_for_input"):
        lines.append("It is waiting for input.")
    return folded(found.get("lines") or []) or "(an empty screen)", lines


def _resize(found: Found, _process: bool) -> tuple[str, list[str]]:
    return "", [f"The terminal of job {found['job_id']} is now {_size(found)}."]


def _size(found: Found) -> str:
    return f"{found.get('cols')}x{found.get('rows')}"


def _plain(found: Found, _process: bool) -> tuple[str, list[str]]:
    """Return the text of a type that has no function of its own."""
    rest = {key: value for key, value in found.items() if key not in ("schema_version", "ok", "type", "notices")}
    output = rest.pop("output", None)
    return "\n\n".join(part for part in (str(output or ""), _json(rest)) if part), []


_BY_TYPE: dict[str, Callable[[Found, bool], tuple[str, list[str]]]] = {
    "run": _run,
    "start": _run,
    "restart": _run,
    "create": _create,
    "status": _status,
    "poll": _poll,
    "wait": _wait,
    "events": _events,
    "log": _log,
    "tail": _tail,
    "write": _write,
    "send_keys": _write,
    "submit": _write,
    "paste": _write,
    "screen": _screen,
    "resize": _resize,
    "kill": _kill,
    "list": _list,
    "clear": _removed,
    "remove": _removed,
    "tag_set": _tag_set,
    "notify_set": _notify_set,
    "gc": _gc,
}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
