"""What a person asks of a job first: what it is, how it is doing, for how long, and its last lines."""

from __future__ import annotations

from outlive import limits, parts, verbs
from outlive.answers.job import Status, is_pending
from outlive.cli.text import Style
from outlive.core import quoted
from outlive.core.ids import short_id
from outlive.core.members import entries_of, number_of, object_of, text_of, texts_of
from outlive.core.quoted import visible
from outlive.core.units import duration, seconds_or, size
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import shown_output
from outlive.store.output.merged import Output
from outlive.verbs import envelope

# Answers about one job of which a person wants to know these things, and the rest with -v
TYPES = frozenset({"run", "start", "restart", "create", "status", "poll", "wait", "kill", "approve", "deny"})
COLOURS = {"created": "36", "running": "33", "exited": "32", "killed": "35", "failed": "31", "unknown": "31"}
LINES = 10
_TOLD = frozenset(
    {"host", "elapsed_ms", "timeout_ms", "next_seq"}
)  # by other lines of `of`, or of use to a program alone
_OF_SEVERAL = frozenset({"wait", "kill"})
_ENDED = {
    "kill": "killed on request",
    "timeout": "killed at its time limit",
    "idle_timeout": "killed at its limit of silence",
    "oom": "killed: out of memory",
    "limit": "killed at a limit",
}


def last_lines(ctx: Context, job_id: str) -> str | None:
    """Return the end of a job's output; None if it cannot be read any more."""
    try:
        with lookup.open_known(ctx.caller, job_id) as job, Output(job) as output:
            shown = shown_output.snippet(adoption.inspect_and_adopt(ctx, job), output) if output.end else ""
    except (OSError, OutliveError):  # removed meanwhile
        return None
    return "\n".join(shown.splitlines()[-LINES:])


def colour(job: dict[str, object]) -> str | None:
    """Return the colour of a job's state: red where it ended badly."""
    return "31" if job["state"] == "exited" and ended_badly(job) else COLOURS.get(text_of(job, "state"))


def ended_badly(job: dict[str, object]) -> bool:
    """Return whether the job ended in any other way than by itself with exit code 0."""
    return job["state"] in ("killed", "failed", "unknown") or bool(job["state"] == "exited" and job.get("exit_code"))


def of(answer: dict[str, object], style: Style) -> str:
    job = visible(text_of(answer, "short_id") or short_id(text_of(answer, "job_id")))
    command = quoted.command(texts_of(answer, "command"))
    name = visible(text_of(answer, "name") or command)
    lines = [f"{style.paint(name, '1')}  {style.paint(f'job {job}', '2')}" if name else style.paint(f"job {job}", "1")]
    if command and command != name:
        lines.append(f"$ {command}")
    first, *others = _facts(answer, style.now) or [""]
    lines.append(", ".join([f"{style.paint(state_of(answer), colour(answer))} {first}".rstrip(), *others]))
    lines += filter(None, (_place(answer), _fired(answer), _survivors(answer)))
    lines += map(visible, parts.lines(answer))
    if answer.get("type") in _OF_SEVERAL:
        lines += [_other(one, style) for one in entries_of(answer, "jobs") if one["job_id"] != answer["job_id"]]
    if answer.get("type") == "status":
        fields = verbs.fields_of("status")
        rest = envelope.besides(envelope.brief(answer, fields), fields, Status.in_sentences() | _TOLD)
        lines += [f"{name.replace('_', ' ')}: {visible(value)}" for name, value in rest.items()]
    # What a person approves, or just did
    lines += [f"  {fact['label']}: {fact['value']}" for fact in entries_of(object_of(answer, "approval"), "facts")]
    return "\n".join(lines) + "\n"


def _other(job: dict[str, object], style: Style) -> str:
    """Return the line of another job that the answer is about, too."""
    state = visible(text_of(job, "error")) or style.paint(state_of(job), colour(job))
    short = style.paint(f"job {short_id(text_of(job, 'job_id'))}", "2")
    return f"{visible(text_of(job, 'name'))}  {short}: {state}"


