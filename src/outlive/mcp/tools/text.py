"""What a model reads: the job's output first, then one short line of ours that says what to do next.

Output is data: a blank line stands between it and our words. Some clients show only this text, others only the
structured answer, so neither may need the other.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from outlive.core.records import FINISHED
from outlive.render import events

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Found = dict[str, Any]

_FOLLOW_UP = "Use process poll/log/wait/write/kill."


def render(found: Found, *, process: bool = True) -> str:
    """The text of an answer. `process`: is that tool there to be named?"""
    if not found.get("ok"):
        return "\n".join([_error(found["error"]), *_notices(found)])
    body, words = _BY_TYPE.get(found["type"], _plain)(found, process)
    lines = [*words, *_clamped(found), *_notices(found)]
    if not lines:
        return body
    return "\n\n".join(part for part in (body.rstrip("\n"), "\n".join(lines)) if part)


def entry(job: Found) -> str:
    """A job of a list in one line: what it runs and how it is doing."""
    return f"{_command(job.get('command'))} ({_short_state(job)})"


def ended(found: Found) -> str:
    """How a finished job ended, as a sentence."""
    return _ending(found).rstrip(".") + "."


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
    lines = _gap(found, process)
    if found.get("deduplicated"):
        lines.append("A job with this dedupe_key was running already: this is that job, nothing was started.")
    if found.get("restarted_from"):
        lines.append(f"Restart of job {found['restarted_from']}; this is job {found['job_id']}.")
    if not _succeeded(found):
        lines.append(_state(found, process))
    lines += _left_behind(found, process)
    return _output(found, "(no output)"), [*lines, *_hint(found)]


def _poll(found: Found, process: bool) -> tuple[str, list[str]]:
    snippet = str(found.get("snippet") or "").rstrip("\n")
    nothing = f"(no new output; the last was)\n{snippet}" if snippet else "(no new output)"
    lines = [*_gap(found, process), _state(found, process)]
    if found.get("retry_after_ms") and not found.get("output"):
        lines.append(
            f"Use process wait instead of polling; polling again is of use after {_ms(found, 'retry_after_ms')}."
        )
    return _output(found, nothing), [*lines, *_left_behind(found, process), *_hint(found)]


def _wait(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = _gap(found, process)
    fired = found.get("fired")
    if fired and not _is_exit(fired):
        lines.append(_condition(fired))
    if found.get("timed_out"):
        again = "" if found.get("waiting_for_input") else " Call process wait again."
        advice = "." if found.get("state") == "created" else f"; the job goes on.{again}"
        lines.append(f"Not yet, after {_ms(found, 'waited_ms')}{advice}")
    others = [one for one in found.get("jobs") or [] if isinstance(one, dict) and one.get("job_id") != found["job_id"]]
    whose = f"job {found['job_id']}: " if others and found.get("state") in FINISHED else ""  # else the line names it
    lines.append(f"{whose}{_state(found, process)}")
    lines += [f"job {other.get('job_id')}: {_short_state(other)}" for other in others]
    return _output(found, ""), [*lines, *_left_behind(found, process), *_hint(found)]


def _events(found: Found, _process: bool) -> tuple[str, list[str]]:
    lines = [_event_line(event) for event in found.get("events") or []]
    go_on = f"[since_event={found.get('next_event')} goes on from here]"
    return "\n".join(lines) or "(no events yet)", [*([go_on] if lines else []), *_hint(found)]


def _event_line(event: Found) -> str:
    """`12:00:01 seq 120 watch_hit w1 (ERROR) stdout: line`."""
    return " ".join((event["at"][11:19], f"seq {event['seq']}", event["type"], events.about(event))).rstrip()


def _status(found: Found, process: bool) -> tuple[str, list[str]]:
    lines = [_state(found, process)]
    if found.get("command"):
        lines.append(f"command: {_command(found['command'])}")
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
        lines += _gone(found)
    if found.get("state") == "running" and found.get("idle_ms") is not None:
        lines.append(f"idle: {_ms(found, 'idle_ms')}")
    return "", [*lines, *_left_behind(found, process), *_hint(found)]


def _log(found: Found, process: bool) -> tuple[str, list[str]]:
    first, last, total = (found.get(key) for key in ("first_line", "last_line", "total_lines"))
    lines = _gap(found, process)
    if first and last and total and (first > 1 or last < total):
        advice = "" if found.get("hint") else "; offset (from 0) and limit show others"
        lines.append(f"[lines {first}-{last} of {total}{advice}]")
    if found.get("matches") is not None:
        lines.append(f"[{_count(found['matches'], 'line')} matched]")
    return _output(found, "(no output here)" if total else "(no output yet)"), [*lines, *_hint(found)]


def _tail(found: Found, _process: bool) -> tuple[str, list[str]]:
    out, err = str(found.get("stdout_tail") or ""), str(found.get("stderr_tail") or "")
    body = f"stdout:\n{out}\n\nstderr:\n{err}" if out and err else out or err or "(no output)"
    observed = (found.get("stdout_observed_bytes") or 0) + (found.get("stderr_observed_bytes") or 0)
    lines = []
    if found.get("truncated") is True:
        lines.append(
            f"[the end of {observed} bytes; process action=log job_id={found['job_id']} offset=0 shows the start]"
        )
    lines += _gone(found)
    return body, [*lines, *_hint(found)]


def _create(found: Found, _process: bool) -> tuple[str, list[str]]:
    job_id = found["job_id"]
    return "", [f"Created job {job_id}; nothing runs yet. process action=start job_id={job_id} starts it."]


def _write(found: Found, _process: bool) -> tuple[str, list[str]]:
    closed = "; its stdin is now closed" if found.get("stdin") == "closed" or found.get("eof") else ""
    lines = [f"Wrote {found.get('bytes_written', 0)} bytes to job {found['job_id']}{closed}."]
    lines += [f"Warning: {warning}" for warning in found.get("warnings") or []]
    return "", [*lines, *_hint(found)]


def _kill(found: Found, _process: bool) -> tuple[str, list[str]]:
    job_id, state = found["job_id"], found.get("state")
    if state in FINISHED:
        ended = {**found, "signal": found.get("ended_signal")}  # `signal` is the one that was sent
        lines = [f"Job {job_id} has ended: {_ending(ended)}"]
    else:
        lines = [f"{found.get('signal')} was sent to job {job_id}, which still runs. process wait tells when it ends."]
    survivors = found.get("survivors") or []
    if survivors:
        lines.append(f"{_count(len(survivors), 'process')} of it still alive:")
        lines += [f"  {one.get('pid')} {_command(one.get('command') or '')}" for one in survivors]
    return "", [*lines, *_hint(found)]


def _list(found: Found, _process: bool) -> tuple[str, list[str]]:
    jobs = found.get("jobs") or []
    if not jobs:
        return "", [
            "No running or recent jobs of this client." if found.get("hint") else "There is no such job.",
            *_hint(found),
        ]
    lines = [_list_line(job) for job in jobs]
    if found.get("truncated"):
        lines.append("[there are more; limit=0 shows all]")
    return "\n".join(lines), _hint(found)


def _list_line(job: Found) -> str:
    since = job.get("started_at") or job.get("created_at")
    parts = [
        str(job.get("short_id") or job.get("job_id")),
        _short_state(job),
        f"since {since[:19]}Z" if since and job.get("state") in ("running", "created") else "",
        f"at {job['finished_at'][:19]}Z" if job.get("finished_at") else "",
        f"[its supervisor is stopped: kill -CONT {job['supervisor_pid']}]" if job.get("supervisor") else "",
        "[waiting for input]" if job.get("waiting_for_input") else "",
        _command(job.get("name") or job.get("command") or ""),
    ]
    last = f" :: {_command(job['last_line'])}" if job.get("last_line") else ""
    return "  ".join(part for part in parts if part) + last


def _removed(found: Found, _process: bool) -> tuple[str, list[str]]:
    word = "Removed" if found["type"] == "remove" else "Cleared"
    return "", [f"{word} job {found['job_id']}; {found.get('freed_bytes') or 0} bytes freed.", *_hint(found)]


def _tag_set(found: Found, _process: bool) -> tuple[str, list[str]]:
    return "", [f"Tags of job {found['job_id']}: {', '.join(found.get('tags') or []) or 'none'}.", *_hint(found)]


def _notify_set(found: Found, _process: bool) -> tuple[str, list[str]]:
    wanted = found.get("notification") or {}
    watches = [f"{watch['id']} ({_command(watch['pattern'])})" for watch in wanted.get("watches") or []]
    lines = [f"Watches of job {found['job_id']}: {', '.join(watches) or 'none'}."]
    if watches and found.get("state") not in FINISHED:
        lines[0] += " Hits come with your next call."
    others = [key for key in ("notify_command", "notify_file", "on_output_match") if wanted.get(key)]
    return "", [*lines, *([f"Set as well: {', '.join(others)}."] if others else []), *_hint(found)]


def _gc(found: Found, _process: bool) -> tuple[str, list[str]]:
    dry = found.get("dry_run")
    count = sum(job.get("action") == "would_delete" for job in found.get("jobs") or []) if dry else found.get("deleted")
    word = "Would delete" if dry else "Deleted"
    freed = f"{found.get('freed_bytes') or 0} bytes"
    age = f" older than {found['older_than']}" if found.get("older_than") else ""
    return "", [
        f"{word} {_count(count or 0, 'finished job')}{age} ({freed}); {found.get('skipped') or 0} kept.",
        f"All jobs together: {_count(found.get('used_jobs') or 0, 'job')}, {found.get('used_bytes') or 0} bytes on disk.",
        *_hint(found),
    ]


def _screen(found: Found, _process: bool) -> tuple[str, list[str]]:
    about = [_size(found), *_cursor(found.get("cursor"))]
    about += ["alternate screen"] if found.get("alternate_screen") else []
    about += [f"title: {found['title']}"] if found.get("title") else []
    lines = [f"[{'; '.join(about)}]", *(found.get("warnings") or [])]
    if found.get("state") in FINISHED:
        lines.append(f"The job has ended ({found['state']}): this is how it left its terminal.")
    elif found.get("waiting_for_input"):
        lines.append("It is waiting for input.")
    return "\n".join(found.get("lines") or []).rstrip("\n") or "(an empty screen)", lines


def _cursor(cursor: Found | None) -> list[str]:
    if not cursor:
        return []
    hidden = "" if cursor.get("visible", True) else " (hidden)"
    return [f"cursor at row {cursor.get('row')}, column {cursor.get('column')} (from 0){hidden}"]


def _resize(found: Found, _process: bool) -> tuple[str, list[str]]:
    return "", [f"The terminal of job {found['job_id']} is now {_size(found)}."]


def _size(found: Found) -> str:
    return f"{found.get('cols')}x{found.get('rows')}"


def _plain(found: Found, _process: bool) -> tuple[str, list[str]]:
    """A type without words of its own."""
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


# --- words -----------------------------------------------------------------------------------------------------------


def _output(found: Found, nothing: str) -> str:
    return str(found.get("output") or "").rstrip("\r\n") or nothing


def _succeeded(found: Found) -> bool:
    return found.get("state") == "exited" and found.get("exit_code") == 0 and found.get("reason") in (None, "exit")


def _state(found: Found, process: bool) -> str:
    """One line: how it ended, or that it runs and what can be done."""
    state = found.get("state")
    if state == "running":
        return _running(found, process)
    if state == "created":
        return f"Job {found.get('job_id')} is created, not started. process action=start starts it."
    if state == "unknown":
        return f"The state of job {found.get('job_id')} cannot be read."
    return _ending(found)


def _running(found: Found, process: bool) -> str:
    about = [f"job {found.get('job_id')}"]
    if found.get("pid"):
        about.append(f"pid {found['pid']}")
    line = f"Command still running ({', '.join(about)}"
    if found.get("timeout_ms"):
        line += f"; ends after {found['timeout_ms'] / 1000:g} s"
    line += ")."
    if found.get("waiting_for_input"):
        prompt = f" (prompt: {found['prompt'].strip()})" if found.get("prompt") else ""
        line += f" It is waiting for input{prompt}."
        if found.get("hint"):  # and that names the call to answer with
            return line
    return f"{line} {_FOLLOW_UP}" if process else line


def _ending(found: Found) -> str:
    """How it ended, as a sentence."""
    reason, signal, message = found.get("reason"), found.get("signal"), found.get("message")
    how = signal or (None if found.get("exit_code") is None else f"exit code {found['exit_code']}")
    with_signal = f" ({how})" if how else ""
    by = f" of {found['ended_by']}" if found.get("ended_by") else ""
    limit = f" after {found['timeout_ms'] / 1000:g} s" if found.get("timeout_ms") else ""
    sentences = {
        "timeout": f"Command timed out{limit} and was ended{with_signal}. What it did until then may have taken effect.",
        "idle_timeout": f"Command was ended{with_signal} because it printed nothing for longer than idle_timeout_ms.",
        "kill": f"Command was killed on request{by}{with_signal}.",
        "oom": f"Command was killed because memory ran out{with_signal}.",
        "quota": f"Command was ended{with_signal} because its output passed the quota.",
        "launch": f"Command could not be started: {message or found.get('errno') or 'exec failed'}.",
        "lost": f"The outcome is lost: {message or 'nothing was left to read it from'}. It may have run to its end.",
        "reboot": f"The machine was restarted while it ran; the outcome is lost{f': {message}' if message else ''}.",
    }
    if found.get("exit_code") is not None and reason in (None, "exit", "kill", "signal"):
        asked = " after a kill request" if reason == "kill" else ""
        return f"Command exited with code {found['exit_code']}{asked}" + (f"; {message}" if message else "")
    if reason in sentences:
        return sentences[reason].replace("..", ".")
    if signal:
        return f"Command was ended by signal {signal}{f'; {message}' if message else ''}."
    return f"Command ended ({found.get('state')})."


def _short_state(job: Found) -> str:
    state = str(job.get("state"))
    if job.get("reason") in ("timeout", "idle_timeout", "launch", "lost", "reboot", "oom", "quota"):
        return f"{state} ({job['reason']})"
    if state == "exited":
        return f"exited {job.get('exit_code')}"
    return f"{state} {job['signal']}" if state == "killed" and job.get("signal") else state


def _gap(found: Found, process: bool) -> list[str]:
    """What was left out, and the call that shows it."""
    gap = found.get("truncated")
    if not isinstance(gap, dict) or (process and f"since_seq={gap.get('from_seq')} " in str(found.get("output"))):
        return []  # the mark inside the output names the call
    size = f"{_count(gap['lines'], 'line')}, " if gap.get("lines") else ""
    line = f"[{size}{gap.get('bytes')} bytes of output not shown"
    if process:
        return [f"{line}; process action=log job_id={found.get('job_id')} since_seq={gap.get('from_seq')} shows them]"]
    return [
        f"{line}; {'they are' if found.get('gaps') else 'all of it is'} in {found['stdout_log_path']} (and stderr.log beside it)]"
        if found.get("stdout_log_path")
        else f"{line}]"
    ]


def _gone(found: Found) -> list[str]:
    """What no call shows any more, where no mark inside the output says so."""
    return [
        f"[{_count(gap['lines'], 'line')}, {gap['bytes']} bytes of output are gone: it passed the job's quota, and only its head "
        f"and tail are kept]"
        for gap in found.get("gaps") or []
    ]


def _left_behind(found: Found, process: bool) -> list[str]:
    """Descendants that outlive the command."""
    left = found.get("descendants")
    count = len(left) if isinstance(left, (list, dict)) else left
    if not count or found.get("hint") or found.get("state") in ("running", "created"):
        return []
    them = "it" if count == 1 else "them"
    end = f" process action=kill job_id={found.get('job_id')} ends {them}." if process else ""
    return [f"{_count(count, 'process')} it started still {'runs' if count == 1 else 'run'}.{end}"]


def _clamped(found: Found) -> list[str]:
    if found.get("requested_ms") is None or found.get("state") in FINISHED:
        return []
    asked, got = _duration(found["requested_ms"]), _duration(found["effective_ms"])
    return [f"[one call lasts at most {got}; {asked} were asked for. Call again to go on.]"]


def _notices(found: Found) -> list[str]:
    return [_notice(notice) for notice in found.get("notices") or []]


def _notice(notice: Found) -> str:
    """What happened to another job meanwhile, in brackets: it does not belong to the answer."""
    last = f": {notice['last_line']}" if notice.get("last_line") else ""
    job = f"job {notice.get('job_id')} ({_command(notice.get('name') or '')})"
    if notice.get("event") == "watch_hit":
        times = f", {notice['hits']} times" if notice.get("hits", 1) > 1 else ""
        return f"[{job} matched {notice['pattern']} at seq {notice['seq']}{times}{last}]"
    return f"[{job}: {_short_state(notice)}{last}]"


def _hint(found: Found) -> list[str]:
    hint = str(found.get("hint") or "")
    # The line about a running job names the calls already, and in the words that models know.
    return [] if not hint or hint.startswith("It still runs.") else [hint]


def _is_exit(fired: Any) -> bool:
    return fired == "exit" or (isinstance(fired, dict) and fired.get("condition") == "exit")


def _condition(fired: Found) -> str:
    """What came true, as a sentence."""
    name = fired.get("condition")
    if name in ("regex", "fail_regex"):
        what = "The output matched" if name == "regex" else "The output matched what was to be a failure:"
        return f"{what} {fired['pattern']} at seq {fired['seq']} ({fired['stream']}): {fired['line']}"
    if name == "port":
        who = f"the job (pid {fired['pid']})" if fired.get("owned") else "a process that is not this job's"
        return f"Port {fired['port']} is open; {who} listens on it."
    known = {
        "output": "There is new output.",
        "input": "It waits for input.",
        "http": f"{fired.get('url')} answered with status {fired.get('status')}.",
        "file": f"The file {fired.get('path')} is there.",
        "idle_ms": f"It has been quiet for {_ms(fired, 'idle_ms')}.",
    }
    return known.get(str(name), f"Condition met: {name}.")


def _command(command: Any) -> str:
    text = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"


def _ms(found: Found, key: str) -> str:
    return _duration(found.get(key) or 0)


def _duration(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
