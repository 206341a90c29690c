"""The facts about a job that answers share."""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.units import seconds_of, timestamp
from outlive.store.job_dir import LOGS
from outlive.store.output.merged import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.render.window import Shown
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


# Above one of these an answer is made in a thread of the server
_QUICK_BYTES = 32_768
_QUICK_RUNS = 4_096  # of one stream without the other between

# The fields that `describe` and `run_answer` fill, as the `result` of a verb names them.
DESCRIBING = (
    "short_id name pid cwd command tags owner sandbox? exit_code? signal? reason? ended_by? errno? usage? message? damage? "
    "dropped_bytes? missing_bytes? adopted? restarted_from? resources? approval? started_at? created_at? finished_at? duration_ms? timeout_ms "
    "waiting_for_input? prompt? echo? supervisor? supervisor_pid? descendants? host? queue? engine? reachable? unreachable_since? "
    "machine? "
)
RUN = (
    "job_id state snapshot stdout_log_path stderr_log_path waited_ms elapsed_ms env_vars output since_seq next_seq "
    "truncated gaps? alternate_screen? cursor? fired? timed_out? requested_ms? effective_ms? deduplicated? hint? "
    + DESCRIBING
)


def describe(found: Inspection, job: JobDir, output: Output) -> dict[str, Any]:
    """Return what the job is, and how it ended if it has."""
    definition, state = found.definition, found.state
    answer: dict[str, Any] = {
        "short_id": short_id(job.job_id),
        "name": definition.name,
        "pid": state.pid,
        "cwd": definition.cwd or None,
        "command": definition.command,
        "tags": definition.tags,
        "owner": definition.owner,
        "created_at": definition.created_at,
        "timeout_ms": definition.timeout_ms,
    }
    answer |= waiting(found, output)
    answer |= unresponsive(found)
    answer |= place(found, job)
    if state.started_at is not None:
        answer["started_at"] = state.started_at
    if state.finished:
        answer |= outcome(found)
    optional = {
        "message": state.message,
        "damage": found.damage,
        "dropped_bytes": state.dropped_bytes or None,
        "missing_bytes": output.missing_bytes or None,
        "adopted": state.adopted or None,
        "restarted_from": definition.restarted_from,
        "approval": approval_of(found, job),
        "resources": definition.resources and resources_of(found),
        "sandbox": definition.sandbox and {name: definition.sandbox[name] for name in ("mode", "network")},
    }
    return answer | {name: value for name, value in optional.items() if value is not None}


def place(found: Inspection, job: JobDir) -> dict[str, Any]:
    """Return where a job is; nothing of a job on this machine."""
    if not found.elsewhere:
        return {}
    if found.definition.host is None:
        return {"machine": machine_of(found)}
    from outlive.hosts import engines  # late: most jobs run on this machine

    return engines.described(job, found.definition, found.state.state)


def machine_of(found: Inspection) -> str:
    """Return the name of the machine that has the processes of a job."""
    record = found.state.machine or found.definition.machine or {}
    return str(record.get("name"))


def _place_hint(found: Inspection, job: JobDir) -> str | None:
    """Return what to do about a job on another machine that waits or cannot be asked about here;
    else None."""
    if not found.elsewhere or found.state.finished:
        return None
    where = place(found, job)
    if "machine" in where:
        name = where["machine"]
        return f"Its processes are on {name}: only there can be seen whether it still runs, and only there it takes kill and write."
    if where.get("reachable") is False:
        return f"Host {where['host']} is out of reach since {where['unreachable_since']}; this is what was known then."
    if "queue" in where:
        why = f" ({where['queue']['reason']})" if where["queue"].get("reason") else ""
        return f"It waits for its start on {where['host']}{why}. wait tells when it ends; kill cancels it."
    return None


def approval_of(found: Inspection, job: JobDir) -> dict[str, Any] | None:
    """Return what became of the approval of a job; None if none was asked for."""
    if found.definition.approval is None:
        return None
    from outlive.store import approval  # late, as below: few jobs are asked about

    return approval.shown(job, found.definition)


def resources_of(found: Inspection) -> dict[str, Any]:
    """Return what a job was to have, and how each of it is applied once it was started."""
    asked = {name: {"value": value} for name, value in (found.definition.resources or {}).items()}
    return found.state.resources or asked


def not_limited(found: Inspection) -> str | None:
    """Return the sentence about resources that are not limited as asked; None if all are."""
    told = found.state.resources or {}
    left = [f"{name} ({one['why']})" for name, one in told.items() if one.get("applied") == "not_supported"]
    return f"Not limited: {'; '.join(left)}." if left else None


