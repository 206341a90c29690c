"""Render answers for a person: `--human`.

Output and names of jobs reach the terminal without control characters.
"""

from __future__ import annotations

import json
import os
import shlex
import time
import unicodedata

from outlive.core.ids import short_id
from outlive.core.units import seconds_of
from outlive.render.plain_text import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_COLOURS = {"created": "36", "running": "33", "exited": "32", "killed": "35", "failed": "31", "unknown": "31"}
_STATUS_COLOURS = {"ok": "32", "warn": "33", "fail": "31"}
_HEAD = ("JOB", "STATE", "RESULT", "AGE", "NAME", "TAGS")

# Fields in this order first; the rest follows as it comes. Output goes below everything.
_FIRST = (
    *("job_id", "state", "exit_code", "signal", "reason", "message", "fired", "timed_out", "name", "command", "cwd"),
    *("pid", "tags", "owner", "started_at", "finished_at", "duration_ms", "elapsed_ms"),
)
_OUTPUTS = ("output", "snippet", "stdout_tail", "stderr_tail")
_HIDDEN = frozenset({"schema_version", "ok", "type", "short_id", "encoding", "snapshot", "hint"})
_TEXT_ONLY = frozenset({"log", "tail"})  # asked for to be read, so nothing stands above it


class Style:
    """What the terminal can show: colours, width, and the time to count from."""

    __slots__ = ("colour", "now", "width")

    def __init__(self, *, colour: bool = False, width: int | None = None, now: float | None = None) -> None:
        self.colour = colour
        self.width = width  # columns to cut tables at; None: no limit
        self.now = time.time() if now is None else now

    @classmethod
    def of_stdout(cls, env: Mapping[str, str]) -> Style:
        if not os.isatty(1):
            return cls()
        try:
            width = os.get_terminal_size(1).columns or None
        except OSError:
            width = None
        return cls(colour=not env.get("NO_COLOR") and env.get("TERM") != "dumb", width=width)

    def paint(self, text: str, code: str | None) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def answer(found: dict[str, Any], style: Style) -> str:
    """Return the text of an answer or an error, with a newline at its end."""
    if not found["ok"]:
        return error(found["error"])
    if found["type"] == "list":
        return _jobs(found, style)
    if found["type"] == "events":
        return _events(found, style)
    if found["type"] == "doctor":
        return _checks(found, style)
    if found["type"] in ("install", "uninstall"):
        return _client(found)
    if found["type"] == "schema":
        return json.dumps(found.get("schema"), indent=2, ensure_ascii=False) + "\n"
    parts = [] if found["type"] in _TEXT_ONLY else [_fields(found, style)]
    parts += _texts(found)
    parts += [f"({line(found['hint'])})\n"] if found.get("hint") else []
    return "\n".join(part for part in parts if part) or "(no output)\n"


def error(found: dict[str, Any]) -> str:
    """Return the `error` member as one or two lines."""
    text = f"error: {line(found['message'])}\n"
    return text + (f"hint: {line(found['hint'])}\n" if found.get("hint") else "")


def line(text: str) -> str:
    """Return one line with control characters shown as escapes; dropping them would hide that they
    are there."""
    return "".join(char if _is_shown(char) else _escape(char) for char in text)


def _is_shown(char: str) -> bool:
    # C: controls, bidirectional overrides and other format characters, surrogates; Zl, Zp: line
    # separators
    return unicodedata.category(char)[0] != "C" and unicodedata.category(char) not in ("Zl", "Zp")


