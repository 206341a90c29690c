"""The text of an answer: first what we say, then a blank line, then the job's output to its end.

The first line tells how the job is. None of our lines is blank, and nothing of ours follows the
output: so no client that cuts a long text hides our words, and no output can pass for them. Some
clients show only this text, others only the structured answer, so neither may depend on the other.
sentences.py words how a job ended; hints come from jobs/job_answer.py and jobs/run_answer.py.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from outlive.core.records import FINISHED
from outlive.mcp.tools.text import sentences
from outlive.render import events
from outlive.render.rows import folded

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Found = dict[str, Any]

_OUTPUT = frozenset({"output", "snapshot", "snippet", "stdout_tail", "stderr_tail", "lines", "notices", "hint"})


def render(found: Found, *, process: bool = True, members: Found | None = None, job_word: str | None = None) -> str:
    """Return the text of an answer. `process`: the process tool is offered, and may be named.
    `members`: the object, for a client that gets the text alone and asked for every member.
    `job_word`: what the client calls the id of a job."""
    if not found.get("ok"):
        return "\n".join(map(_one_line, [*_error(found["error"]), *sentences.notices(found, process)]))
    body, words = _BY_TYPE.get(found["type"], _plain)(found, process)
    body = body.rstrip("\r\n")
    about = [*sentences.clamped(found), *sentences.notices(found, process), *_facts(members), *sentences.size(body)]
    lines = [line for line in map(_one_line, [*words, *about]) if line.strip()]
    if job_word:
        lines = [re.sub(r"\bjob(?:_id)?(?==| [0-9A-Z]{26}\b)", job_word, line) for line in lines]
    return "\n".join([*lines, "", body] if body else lines)


def _facts(members: Found | None) -> list[str]:
    """Return the members that are not output as JSON."""
    if members is None:
        return []
    return [_json({name: value for name, value in members.items() if name not in _OUTPUT})]


def _one_line(text: str) -> str:
    """Return the text without line breaks: a message or a name of a job may have some."""
    return " ".join(text.splitlines())


def _error(error: Found) -> list[str]:
    lines = [f"{error['code']}: {error['message']}"]
    if error.get("hint"):
        lines.append(error["hint"])
    if error.get("retryable"):
        lines.append("The same call may succeed later.")
    return lines


# --- one function a type: (body, lines of ours) ----------------------------------------------------------------------


def _run(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = []
    if found.get("deduplicated"):
        lines.append("A job with this dedupe_key was running already: this is that job, nothing was started.")
    if found.get("restarted_from"):
        lines.append(f"Restart of job {found['restarted_from']}; this is job {found['job_id']}.")
    lines += sentences.came_true(found)
    if found.get("timed_out"):
        lines.append(f"Not yet, after {sentences.duration_of(found, 'waited_ms')}; the job goes on.")
    return _with_output(found, process, [*lines, *sentences.masked(found)], "(no output)")


def _with_output(
    found: Found, process: bool, lines: list[str], nothing: str, instead: str = ""
) -> tuple[str, list[str]]:
    """Return the output, or `instead`, behind the state, `lines`, the hint and what is left out."""
    output = str(found.get("output") or "").rstrip("\r\n")
    words = [sentences.state_line(found, process), *lines]
    words += [*sentences.left_behind(found, process), *sentences.hint(found)]
    words += [*sentences.gap(found, process), *sentences.drawn(found), *([] if output else [nothing])]
    return output or instead, words


def _poll(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = []
    if found.get("retry_after_ms") and not found.get("output"):
        lines.append(
            f"Use process wait instead of polling; polling again is of use after {sentences.duration_of(found, 'retry_after_ms')}."
        )
    snippet = str(found.get("snippet") or "").rstrip("\n")
    nothing = "(no new output; the last was)" if snippet else "(no new output)"
    return _with_output(found, process, lines, nothing, snippet)


def _wait(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = []
    lines += sentences.came_true(found)
    if found.get("timed_out"):
        advice = "." if found.get("state") == "created" else "; the job goes on."
        lines.append(f"Not yet, after {sentences.duration_of(found, 'waited_ms')}{advice}")
    others = [one for one in found.get("jobs") or [] if isinstance(one, dict) and one.get("job_id") != found["job_id"]]
    lines += [line for other in others for line in _other(other)]
    output, words = _with_output(found, process, lines, "")
    name = f" ({sentences.command_line(found['name'])})" if found.get("name") else ""
    if (others or name) and found.get("state") in FINISHED:  # else the line names it
        words[0] = f"job {found['job_id']}{name}: {words[0]}"
    return output, words


def _other(job: Found) -> list[str]:
    """Return the lines about a job that was waited for as well: its name, its state, and the end of
    its output behind bars."""
    about = f"job {job.get('short_id') or job.get('job_id')}"
    about += f" ({sentences.command_line(job['name'])})" if job.get("name") else ""
    last = str(job.get("last_lines") or "").splitlines()
    return [f"{about}: {sentences.short_state(job)}", *(f"  | {sentences.command_line(line)}" for line in last)]


def _events(found: Found, _process: bool) -> tuple[str, list[str]]:
    lines = [_event_line(event) for event in found.get("events") or []]
    if not lines:
        last = found.get("next_event")
        none = f"no new events; since_event={last} goes on" if last else "no events yet"
        return "", [f"{found.get('state')}; {none}", *sentences.hint(found)]
    told = f"{found.get('state')}; {sentences.counted(len(lines), 'event')}; since_event={found.get('next_event')} goes on after them"
    return "\n".join(lines), [told, *sentences.hint(found)]


def _event_line(event: Found) -> str:
    """Return an event as `12:00:01 seq 120 watch_hit w1 (ERROR) stdout: line`."""
    return " ".join((event["at"][11:19], f"seq {event['seq']}", event["type"], events.about(event))).rstrip()


def _usage(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = [sentences.state_line(found, process)]
    used = {name: value for name, value in (found.get("usage") or {}).items() if name != "source"}
    lines.append(events.about({"type": "usage", **used}))
    limited = {name: one for name, one in (found.get("resources") or {}).items() if isinstance(one, dict)}
    lines += [f"limit of {name}: {events.about({'type': 'limit', **one})}" for name, one in limited.items()]
    return "", [*lines, *sentences.hint(found)]


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
    told = [sentences.short_state(found)]
    if first and last and total:
        # The numbers shown count from 1, as grep's do
        advice = "" if found.get("hint") or (first == 1 and last == total) else " (line N is offset N-1)"
        told.append(f"lines {first}-{last} of {total}{advice}")
    if found.get("matches") is not None:
        told.append(f"{sentences.counted(found['matches'], 'line')} matched")
    output = sentences.output(found)
    nothing = [] if output else [_nothing_of(found)]
    return output, ["; ".join(told), *sentences.hint(found), *sentences.gap(found, process), *nothing]


def _nothing_of(found: Found) -> str:
    if found.get("total_lines"):
        return "(no output here)"
    return "(no output)" if found.get("state") in FINISHED else "(no output yet)"


def _tail(found: Found, _process: bool) -> tuple[str, list[str]]:
    """Return stdout, then stderr; our first line says how many lines belong to which."""
    out, err = (str(found.get(name) or "").rstrip("\n") for name in ("stdout_tail", "stderr_tail"))
    told = [
        f"{sentences.counted(text.count(chr(10)) + 1, 'line')} of {name}"
        for name, text in (("stdout", out), ("stderr", err))
        if text
    ]
    lines = [f"{sentences.short_state(found)}; {', then '.join(told) or '(no output)'}"]
    observed = (found.get("stdout_observed_bytes") or 0) + (found.get("stderr_observed_bytes") or 0)
    if found.get("truncated") is True:
        lines.append(
            f"[the end of {observed:,} bytes; process action=log job_id={found['job_id']} offset=0 shows the start]"
        )
    lines += [*sentences.hint(found), *sentences.removed_by_quota(found)]
    return "\n".join(filter(None, (out, err))), lines


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
    lines = [f"Warning: {warning}" for warning in found.get("warnings") or []]
    if found.get("stdin") == "closed" and found.get("state") not in FINISHED:
        lines.append("Its stdin is now closed.")
    return _with_output(found, process, lines, "(it printed nothing)")


def _kill(found: Found, _process: bool) -> tuple[str, list[str]]:
    job_id, state = found["job_id"], found.get("state")
    if state in FINISHED:
        ended = {**found, "signal": found.get("ended_signal")}  # `signal` is the one that was sent
        lines = [f"Job {job_id} has ended: {sentences.ending(ended)}"]
    else:
        lines = [f"{found.get('signal')} was sent to job {job_id}, which still runs."]
    count = found.get("ended_count") or len(found.get("ended") or [])
    if count > 1:  # that the command itself ended is said above
        lines += [f"{count} processes of it ended:", *_processes(found["ended"])]
    hint = sentences.hint(found)
    return sentences.output(found), [*lines, *hint, *(_processes(found.get("survivors") or []) if hint else [])]


def _processes(listed: list[Found]) -> list[str]:
    return [f"  {one.get('pid')} {sentences.command_line(one.get('command') or '')}" for one in listed]


def _list(found: Found, _process: bool) -> tuple[str, list[str]]:
    jobs = found.get("jobs") or []
    if not jobs:
        return "", sentences.hint(found) or ["There is no job to list."]
    running = sum(job.get("state") == "running" for job in jobs)
    told = sentences.counted(len(jobs), "job") + (f", {running} running" if running else "")
    return "\n".join(_one_line(_list_line(job)) for job in jobs), [told, *sentences.hint(found)]


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
    return "", [f"{word} job {found['job_id']}; {found.get('freed_bytes') or 0:,} bytes freed.", *sentences.hint(found)]


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
    freed = f"{found.get('freed_bytes') or 0:,} bytes"
    age = f" older than {found['older_than']}" if found.get("older_than") else ""
    return "", [
        f"{word} {sentences.counted(count or 0, 'finished job')}{age} ({freed}); {found.get('skipped') or 0} kept.",
        f"All jobs together: {sentences.counted(found.get('used_jobs') or 0, 'job')}, {found.get('used_bytes') or 0:,} bytes on disk.",
        *sentences.hint(found),
    ]


def _screen(found: Found, _process: bool) -> tuple[str, list[str]]:
    about = [_size(found), *sentences.cursor(found.get("cursor"))]
    about += ["alternate screen"] if found.get("alternate_screen") else []
    about += [f"title: {found['title']}"] if found.get("title") else []
    lines = [f"{found.get('state')}; {'; '.join(about)}", *(found.get("warnings") or [])]
    if found.get("state") in FINISHED:
        lines.append(f"The job has ended ({found['state']}): this is how it left its terminal.")
    elif found.get("waiting_for_input"):
        lines.append("It is waiting for input.")
    rows = folded(found.get("lines") or [], found.get("first_row") or 0)
    lines += sentences.hint(found)
    return rows, lines if rows else [*lines, "(an empty screen)"]


def _resize(found: Found, _process: bool) -> tuple[str, list[str]]:
    return "", [f"The terminal of job {found['job_id']} is now {_size(found)}."]


def _size(found: Found) -> str:
    return f"{found.get('cols')}x{found.get('rows')}"


def _plain(found: Found, _process: bool) -> tuple[str, list[str]]:
    """Return the text of a type that has no function of its own."""
    rest = {key: value for key, value in found.items() if key not in ("schema_version", "ok", "type", "notices")}
    output = rest.pop("output", None)
    return str(output or ""), [_json(rest)]


_BY_TYPE: dict[str, Callable[[Found, bool], tuple[str, list[str]]]] = {
    "run": _run,
    "start": _run,
    "restart": _run,
    "create": _create,
    "status": _status,
    "usage": _usage,
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
