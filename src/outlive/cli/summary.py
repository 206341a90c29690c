"""What a person asks of a job first: what it is, how it is doing, for how long, and its last
lines."""

from __future__ import annotations

import shlex

from outlive import limits
from outlive.cli.text import Style, duration, line, size
from outlive.core.ids import short_id
from outlive.core.units import seconds_of
from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

# Answers about one job of which a person wants to know these things, and the rest with -v
TYPES = frozenset({"run", "start", "restart", "create", "status", "poll", "wait", "kill", "approve", "deny"})
COLOURS = {"created": "36", "running": "33", "exited": "32", "killed": "35", "failed": "31", "unknown": "31"}
LINES = 10
_ENDED = {
    "kill": "killed on request",
    "timeout": "killed at its time limit",
    "idle_timeout": "killed at its limit of silence",
    "oom": "killed: out of memory",
    "limit": "killed at a limit",
}


def with_last_lines(ctx: Context, found: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of `status` with the end of the job's output, which `status` itself does
    not show."""
    from outlive.jobs import adoption, job_answer, lookup
    from outlive.store.output.merged import Output

    try:
        with lookup.open_known(ctx, found["job_id"]) as job, Output(job) as output:
            shown = job_answer.snippet(adoption.inspect_and_adopt(ctx, job), output) if output.end else ""
    except (OSError, OutliveError):  # removed meanwhile
        return found
    return {**found, "snippet": "\n".join(shown.splitlines()[-LINES:])}


def colour(job: dict[str, Any]) -> str | None:
    """Return the colour of a job's state: red where it ended badly."""
    bad_exit = job["state"] == "exited" and job.get("exit_code")
    return "31" if bad_exit else COLOURS.get(job["state"])


def is_pending(job: dict[str, Any]) -> bool:
    """Return whether the job waits for approval."""
    return job["state"] == "created" and (job.get("approval") or {}).get("state") == "pending"


def of(found: dict[str, Any], style: Style) -> str:
    """Return some lines about the job of an answer."""
    job = line(found.get("short_id") or short_id(found["job_id"]))
    command = _command(found)
    name = line(found.get("name") or command)
    lines = [f"{style.paint(name, '1')}  {style.paint(f'job {job}', '2')}" if name else style.paint(f"job {job}", "1")]
    if command and command != name:
        lines.append(f"$ {command}")
    first, *others = _facts(found, style.now) or [""]
    lines.append(", ".join([f"{style.paint(state_of(found), colour(found))} {first}".rstrip(), *others]))
    lines += filter(None, (_place(found), _fired(found), _survivors(found)))
    return "\n".join(lines) + "\n"


def _command(found: dict[str, Any]) -> str:
    words = found.get("command") or []
    return line(shlex.join(words) if len(words) > 1 else " ".join(words))


def state_of(found: dict[str, Any]) -> str:
    """Return how the job is doing, or how it ended."""
    state, reason = line(found["state"]), found.get("reason")
    if is_pending(found):
        return "waits for approval"
    if state == "created":
        return "not started"
    if state in ("running", "unknown"):
        return str(state)
    if found.get("message"):
        return f"{state}: {line(found['message'])}"
    signal = found.get("ended_signal") if found.get("type") == "kill" else found.get("signal")
    if reason in (None, "exit") and found.get("exit_code") is not None:
        return f"exited with code {found['exit_code']}"
    if state == "killed" and reason in _ENDED:
        return _ENDED[reason] + (f" ({line(signal)})" if signal else "")
    why = " ".join(line(str(part)) for part in (reason if reason != "signal" else None, signal) if part)
    code = f" (code {found['exit_code']})" if found.get("exit_code") is not None else ""
    return f"{state}: {why}{code}" if why else str(state)


def _facts(found: dict[str, Any], now: float) -> list[str]:
    """Return for how long, which may be "", and what else matters."""
    facts = []
    if found["state"] == "running":
        elapsed = found.get("elapsed_ms")
        if elapsed is None and found.get("started_at"):
            elapsed = max(0, round((now - seconds_of(found["started_at"])) * 1000))
        facts.append(f"for {duration(elapsed)}" if elapsed is not None else "")
        if found.get("supervisor"):
            facts.append(f"its supervisor is stopped: kill -CONT {found['supervisor_pid']}")
        elif found.get("waiting_for_input"):
            prompt = found.get("prompt")
            facts.append(f"waits for input: {line(prompt)}" if prompt else "waits for input")
        elif (found.get("idle_ms") or 0) >= limits.SILENT_MS:
            facts.append(f"silent for {duration(found['idle_ms'])}")
    elif found["state"] != "created":
        facts.append(f"after {duration(found['duration_ms'])}" if found.get("duration_ms") is not None else "")
        ago = max(0.0, now - seconds_of(found["finished_at"])) if found.get("finished_at") else 0
        facts += [f"{duration(int(ago) * 1000)} ago"] if ago >= 1 else []
    facts += (
        [f"at most {duration(found['timeout_ms'])}"] if found["state"] == "running" and found.get("timeout_ms") else []
    )
    return facts


def _place(found: dict[str, Any]) -> str:
    """Return where it runs and what it uses."""
    usage = found.get("usage") or {}
    cpu = (usage.get("user_ms") or 0) + (usage.get("system_ms") or 0)
    memory = usage.get("memory_bytes") or usage.get("peak_memory_bytes")  # now, or the most
    parts = [
        f"on {line(found['host'])}" if found.get("host") not in (None, "local") else "",
        f"pid {found['pid']}" if found["state"] == "running" and found.get("pid") else "",
        f"CPU {duration(cpu)}" if usage else "",
        f"memory {size(memory)}" if memory else "",
        f"{usage['processes']} processes" if found["state"] == "running" and (usage.get("processes") or 0) > 1 else "",
        f"tags {' '.join(map(line, found['tags']))}" if found.get("tags") else "",
    ]
    return ", ".join(filter(None, parts))


def _fired(found: dict[str, Any]) -> str:
    """Return what ended a wait."""
    if found.get("timed_out"):
        return "The time is up; the job goes on."
    fired = found.get("fired") or {}
    if fired.get("condition") in (None, "exit"):
        return ""
    about = fired.get("line") or next((str(fired[name]) for name in ("port", "http", "file") if fired.get(name)), "")
    return f"{line(str(fired['condition']))}: {line(about)}" if about else line(str(fired["condition"]))


def _survivors(found: dict[str, Any]) -> str:
    alive = found.get("survivors") or []
    some = ", ".join(f"{one['pid']} {line(one['command'])}" for one in alive[:3])
    return f"still alive: {some}{f' and {len(alive) - 3} more' if len(alive) > 3 else ''}" if alive else ""