def state_of(answer: dict[str, object]) -> str:
    """Return how the job is doing, or how it ended."""
    state, reason = visible(text_of(answer, "state")), text_of(answer, "reason")
    if is_pending(answer):
        return "waits for approval"
    if state == "created":
        return parts.why_not_started(answer) or "not started"
    if state in ("running", "unknown"):
        return str(state)
    if answer.get("message"):
        return f"{state}: {visible(text_of(answer, 'message'))}"
    signal = text_of(answer, "ended_signal" if answer.get("type") == "kill" else "signal")
    if reason in ("", "exit") and answer.get("exit_code") is not None:
        return f"exited with code {answer['exit_code']}"
    if state == "killed" and reason in _ENDED:
        return _ENDED[reason] + (f" ({visible(signal)})" if signal else "")
    why = " ".join(visible(part) for part in (reason if reason != "signal" else "", signal) if part)
    code = f" (code {answer['exit_code']})" if answer.get("exit_code") is not None else ""
    return f"{state}: {why}{code}" if why else str(state)


def _facts(answer: dict[str, object], now: float) -> list[str]:
    """Return for how long, which may be "", and what else matters."""
    facts = []
    if answer["state"] == "running":
        known = answer.get("elapsed_ms") is not None
        elapsed = number_of(answer, "elapsed_ms")
        if not known and answer.get("started_at"):
            known, elapsed = True, max(0, round((now - seconds_or(text_of(answer, "started_at"), now)) * 1000))
        facts.append(f"for {duration(elapsed)}" if known else "")
        if answer.get("supervisor"):
            facts.append(f"its supervisor is stopped: kill -CONT {answer['supervisor_pid']}")
        elif answer.get("waiting_for_input"):
            prompt = text_of(answer, "prompt")
            facts.append(f"waits for input: {visible(prompt)}" if prompt else "waits for input")
        elif number_of(answer, "idle_ms") >= limits.SILENT_MS:
            facts.append(f"silent for {duration(number_of(answer, 'idle_ms'))}")
        if answer.get("timeout_ms"):
            facts.append(f"at most {duration(number_of(answer, 'timeout_ms'))}")
    elif answer["state"] != "created":
        took = answer.get("duration_ms") is not None
        facts.append(f"after {duration(number_of(answer, 'duration_ms'))}" if took else "")
        ago = max(0.0, now - seconds_or(text_of(answer, "finished_at"), now))
        facts += [f"{duration(int(ago) * 1000)} ago"] if ago >= 1 else []
    return facts


def _place(answer: dict[str, object]) -> str:
    usage = object_of(answer, "usage")
    cpu = number_of(usage, "user_ms") + number_of(usage, "system_ms")
    memory = number_of(usage, "memory_bytes") or number_of(usage, "peak_memory_bytes")  # now, or the most
    parts = [
        f"on {visible(text_of(answer, 'host'))}" if answer.get("host") not in (None, "local") else "",
        f"pid {answer['pid']}" if answer["state"] == "running" and answer.get("pid") else "",
        f"CPU {duration(cpu)}" if usage else "",
        f"memory {size(memory)}" if memory else "",
        f"{usage['processes']} processes" if answer["state"] == "running" and number_of(usage, "processes") > 1 else "",
        f"tags {' '.join(map(visible, texts_of(answer, 'tags')))}" if answer.get("tags") else "",
    ]
    return ", ".join(filter(None, parts))


def _fired(answer: dict[str, object]) -> str:
    if answer.get("timed_out"):
        return "The time is up." if answer["state"] == "created" else "The time is up; the job goes on."
    fired = object_of(answer, "fired")
    if fired.get("condition") in (None, "exit"):
        return ""
    about = text_of(fired, "line") or next(
        (str(fired[name]) for name in ("port", "http", "file") if fired.get(name)), ""
    )
    return f"{visible(str(fired['condition']))}: {visible(about)}" if about else visible(str(fired["condition"]))


def _survivors(answer: dict[str, object]) -> str:
    alive = entries_of(answer, "survivors")
    some = ", ".join(f"{one['pid']} {visible(text_of(one, 'command'))}" for one in alive[:3])
    return f"still alive: {some}{f' and {len(alive) - 3} more' if len(alive) > 3 else ''}" if alive else ""