def waiting(found: Inspection, output: Output) -> dict[str, Any]:
    """Return whether the job waits for input, and if so its prompt and, on a terminal, whether
    typing is shown."""
    record = found.state.waiting
    # The supervisor clears the record, but a reader may be faster
    if (
        not record
        or found.state.state != "running"
        or not (found.supervised or found.elsewhere)
        or output.end != record["seq"]
    ):
        return {"waiting_for_input": False}
    answer: dict[str, Any] = {"waiting_for_input": True}
    prompt = _prompt(found, output)
    if prompt:
        answer["prompt"] = prompt
    if record["echo"] is not None:  # a program that reads key by key shows what is typed itself (an editor, a shell)
        answer["echo"] = record["echo"] or not record["canonical"]
    return answer


def unresponsive(found: Inspection) -> dict[str, Any]:
    """Return the pid of a stopped supervisor: output waits in its pipes, and no request is
    answered."""
    if not found.supervised:
        return {}
    from outlive.jobs.processes import stopped_supervisor

    pid = stopped_supervisor(found)
    return {} if pid is None else {"supervisor": "unresponsive", "supervisor_pid": pid}


def input_hint(found: Inspection, answer: dict[str, Any]) -> str | None:
    """Return how to answer a job that waits for input, or how to continue a stopped supervisor;
    else None."""
    if answer.get("supervisor"):
        pid = answer["supervisor_pid"]
        return (
            f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write and kill are not "
            f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it."
        )
    if not answer.get("waiting_for_input"):
        return None
    if answer.get("echo") is False:
        return (
            "It asks for a password (what is typed is not shown). Have a person type it: "
            f"`outlive attach {short_id(found.definition.job_id)}` in a terminal; submit types one that you were given."
        )
    if found.definition.pty:
        return "Answer with submit (types text and Enter) or send-keys (C-c, Up, q); screen shows the terminal."
    return "Answer with write (a line needs its newline); eof ends the input."


def advice(found: Inspection, job: JobDir, output: Output, answer: dict[str, Any]) -> str | None:
    """Return what to do about a job that waits for input, is silent or has failed; None for others.

    `answer` holds what `waiting` and `unresponsive` say.
    """
    hint = input_hint(found, answer)
    if hint is None and found.definition.approval is not None:
        from outlive.jobs.permission import approval

        hint = approval.hint(job, found)
    if hint is None and found.elsewhere:
        hint = _place_hint(found, job)
    if hint:
        return hint
    silent_ms = idle_ms(found, output)
    if silent_ms is not None and silent_ms >= limits.SILENT_MS:
        from outlive.jobs.diagnosis import silence

        return silence.hint(found, job, output, silent_ms)
    if found.state.finished and found.state.exit_code:
        from outlive.jobs.diagnosis import failure

        return failure.hint(found, output)
    return None


def _prompt(found: Inspection, output: Output) -> str:
    """Return the unfinished last line; empty for a program that fills the screen."""
    if found.state.terminal:
        from outlive.jobs.interaction import screen  # late, as below: most jobs have no terminal

        if screen.alternate_since(found, output, output.end) is not None or screen.is_painted(found, output):
            return ""
    from outlive.render.decode import decode  # late, as below: `status` and `list` show no output
    from outlive.render.plain_text import readable

    text, _ = decode(output.pieces(max(0, output.end - limits.PROMPT_BYTES), output.end), more=False)
    return readable(text).rpartition("\n")[2].strip()[-limits.PROMPT_CHARS :]


def state_and_end(found: Inspection) -> dict[str, Any]:
    """Return the state of a job, and how it ended if it has."""
    state = found.state
    ended = {"exit_code": state.exit_code, "signal": state.signal, "reason": state.reason} if state.finished else {}
    return {"state": state.state, **ended}


def outcome(found: Inspection) -> dict[str, Any]:
    """Return how a finished job ended."""
    state = found.state
    answer: dict[str, Any] = {
        "exit_code": state.exit_code,
        "signal": state.signal,
        "reason": state.reason,
        "finished_at": state.finished_at,
        "duration_ms": state.duration_ms,
    }
    if state.errno is not None:
        answer["errno"] = state.errno
    if state.usage is not None:
        answer["usage"] = used(found)
    if state.ending and state.reason == state.ending["cause"]:
        answer["ended_by"] = state.ending["by"]
    return answer


def usage(found: Inspection, job: JobDir, output: Output) -> dict[str, Any] | None:
    """Return what a job uses; of one that has ended, what was written down. None: nothing is known."""
    if not found.supervised:
        return None if found.state.usage is None else used(found)
    from outlive.jobs.diagnosis import use  # late: of a job that has ended no process is looked at

    return use.of_job(found, job, output)


