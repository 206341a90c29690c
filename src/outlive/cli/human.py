"""Render answers for a person: `--human`.

Output and names of jobs reach the terminal without control characters.
"""

from __future__ import annotations

import json
import shlex

from outlive.cli import summary, usage
from outlive.cli.text import Style, duration, line, size, table
from outlive.core.ids import short_id
from outlive.core.units import seconds_of
from outlive.render.plain_text import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STATUS_COLOURS = {"ok": "32", "warn": "33", "fail": "31"}
_HEAD = ("JOB", "STATE", "RESULT", "AGE", "NAME", "TAGS")
_MORE_HEAD = ("OWNER", "DIRECTORY", "COMMAND")  # with -v

# Fields in this order first; the rest follows as it comes. Output goes below everything.
_FIRST = (
    *("job_id", "state", "exit_code", "signal", "reason", "message", "fired", "timed_out", "name", "command", "cwd"),
    *("pid", "tags", "owner", "started_at", "finished_at", "duration_ms", "elapsed_ms"),
)
_OUTPUTS = ("output", "snippet", "stdout_tail", "stderr_tail")
_HIDDEN = frozenset({"schema_version", "ok", "type", "short_id", "encoding", "snapshot", "hint"})
_FOR_AGENTS = frozenset({"sessionId", "status"})  # the job's id and its state once more
_TEXT_ONLY = frozenset({"log", "tail"})  # asked for to be read, so nothing stands above it


def answer(found: dict[str, Any], style: Style, *, verbose: bool = False) -> str:
    """Return the text of an answer or an error, with a newline at its end: what a person asks
    first, with `verbose` everything."""
    if not found["ok"]:
        return error(found["error"])
    if found["type"] == "list":
        return _jobs(found, style, verbose=verbose)
    if found["type"] == "events":
        return _events(found, style)
    if found["type"] == "doctor":
        return _checks(found, style)
    if found["type"] in ("install", "uninstall"):
        return _client(found)
    if found["type"] == "schema":
        return json.dumps(found.get("schema"), indent=2, ensure_ascii=False) + "\n"
    parts = [] if found["type"] in _TEXT_ONLY else [_head(found, style, verbose=verbose)]
    parts += _texts(found)
    parts += [f"({line(found['hint'])})\n"] if found.get("hint") else []
    return "\n".join(part for part in parts if part) or "(no output)\n"


def _head(found: dict[str, Any], style: Style, *, verbose: bool) -> str:
    """Return what stands above the output."""
    if found["type"] in summary.TYPES and "state" in found:
        about = summary.of(found, style)
        return f"{about}\n{_fields(found, style)}" if verbose else about
    if found["type"] == "gc" and not verbose:
        return _deleted(found)
    if found["type"] == "usage":
        return usage.of(found, style)
    return _alone(found, style) or _fields(found, style)


# Answers that are one list, and what is said where that is empty
_LISTS = {"hosts": ("hosts", ""), "token_list": ("tokens", "There are no tokens: `outlive token add NAME` makes one.")}


def _alone(found: dict[str, Any], style: Style) -> str:
    """Return the one table of an answer that is a list; "" for any other answer."""
    if found["type"] == "policy_list" and not (found["rules"] or found["approvals"]):
        return "There are no rules, and nothing was approved for good.\n"
    name, empty = _LISTS.get(found["type"], ("", ""))
    if not name:
        return ""
    return _rows(found[name], style) if found[name] else f"{empty}\n"


def _deleted(found: dict[str, Any]) -> str:
    """Tell what gc did."""
    gone = [job for job in found["jobs"] if job["action"] == "would_delete"]
    did, count = ("Would delete", len(gone)) if found["dry_run"] else ("Deleted", found["deleted"])
    left = f"{_jobs_of(found['used_jobs'])} ({size(found['used_bytes'])}) {'are' if found['dry_run'] else 'stay'}"
    return f"{did} {_jobs_of(count)}, {size(found['freed_bytes'])}; {left} in {line(found['root'])}.\n"


