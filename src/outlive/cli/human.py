"""Render answers for a person: `--human`.

Output and names of jobs reach the terminal without control characters."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import groupby

from outlive import parts, verbs
from outlive.answers.job import is_pending
from outlive.answers.listing import Listed
from outlive.cli import stdio, summary
from outlive.cli.text import Style, table
from outlive.core import quoted
from outlive.core.base_directories import state_directory
from outlive.core.ids import short_id
from outlive.core.members import entries_of, number_of, object_of, text_of, texts_of
from outlive.core.quoted import visible
from outlive.core.units import counted, duration, seconds_of, size
from outlive.render import events, times
from outlive.render.plain_text import readable
from outlive.verbs import envelope

HEAD = ("JOB", "STATE", "RESULT", "AGE", "NAME", "TAGS")

# What the face adds to an answer; of these the hint and the last lines of `status` stand below
_ADDED = frozenset({"schema_version", "ok", "type", "hint", "snippet"})
_HINT_GIVEN = "human-hint"  # an empty file: the hint was given
_HINT = "outlive: --human shows this for reading; OUTLIVE_HUMAN=1 makes it the default on a terminal.\n"
_TEXT_ONLY = frozenset({"log", "tail"})  # asked for to be read, so nothing stands above it


def answer(answer: dict[str, object], style: Style, *, verbose: bool = False) -> str:
    """Return the text of an answer or an error, with a newline at its end: what a person asks first, with `verbose`
    everything."""
    if not answer["ok"]:
        return error(object_of(answer, "error"))
    if answer["type"] == "list":
        return _jobs(answer, style, verbose=verbose)
    if answer["type"] == "events":
        return _events(answer, style)
    own = parts.for_person(text_of(answer, "type"))
    if own is not None:
        return own(answer, style, verbose=verbose)
    texts = [] if answer["type"] in _TEXT_ONLY else [_head(answer, style, verbose=verbose)]
    texts += _texts(answer)
    texts.append(hint(answer))
    return "\n".join(text for text in texts if text) or "(no output)\n"


def hint(answer: dict[str, object]) -> str:
    return f"({visible(text_of(answer, 'hint'))})\n" if answer.get("hint") else ""


def _head(answer: dict[str, object], style: Style, *, verbose: bool) -> str:
    if answer["type"] in summary.TYPES and "state" in answer:
        about = summary.of(answer, style)
        return f"{about}\n{fields(answer, style)}" if verbose else about
    return fields(answer, style)


def error(failure: dict[str, object]) -> str:
    """Return the `error` member as one or two lines."""
    text = f"error: {visible(text_of(failure, 'message'))}\n"
    return text + (f"hint: {visible(text_of(failure, 'hint'))}\n" if failure.get("hint") else "")


# --- list ------------------------------------------------------------------------------------------


def _jobs(answer: dict[str, object], style: Style, *, verbose: bool) -> str:
    jobs = entries_of(answer, "jobs")
    if not jobs:
        return f"{visible(text_of(answer, 'hint') or 'There is no job to list.')}\n"
    more: dict[str, list[str]] = {}
    if verbose or len({(text_of(job, "owner"), text_of(job, "cwd")) for job in jobs}) > 1:
        more |= {"OWNER": [text_of(job, "owner") for job in jobs], "DIRECTORY": [text_of(job, "cwd") for job in jobs]}
    if verbose:
        more["COMMAND"] = [quoted.command(texts_of(job, "command")) for job in jobs]
    if all(map(summary.ended_badly, jobs)):
        more["LAST LINE"] = [text_of(job, "last_line") or text_of(job, "message") for job in jobs]
    besides = [
        envelope.besides(envelope.brief_entry(job, Listed), Listed.flat(), Listed.in_sentences()) for job in jobs
    ]
    more |= {
        name.upper(): [one.get(name, "") for one in besides]
        for name in dict.fromkeys(name for one in besides for name in one)
    }
    rows = [[*row(job, style.now), *cells] for job, *cells in zip(jobs, *more.values(), strict=True)]
    text = table((*HEAD, *more), rows, style, colours=[summary.colour(job) for job in jobs])
    footer = [f"There are more than these {len(jobs)}: --limit 0 shows all."] if answer.get("truncated") else []
    footer += [f"{answer['skipped']} could not be read."] if answer.get("skipped") else []
    footer += [visible(text_of(answer, "hint"))] if answer.get("hint") and not answer.get("truncated") else []
    return text + (f"({' '.join(footer)})\n" if footer else "")


def _events(answer: dict[str, object], style: Style) -> str:
    rows = []
    for _, alike in groupby(entries_of(answer, "events"), key=lambda event: (event["type"], events.about(event))):
        *others, last = alike  # of one kind, one after the other: a row
        kind = text_of(last, "type") + (f" × {len(others) + 1}" if others else "")
        rows.append([text_of(last, "at"), str(last["seq"]), kind, events.about(last)])
    text = table(("TIME", "SEQ", "EVENT", "ABOUT"), rows, style) if rows else ""
    if not rows and not answer.get("damage"):
        text = "No events yet.\n"
    return text + "".join(f"({visible(text_of(answer, name))})\n" for name in ("damage", "hint") if answer.get(name))


def row(job: dict[str, object], now: float) -> list[str]:
    """Return the cells of a job below HEAD."""
    name = text_of(job, "name") or " ".join(texts_of(job, "command"))
    age = _age(text_of(job, "started_at") or text_of(job, "created_at"), now)
    return [
        text_of(job, "short_id") or short_id(text_of(job, "job_id")),
        text_of(job, "state") + _aside(job),
        _result(job),
        age,
        name,
        " ".join(texts_of(job, "tags")),
    ]


def _aside(job: dict[str, object]) -> str:
    left = number_of(job, "descendants")
    if left:
        return f" ({counted(left, 'process')} left)"
    if job.get("supervisor"):
        return f" (its supervisor is stopped: kill -CONT {job['supervisor_pid']})"
    return " (waits for input)" if job.get("waiting_for_input") else ""


def _result(job: dict[str, object]) -> str:
    """Return one word for how a job ended: its exit code, or why it has none."""
    if is_pending(job):
        return "pending"
    if job.get("reason") in (None, "exit") and job.get("exit_code") is not None:
        return str(job["exit_code"])
    if job.get("reason") in (None, "signal"):
        return text_of(job, "signal") or text_of(job, "reason")
    return str(job["reason"])


# --- the others ----------------------------------------------------------------------------------


def fields(answer: dict[str, object], style: Style) -> str:
    """Return `name  value` lines without fields that are null or empty. Output goes below everything."""
    known = verbs.fields_of(text_of(answer, "type"))
    places = {name: known[name].human if name in known else None for name in answer if name not in _ADDED}
    first = sorted(((place, name) for name, place in places.items() if place is not None and place > 0))
    names = [*(name for _, name in first), *(name for name, place in places.items() if place is None)]
    said = [name for name in names if answer[name] not in (None, "", [], {})]
    shown = [(label_of(name), _value(name, answer[name], style)) for name in said]
    if not shown:
        return ""
    width = max(len(label) for label, _ in shown)
    lines = []
    for label, value in shown:
        value = style.paint(value, summary.colour(answer)) if label == "state" else value
        lines.append(f"{style.paint(label.ljust(width), '1')}  {value}")
    return "\n".join(lines) + "\n"


def label_of(name: str) -> str:
    for unit in ("_ms", "_bytes"):
        if name.endswith(unit) and name != unit:
            name = name[: -len(unit)]
    return visible(name.replace("_", " "))


def _value(name: str, value: object, style: Style) -> str:
    if isinstance(value, (int, float)):
        return _number(name, value)
    if name == "command" and isinstance(value, list):
        return quoted.command(value)
    if isinstance(value, list):
        return _list(value, style)
    return _object(value, style) if isinstance(value, dict) else visible(str(value))


def _number(name: str, value: float) -> str:
    """Return a truth value or a number, with the unit that its name ends in."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return duration(value) if name.endswith("_ms") else size(value) if name.endswith("_bytes") else str(value)