def used(found: Inspection) -> dict[str, Any]:
    """Return what the ended processes of a job used, as its supervisor wrote it down."""
    known = found.state.usage or {}
    peak = known.get("peak_memory_bytes")
    # Without another word the kernel summed it up when it was reaped
    source = known.get("source") or {"time": "rusage", "memory": "rusage"}
    return {
        "wall_ms": elapsed_ms(found),
        "user_ms": known.get("user_ms"),
        "system_ms": known.get("system_ms"),
        "peak_memory_bytes": peak,
        "source": {name: one for name, one in source.items() if name == "time" or peak is not None},
    }


def new_output(found: Inspection, job: JobDir, output: Output, since: int, *, max_bytes: int, raw: bool) -> Shown:
    """Return the output from `since` on. While a program fills its terminal, this ends with the
    screen, unless `raw`."""
    from outlive.render import window

    shown = None
    if found.state.terminal and not raw:
        from outlive.jobs.interaction import screen  # late: most jobs have no terminal

        shown = screen.instead_of_output(found, job, output, since, max_bytes)
    return shown or window.show(
        job, output, since, output.end, max_bytes=max_bytes, raw=raw, more=not found.state.finished
    )


def takes_long(found: Inspection, output: Output, since: int, max_bytes: int) -> bool:
    """Return whether `new_output` may take more than some hundredths of a second."""
    shown = output.end if found.state.terminal else min(output.end - since, max_bytes)
    return shown > _QUICK_BYTES or output.runs > _QUICK_RUNS


def snippet(found: Inspection, output: Output) -> str:
    """Return the end of the output; while a program fills its terminal, the screen."""
    from outlive.render import window

    if found.state.terminal:
        from outlive.jobs.interaction import screen

        if screen.alternate_since(found, output, output.end) is not None:
            return screen.text(screen.drawn(found, output), limits.SNIPPET_BYTES)
    return window.snippet(output)


def losses(found: Inspection, output: Output) -> dict[str, Any]:
    """Return what is missing of the output: bytes that could not be stored, and bytes that were cut
    from a log."""
    found_losses = [*_missing(output), *_dropped(found, output)]
    hidden = output.hidden if found.state.finished and not found.supervised else 0
    if not found_losses and not hidden:
        return {}
    hints = [hint for _, _, hint in found_losses]
    if hidden:
        why = "the processes that knew the masked values were killed before they had searched them"
        hints.append(f"The last {hidden:,} bytes of output are not shown, because {why}. The log files have them.")
    return {**{name: count for name, count, _ in found_losses}, "hint": " ".join(hints)}


def _missing(output: Output) -> list[tuple[str, int, str]]:
    count = output.missing_bytes
    if not count:
        return []
    where = [
        f"bytes {start:,} to {stop:,} of {name}"
        for name, spans in zip(LOGS, output.missing, strict=True)
        for start, stop in spans
    ]
    told = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
    how = f"a log was cut or deleted ({told}). Positions still count them."
    return [("missing_bytes", count, f"{count:,} bytes of output are missing: {how}")]


def _dropped(found: Inspection, output: Output) -> list[tuple[str, int, str]]:
    lost, quota = found.state.dropped_bytes, found.definition.quota_bytes
    if not lost:
        return []
    why = "the disk under the job root was full. Free some space."
    if 0 < quota <= output.end and not output.gap.merged.stop:
        why = f"they came after the job's quota of {quota:,} bytes, and this file system cannot punch holes into files."
    return [("dropped_bytes", lost, f"{lost:,} bytes of output are lost, because {why}")]


def paths(job: JobDir) -> dict[str, str]:
    return {"stdout_log_path": job.log_path(0), "stderr_log_path": job.log_path(1)}


def env_vars(found: Inspection) -> list[str]:
    definition = found.definition
    shown = {**definition.env, **dict.fromkeys(definition.masked_env, "***")}
    return [f"{name}={value}" for name, value in shown.items()]


def elapsed_ms(found: Inspection) -> int:
    """Return the age of the job in milliseconds; once it has ended, how long it ran."""
    state = found.state
    if state.duration_ms is not None:
        return int(state.duration_ms)
    started = state.started_at or found.definition.created_at
    end = seconds_of(state.finished_at) if state.finished_at else time.time()
    return max(0, round((end - seconds_of(started)) * 1000)) if started else 0


def idle_ms(found: Inspection, output: Output) -> int | None:
    """Return for how many milliseconds a running job has been quiet; None for other jobs."""
    if found.state.state != "running":
        return None
    last = output.last_time()
    if last is None:
        last = seconds_of(found.state.started_at) if found.state.started_at else time.time()
    return max(0, round((time.time() - last) * 1000))


