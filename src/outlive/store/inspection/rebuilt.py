"""The truth about a job whose `state.json` is missing, unreadable or older than the job's end: what
its supervisor has in memory, and what its history and the mark of live jobs say."""

from __future__ import annotations

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.records import State
from outlive.store import history
from outlive.store.job_dir import JobDir
from outlive.system import fds

_ANSWER_S = 1.0  # the supervisor answers out of its memory; a reader waits no longer if it is stopped
_OUTCOME = ("state", "exit_code", "signal", "reason", "duration_ms", "usage", "message")


def outcome(job: JobDir, before: State) -> State | None:
    """Return the end that the history of a job has, None if it has none. `before`: what is known of
    the job besides."""
    events = _events(job)
    ended = events.get(history.FINISHED)
    if ended is None:
        return None
    values = {name: ended[name] for name in _OUTCOME if name in ended}
    content = before.to_dict() | values | _start(events) | {"phase": "finished", "finished_at": ended.get("at")}
    content |= {"stdin": "closed", "waiting": None}
    return State.of(content) if State.misfit(content) is None and State.of(content).finished else None


def begun(job: JobDir) -> State | None:
    """Return a state that says that the command of the job was or is about to be started; None if
    nothing says so."""
    marked = job.marked_state()
    events = _events(job)
    if marked is None and history.STARTED not in events:
        return None
    before = marked or State(job_id=job.job_id, phase="running")
    return State.of(before.to_dict() | _start(events))


def _start(events: dict[str, dict[str, object]]) -> dict[str, object]:
    """Return the members of a state that the event `started` has."""
    started = events.get(history.STARTED, {})
    pid, at = started.get("pid"), started.get("at")
    return ({"pid": pid} if type(pid) is int else {}) | ({"started_at": at} if isinstance(at, str) else {})


def _events(job: JobDir) -> dict[str, dict[str, object]]:
    """Return the last event of each of the types that matter here."""
    return {event["type"]: event for event in history.recorded(job, history.STARTED, history.FINISHED)}


def in_memory(job: JobDir) -> tuple[State, str | None] | None:
    """Return the state of a supervised job as its supervisor has it in memory, and why it is not on
    disk; None if it does not answer."""
    try:
        sock = job.connect(wait=False)
    except OSError:
        return None
    try:
        sock.settimeout(_ANSWER_S)
        fds.send(sock, b'{"op":"state"}')
        while message := sock.recv(limits.CONTROL_BYTES):
            if message[:1] == b"{":  # else a hint
                return _answered(job, parse_json(message))
    except (OSError, ValueError):
        pass
    finally:
        sock.close()
    return None


def _answered(job: JobDir, answer: object) -> tuple[State, str | None] | None:
    """Return what the answer holds. Any program of this user may have put a socket there."""
    if not isinstance(answer, dict) or not isinstance(answer.get("state"), dict):
        return None
    if State.misfit(answer["state"]) is not None or answer["state"].get("job_id") != job.job_id:
        return None
    why = answer.get("why")
    return State.of(answer["state"]), why if isinstance(why, str) else None