def _jobs_of(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def error(found: dict[str, Any]) -> str:
    """Return the `error` member as one or two lines."""
    text = f"error: {line(found['message'])}\n"
    return text + (f"hint: {line(found['hint'])}\n" if found.get("hint") else "")


# --- list ------------------------------------------------------------------------------------------


def _jobs(found: dict[str, Any], style: Style, *, verbose: bool) -> str:
    jobs = found["jobs"]
    if not jobs:
        return f"{found.get('hint') or 'There is no job to list.'}\n"
    rows = [_job_row(job, style.now) + (_more(job) if verbose else []) for job in jobs]
    head = (*_HEAD, *(_MORE_HEAD if verbose else ()))
    text = table(head, rows, style, colours=[summary.colour(job) for job in jobs])
    if found.get("truncated"):
        text += f"({len(jobs)} shown, there are more: --limit 0 shows all)\n"
    if found.get("skipped"):
        text += f"({found['skipped']} could not be read)\n"
    if any(summary.is_pending(job) for job in jobs) and found.get("hint"):
        text += f"({line(found['hint'])})\n"
    return text


_CHANGES = {"added": "Added to", "updated": "Updated in", "removed": "Removed from", "none": "Nothing to do in"}


def _client(found: dict[str, Any]) -> str:
    """Tell what was done to the configuration of an MCP client, or what to do where nothing was
    written."""
    if "clients" in found:
        text = "".join(
            _client(one) if "path" in one else f"{line(one['client'])}: {line(one['hint'])}\n"
            for one in found["clients"]
        )
        return text + (f"({line(found['hint'])})\n" if found.get("hint") else "")
    change = found["change"]
    if found["written"] or change == "none":
        text = f"{_CHANGES[change]} {line(found['path'])} (server {line(found['name'])}).\n"
        text += f"As it was before the first change: {line(found['backup'])}\n" if found.get("backup") else ""
        text += "".join(
            f"  {line(one['member'])} = {json.dumps(one['value'])}: {line(one['why'])}\n"
            for one in found.get("besides") or []
            if found["written"]
        )
    else:
        would = f"would be {_CHANGES[change].lower()}" if change else "cannot be merged into"
        text = f"{line(found['name'])} {would} {line(found['path'])}; nothing was written.\n"
    if not found["written"] and change != "none" and found.get("fragment"):
        text += "\n" + readable(found["fragment"])
        text += f"\nOr: {line(found['own_command'])}\n" if found.get("own_command") else ""
    return text + (f"({line(found['hint'])})\n" if found.get("hint") else "")


def _events(found: dict[str, Any], style: Style) -> str:
    from outlive.render import events

    rows = [[event["at"], str(event["seq"]), event["type"], events.about(event)] for event in found["events"]]
    text = table(("TIME", "SEQ", "EVENT", "ABOUT"), rows, style) if rows else "No events yet.\n"
    return text + (f"({line(found['hint'])})\n" if found.get("hint") else "")


def _checks(found: dict[str, Any], style: Style) -> str:
    """Return one line for each check, with what to do below it."""
    width = max(len(check["name"]) for check in found["checks"])
    lines = []
    for check in found["checks"]:
        status = style.paint(check["status"].ljust(4), _STATUS_COLOURS.get(check["status"]))
        lines.append(f"{status}  {line(_label(check['name'])).ljust(width)}  {line(check['found'])}")
        if check.get("advice"):
            lines.append(f"{' ' * (width + 8)}→ {line(check['advice'])}")
    counts = [check["status"] for check in found["checks"]]
    verdict = f"{counts.count('fail')} failed, {counts.count('warn')} to think about"
    return "\n".join([*lines, "", verdict if set(counts) - {"ok"} else "All is well."]) + "\n"


def _job_row(job: dict[str, Any], now: float) -> list[str]:
    name = job.get("name") or " ".join(job.get("command") or [])
    age = _age(job.get("started_at") or job.get("created_at"), now)
    return [
        job.get("short_id") or short_id(job["job_id"]),
        job["state"] + _aside(job),
        _result(job),
        age,
        name,
        " ".join(job.get("tags") or []),
    ]


def _more(job: dict[str, Any]) -> list[str]:
    words = job.get("command") or []
    return [
        job.get("owner") or "",
        job.get("cwd") or "",
        shlex.join(words) if len(words) > 1 else " ".join(words),
    ]


def _aside(job: dict[str, Any]) -> str:
    if job.get("supervisor"):
        return f" (its supervisor is stopped: kill -CONT {job['supervisor_pid']})"
    return " (waits for input)" if job.get("waiting_for_input") else ""


def _result(job: dict[str, Any]) -> str:
    """Return one word for how a job ended: its exit code, or why it has none."""
    if summary.is_pending(job):
        return "pending"
    if job.get("reason") in (None, "exit") and job.get("exit_code") is not None:
        return str(job["exit_code"])
    if job.get("reason") in (None, "signal"):
        return job.get("signal") or job.get("reason") or ""
    return str(job["reason"])


# --- the others ----------------------------------------------------------------------------------


def _fields(found: dict[str, Any], style: Style) -> str:
    """Return `name  value` lines without fields that are null or empty."""
    names = [name for name in _FIRST if name in found] + [name for name in found if name not in _FIRST]
    hidden = _HIDDEN | _FOR_AGENTS if "sessionId" in found else _HIDDEN
    pairs = [(name, found[name]) for name in names if name not in hidden and name not in _OUTPUTS]
    shown = [(_label(name), _value(name, value, style)) for name, value in pairs if value not in (None, "", [], {})]
    if not shown:
        return ""
    width = max(len(label) for label, _ in shown)
    lines = []
    for label, value in shown:
        value = style.paint(value, summary.colour(found)) if label == "state" else value
        lines.append(f"{style.paint(label.ljust(width), '1')}  {value}")
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    for unit in ("_ms", "_bytes"):
        if name.endswith(unit) and name != unit:
            name = name[: -len(unit)]
    return line(name.replace("_", " "))


def _value(name: str, value: Any, style: Style) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and name.endswith("_ms"):
        return duration(value)
    if number and name.endswith("_bytes"):
        return size(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "command" and isinstance(value, list):
        return line(shlex.join(value) if len(value) > 1 else " ".join(value))
    if isinstance(value, list):
        return _list(value, style)
    return _object(value, style) if isinstance(value, dict) else line(str(value))


def _object(members: dict[str, Any], style: Style) -> str:
    """Return an object as lines of its own, without members that say nothing."""
    shown = [
        (_label(name), _value(name, value, style)) for name, value in members.items() if value not in (None, "", [], {})
    ]
    width = max((len(label) for label, _ in shown), default=0)
    return "".join(f"\n    {label.ljust(width)}  " + value.replace("\n", "\n    ") for label, value in shown)


def _list(values: list[Any], style: Style) -> str:
    if all(isinstance(value, str) for value in values):
        return ", ".join(map(line, values))
    if not all(isinstance(value, dict) for value in values):
        return line(json.dumps(values))
    indented = _rows(values, Style(now=style.now)).rstrip("\n")
    return "\n    " + indented.replace("\n", "\n    ")


def _rows(values: list[dict[str, Any]], style: Style) -> str:
    """Return a table of objects, without the columns in which none says anything."""
    names = dict.fromkeys(name for value in values for name in value)
    head = [name for name in names if any(value.get(name) not in (None, "", [], {}) for value in values)]
    rows = [[_cell(name, value.get(name)) for name in head] for value in values]
    return table(tuple(_label(name).upper() for name in head), rows, style)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_ms"):
        return duration(value)
    if isinstance(value, int) and name.endswith("_bytes"):
        return size(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    return value if isinstance(value, str) else json.dumps(value)


def _texts(found: dict[str, Any]) -> list[str]:
    """Return what the job printed.

    The tails are used only without merged output, because they are the same text.
    """
    if isinstance(found.get("lines"), list) and found["type"] == "screen":
        return ["".join(readable(str(row)) + "\n" for row in found["lines"])]
    texts = {**(found.get("snapshot") or {}), **found}
    if texts.get("output") or texts.get("snippet"):
        return [_ended(readable(texts.get("output") or texts["snippet"]))]
    out, err = texts.get("stdout_tail") or "", texts.get("stderr_tail") or ""
    parts = [_ended(readable(out))] if out else []
    return parts + (["--- stderr ---\n" + _ended(readable(err))] if err else [])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _age(stamp: str | None, now: float) -> str:
    try:
        ms = max(0.0, now - seconds_of(stamp or "")) * 1_000
    except ValueError:
        return ""
    if ms < 1_000:
        return "now"
    number, unit = duration(ms).split(" ")[:2]
    return f"{float(number):.0f}{unit}"