def _escape(char: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return named or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


# --- list ------------------------------------------------------------------------------------------


def _jobs(found: dict[str, Any], style: Style) -> str:
    jobs = found["jobs"]
    if not jobs:
        return f"{found.get('hint') or 'There is no job to list.'}\n"
    text = table(_HEAD, [_job_row(job, style.now) for job in jobs], style, colours=[_colour(job) for job in jobs])
    if found.get("truncated"):
        text += f"({len(jobs)} shown, there are more: --limit 0 shows all)\n"
    if found.get("skipped"):
        text += f"({found['skipped']} could not be read)\n"
    if any(_is_pending(job) for job in jobs) and found.get("hint"):
        text += f"({line(found['hint'])})\n"
    return text


def _is_pending(job: dict[str, Any]) -> bool:
    """Return whether the job waits for approval."""
    return job["state"] == "created" and (job.get("approval") or {}).get("state") == "pending"


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


def _aside(job: dict[str, Any]) -> str:
    if job.get("supervisor"):
        return f" (its supervisor is stopped: kill -CONT {job['supervisor_pid']})"
    return " (waits for input)" if job.get("waiting_for_input") else ""


def _result(job: dict[str, Any]) -> str:
    """Return one word for how a job ended: its exit code, or why it has none."""
    if _is_pending(job):
        return "pending"
    if job.get("reason") in (None, "exit") and job.get("exit_code") is not None:
        return str(job["exit_code"])
    if job.get("reason") in (None, "signal"):
        return job.get("signal") or job.get("reason") or ""
    return str(job["reason"])


def _colour(job: dict[str, Any]) -> str | None:
    bad_exit = job["state"] == "exited" and job.get("exit_code")
    return "31" if bad_exit else _COLOURS.get(job["state"])


def table(
    head: tuple[str, ...], rows: list[list[str]], style: Style, *, colours: list[str | None] | None = None
) -> str:
    """Return left-aligned columns; rows are cut at the width of the terminal.

    A colour applies to its whole row.
    """
    shown = [list(head), *([line(cell) for cell in row] for row in rows)]
    widths = [max(map(columns, cells)) for cells in zip(*shown, strict=True)]
    lines = []
    for at, row in enumerate(shown):
        text = "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True))
        code = "1" if at == 0 else (colours[at - 1] if colours else None)
        lines.append(style.paint(cut(text.rstrip(), style.width), code))
    return "\n".join(lines) + "\n"


def columns(text: str) -> int:
    """Return how many columns a terminal needs for the text."""
    if text.isascii():
        return len(text)
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cut(text: str, width: int | None) -> str:
    if width is None or columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[:-1]
    return text + "…"


# --- the others ----------------------------------------------------------------------------------


def _fields(found: dict[str, Any], style: Style) -> str:
    """Return `name  value` lines without fields that are null or empty."""
    names = [name for name in _FIRST if name in found] + [name for name in found if name not in _FIRST]
    pairs = [(name, found[name]) for name in names if name not in _HIDDEN and name not in _OUTPUTS]
    shown = [(_label(name), _value(name, value, style)) for name, value in pairs if value not in (None, "", [], {})]
    if not shown:
        return ""
    width = max(len(label) for label, _ in shown)
    lines = []
    for label, value in shown:
        value = style.paint(value, _colour(found)) if label == "state" else value
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
    return line(json.dumps(value) if isinstance(value, dict) else str(value))


def _list(values: list[Any], style: Style) -> str:
    if all(isinstance(value, str) for value in values):
        return ", ".join(map(line, values))
    if not all(isinstance(value, dict) for value in values):
        return line(json.dumps(values))
    head = tuple(dict.fromkeys(name for value in values for name in value))
    rows = [[_cell(value.get(name)) for name in head] for value in values]
    indented = table(tuple(line(name).upper() for name in head), rows, Style(now=style.now)).rstrip("\n")
    return "\n    " + indented.replace("\n", "\n    ")


def _cell(value: Any) -> str:
    if value is None:
        return ""
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


def duration(ms: float) -> str:
    """Return `250 ms`, `1.5 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    if ms < 1_000:
        return f"{ms:g} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.3g} s"
    minutes, seconds = divmod(int(ms / 1_000), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    pairs = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(at for at, (number, _) in enumerate(pairs) if number)
    return " ".join(f"{number} {unit}" for number, unit in pairs[first : first + 2] if number)


def size(count: float) -> str:
    """Return `512 B`, `1.5 KiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1_024:
            return f"{count:.4g} {unit}"
        count /= 1_024
    return f"{count:.4g} TiB"


def _age(stamp: str | None, now: float) -> str:
    try:
        ms = max(0.0, now - seconds_of(stamp or "")) * 1_000
    except ValueError:
        return ""
    if ms < 1_000:
        return "now"
    number, unit = duration(ms).split(" ")[:2]
    return f"{float(number):.0f}{unit}"