def _object(members: dict[str, object], style: Style) -> str:
    """Return an object as lines of its own, without members that say nothing."""
    shown = [
        (label_of(name), _value(name, value, style))
        for name, value in members.items()
        if value not in (None, "", [], {})
    ]
    width = max((len(label) for label, _ in shown), default=0)
    return "".join(f"\n    {label.ljust(width)}  " + value.replace("\n", "\n    ") for label, value in shown)


def _list(values: list[object], style: Style) -> str:
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return ", ".join(map(visible, texts))
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) < len(values):
        return visible(json.dumps(values))
    indented = table_of(objects, Style(now=style.now)).rstrip("\n")
    return "\n    " + indented.replace("\n", "\n    ")


def table_of(values: list[dict[str, object]], style: Style) -> str:
    """Return a table of objects, without the columns in which none says anything."""
    names = dict.fromkeys(name for value in values for name in value)
    head = [name for name in names if any(value.get(name) not in (None, "", [], {}) for value in values)]
    rows = [[_cell(name, value.get(name)) for name in head] for value in values]
    return table(tuple(label_of(name).upper() for name in head), rows, style)


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return _number(name, value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    return value if isinstance(value, str) else json.dumps(value)


def _texts(answer: dict[str, object]) -> list[str]:
    """Return what the job printed. The tails are used only without merged output, because they are the same text."""
    texts = {**object_of(answer, "snapshot"), **answer}
    if texts.get("output") or texts.get("snippet"):
        shown = readable(text_of(texts, "output") or text_of(texts, "snippet"))
        return [_ended(times.in_front(shown, answer.get("times")))]
    out, err = text_of(texts, "stdout_tail"), text_of(texts, "stderr_tail")
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


def hint_once(env: Mapping[str, str]) -> None:
    """Give the hint on stderr if a person has typed this call, and none was ever given to this user. An interactive
    shell gives each command that is typed a process group of its own, a script does not. A program that has a terminal
    is told nothing either: a job of ours, a build. Where it cannot be recorded that the hint was given, it is not
    given."""
    typed = os.isatty(0) and os.isatty(2) and os.getpgrp() == os.getpid()
    if not typed or any(name in env for name in ("OUTLIVE_HUMAN", "OUTLIVE_JOB_ID", "CI")):
        return
    place = state_directory(env)
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(os.open(os.path.join(place, _HINT_GIVEN), flags, 0o600))
    except OSError:
        return
    stdio.note(_HINT)