def retry_after_ms(found: Inspection, output: Output) -> int | None:
    """Return half of the quiet so far, at least 1 s and at most 1 min: it grows with each poll that
    finds nothing."""
    quiet = idle_ms(found, output)
    if quiet is None:
        return None
    low, high = limits.RETRY_MS
    return min(high, max(low, quiet // 2))


def _budget(ctx: Context) -> int | None:
    """Return the most bytes that an answer shows, the snapshot included; None where each view has
    a bound of its own."""
    found: int | None = ctx.config.get("exec", "max_output_bytes")
    return limits.MCP_SHOWN_BYTES if found is None and ctx.face == "mcp" else found


def run_answer(
    ctx: Context, found: Inspection, job: JobDir, *, began: float, max_bytes: int | None, tail_lines: int, raw: bool
) -> Waiting[dict[str, Any]]:
    """Return the answer of run, start and restart.

    `began` is when the call came (time.monotonic seconds).
    """
    from outlive.render import window

    others = living(found, job)
    with Output(job) as output:
        budget = None if max_bytes else _budget(ctx)
        room = max_bytes or budget or limits.SHOWN_BYTES
        if takes_long(found, output, 0, room):
            yield None
        shown = new_output(found, job, output, 0, max_bytes=room, raw=raw)
        left = max(0, (budget or 0) - len(shown.text.encode("utf-8", "replace"))) // 2
        snapshot = window.tails(output, tail_lines, max_bytes or (limits.TAIL_BYTES if budget is None else left))
        lost = losses(found, output)
        described = describe(found, job, output)
        advised = advice(found, job, output, described)
    if ctx.client is not None:
        from outlive.jobs import read_cursor

        read_cursor.mark_seen(ctx, job, shown.next_seq)
    answer = {
        "job_id": job.job_id,
        "state": found.state.state,
        **shown.to_dict(),
        **described,
        "started_at": found.state.started_at or found.definition.created_at or timestamp(),
        "snapshot": snapshot,
        **paths(job),
        "waited_ms": round((time.monotonic() - began) * 1000),
        "elapsed_ms": elapsed_ms(found),
        "env_vars": env_vars(found),
        "descendants": others,
    }
    hint = lost.get("hint") or advised or next_step(found, others)
    hint = hint or shell_hint(found, snapshot)
    if found.definition.resources is not None:
        hint = " ".join(filter(None, (not_limited(found), hint)))
    return answer | ({"hint": hint} if hint else {})


# What shells say of a command that was written for another one
_SHELL_ERRORS = ("yntax error", "ad substitution", "unexpected EOF", "[[: not found", "unexpected operator",
    "source: not found", "shopt: not found", "declare: not found", "Illegal option", "event not found")  # fmt: skip


def shell_hint(found: Inspection, snapshot: dict[str, Any]) -> str | None:
    """Return which shell it was, if a failed command seems to have been written for another one."""
    shell = found.definition.shell
    if not shell or not found.state.exit_code:
        return None
    name = shell[0].rpartition("/")[2]
    lines = f"{snapshot['stderr_tail']}\n{snapshot['stdout_tail'] if found.definition.pty else ''}".splitlines()
    errors = (line for line in lines if line.startswith((f"{name}: ", f"{shell[0]}: ")))
    if any(error in line for line in errors for error in _SHELL_ERRORS):
        return f"The shell was `{' '.join(shell)}`."
    return None


def living(found: Inspection, job: JobDir) -> int:
    """Return how many processes of the job are alive besides its command."""
    if not found.supervised:
        return 0
    from outlive.jobs.processes import descendants

    return len(descendants(found, job))


def next_step(found: Inspection, descendants: int) -> str | None:
    """Return one sentence on what to do next, or None."""
    state = found.state
    if not state.finished:
        if state.state == "created":
            return "It was not started yet. Use wait to be told when it ends, kill to cancel it."
        return "It still runs. Use wait to be told when it ends, poll or log to read on, kill to end it."
    if descendants:
        job = f"job {short_id(found.definition.job_id)}"
        if descendants == 1:
            return f"1 process that {job} started is still alive; kill ends it, and its output still arrives."
        return f"{descendants} processes that {job} started are still alive; kill ends them, and their output still arrives."
    if state.reason == "timeout":
        return "It was ended by its time-out. Start it with a larger timeout (0: none) if it should run longer."
    if state.reason in ("lost", "reboot"):
        return "Its output up to then is complete. Check what it did before running it again."
    if state.reason == "launch":
        words = found.definition.command
        if found.definition.shell is None and len(words[0].split()) > 1:  # ["ls -la | head"]
            return f"No shell ran: words in an array are a program and its arguments. Give one string: {words[0]}"
        return "The command never ran: check its name and PATH."
    return None
