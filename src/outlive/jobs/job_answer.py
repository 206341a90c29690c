"""The facts about a job that answers share.

Every call loads this module. What only few jobs have is in modules of its own, which are imported
where it is found.
"""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.units import seconds_of
from outlive.store.output.merged import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.waiting import Waiting
    from outlive.render.window import Shown
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


# Above one of these an answer is made in a thread of the server
_QUICK_BYTES = 32_768
_QUICK_RUNS = 4_096  # of one stream without the other between

# The fields that `describe` fills, as the `result` of a verb names them.
DESCRIBING = (
    "short_id name pid cwd command tags owner sandbox? exit_code? signal? reason? ended_by? errno? usage? message? damage? "
    "dropped_bytes? missing_bytes? adopted? restarted_from? resources? approval? started_at? created_at? finished_at? duration_ms? timeout_ms "
    "waiting_for_input? prompt? echo? keyboard? supervisor? supervisor_pid? descendants? host? queue? engine? reachable? unreachable_since? "
    "machine? "
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
        "resources": definition.resources and _resources(found),
        "sandbox": definition.sandbox and {name: definition.sandbox[name] for name in ("mode", "network")},
    }
    return answer | {name: value for name, value in optional.items() if value is not None}


def place(found: Inspection, job: JobDir) -> dict[str, Any]:
    """Return where a job is; nothing of a job on this machine."""
    if not found.elsewhere:
        return {}
    from outlive.jobs.diagnosis import elsewhere

    return elsewhere.place(found, job)


def _resources(found: Inspection) -> dict[str, Any]:
    from outlive.jobs.diagnosis import use

    return use.resources_of(found)


def approval_of(found: Inspection, job: JobDir) -> dict[str, Any] | None:
    """Return what became of the approval of a job; None if none was asked for."""
    if found.definition.approval is None:
        return None
    from outlive.store import approval

    return approval.shown(job, found.definition)


def waiting(found: Inspection, output: Output) -> dict[str, Any]:
    """Return whether the job waits for input, and if so its prompt and, on a terminal, whether
    typing is shown; and which person holds the keyboard of its terminal."""
    held = _keyboard(found, output) if found.definition.pty else {}
    record = found.state.waiting
    # The supervisor clears the record, but a reader may be faster
    if (
        not record
        or found.state.state != "running"
        or not (found.supervised or found.elsewhere)
        or output.end != record["seq"]
    ):
        return {"waiting_for_input": False, **held}
    answer: dict[str, Any] = {"waiting_for_input": True, **held}
    from outlive.jobs.interaction import prompt

    asked = prompt.text(found, output)
    if asked:
        answer["prompt"] = asked
    if record["echo"] is not None:  # a program that reads key by key shows what is typed itself (an editor, a shell)
        answer["echo"] = record["echo"] or not record["canonical"]
    return answer


def _keyboard(found: Inspection, output: Output) -> dict[str, Any]:
    """Return which person holds the keyboard of a terminal; nothing if no person does."""
    if found.state.finished or not output.job.has_keyboard():
        return {}
    from outlive.jobs.interaction import keyboard  # late: few terminals have a person

    holder = keyboard.holder(output.job)
    return {} if holder is None else {"keyboard": holder}


def unresponsive(found: Inspection) -> dict[str, Any]:
    """Return the pid of a stopped supervisor: output waits in its pipes, and no request is
    answered."""
    if not found.supervised:
        return {}
    from outlive.jobs.processes import stopped_supervisor

    pid = stopped_supervisor(found)
    return {} if pid is None else {"supervisor": "unresponsive", "supervisor_pid": pid}


def _stopped_hint(pid: int) -> str:
    """Return how to continue a stopped supervisor."""
    return (
        f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write and kill are not "
        f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it."
    )


def advice(found: Inspection, job: JobDir, output: Output, answer: dict[str, Any]) -> str | None:
    """Return what to do about a job that waits for input, is silent or has failed; None for others.

    `answer` holds what `waiting` and `unresponsive` say.
    """
    if answer.get("supervisor"):
        return _stopped_hint(answer["supervisor_pid"])
    if answer.get("keyboard"):
        from outlive.jobs.interaction import keyboard

        return keyboard.hint(answer["keyboard"])
    if answer.get("waiting_for_input"):
        from outlive.jobs.interaction import prompt

        return prompt.hint(found, answer)
    hint = None
    if found.definition.approval is not None:
        from outlive.jobs.permission import pending

        hint = pending.hint(job, found)
    if hint is None and found.elsewhere:
        from outlive.jobs.diagnosis import elsewhere

        hint = elsewhere.hint(found, job)
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
    """Return what a job uses; of an ended job, what was written down. None: nothing is known."""
    if not found.supervised:
        return None if found.state.usage is None else used(found)
    from outlive.jobs.diagnosis import use  # late: of a job that has ended no process is looked at

    return use.of_job(found, job, output, used(found))


def looked_elsewhere(found: Inspection, job: JobDir, verb: str) -> Waiting[dict[str, Any]]:
    """Ask another host about the processes of its job, if the host is to be asked for this verb.
    Return {usage, descendants}, each only if it is known; nothing for a job of this machine."""
    if not found.elsewhere:
        return {}
    from outlive.jobs.diagnosis import elsewhere

    return (yield from elsewhere.looked(found, job, verb))


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
    """Return what is missing of the output: bytes that could not be stored, bytes that were cut from
    a log, and the end of it where it could not be searched for masked values."""
    hidden = output.hidden if found.state.finished and not found.supervised else 0
    if not output.missing_bytes and not found.state.dropped_bytes and not hidden:
        return {}
    from outlive.jobs.diagnosis import losses as diagnosis

    return diagnosis.told(found, output, hidden)


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


def living(found: Inspection, job: JobDir) -> int | None:
    """Return how many processes of the job are alive besides its command; None where they are on
    another machine, which alone can tell."""
    if found.elsewhere and found.state.state != "created" and (found.supervised or not found.state.finished):
        return None
    if not found.supervised:
        return 0
    from outlive.jobs.processes import descendants

    return len(descendants(found, job))
