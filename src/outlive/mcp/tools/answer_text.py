"""The text of an answer: first what we say, then a blank line, then the job's output to its end.

The first line tells how the job is. None of our lines is blank, and nothing of ours follows the
output: so no client that cuts a long text hides our words, and no output can pass for them. Some
clients show only this text, others only the structured answer, so neither may depend on the other.
sentences.py words how a job ended; hints come from jobs/job_answer.py and jobs/starting/answer.py.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from outlive import parts, verbs
from outlive.answers import advice
from outlive.answers.job import Status
from outlive.answers.listing import Listed
from outlive.answers.writing import Written
from outlive.core.members import Members, entries_of, number_of, object_of, text_of, texts_of
from outlive.core.quoted import in_json, visible
from outlive.core.records import FINISHED
from outlive.core.units import counted
from outlive.mcp.tools import sentences
from outlive.render import events, times
from outlive.verbs.envelope import besides, brief, brief_entry

_OUTPUT = frozenset({"output", "snapshot", "snippet", "stdout_tail", "stderr_tail", "lines", "notices", "hint"})


def render(
    answer: Members, *, process: bool = True, members: Members | None = None, job_word: str | None = None
) -> str:
    """Return the text of an answer. `process`: the process tool is offered, and may be named.
    `members`: the object, for a client that gets the text alone and asked for every member.
    `job_word`: what the client calls the id of a job."""
    if not answer.get("ok"):
        said = [*_error(object_of(answer, "error")), *sentences.secrets(answer), *sentences.notices(answer, process)]
        return "\n".join(map(_one_line, said))
    body, words = _said(answer, process)
    body = body.rstrip("\r\n")
    about = [*sentences.clamped(answer), *sentences.secrets(answer), *sentences.notices(answer, process)]
    about += [*_facts(members), *sentences.size(body)]
    lines = [line for line in map(_one_line, [*words, *about]) if line.strip()]
    if job_word:
        lines = [re.sub(r"\bjob(?:_id)?(?==| [0-9A-Z]{26}\b)", job_word, line) for line in lines]
    return "\n".join([*lines, "", body] if body else lines)


def _said(answer: Members, process: bool) -> tuple[str, list[str]]:
    """Return the output that an answer shows, and the lines of ours."""
    type_ = text_of(answer, "type")
    of_heart, of_part = _BY_TYPE.get(type_), parts.for_model(type_)
    if of_heart is not None:
        return of_heart(answer, process)
    if of_part is not None:
        return of_part(answer)
    if verbs.record_of(type_) is Written:
        return _write(answer, process)
    return _by_declaration(answer)


def _facts(members: Members | None) -> list[str]:
    if members is None:
        return []
    return [_json({name: value for name, value in members.items() if name not in _OUTPUT})]


def _one_line(text: str) -> str:
    """Return a line of ours without line breaks, and with every character visible: a message or a name of a job may
    have anything in it."""
    return visible(" ".join(text.rstrip("\n").split("\n")))


def _error(error: Members) -> list[str]:
    lines = [f"{error['code']}: {error['message']}"]
    if error.get("hint"):
        lines.append(text_of(error, "hint"))
    if error.get("retryable"):
        lines.append("The same call may succeed later.")
    return lines


# --- one function a type: (body, lines of ours) ----------------------------------------------------------------------


def _run(answer: Members, process: bool) -> tuple[str, list[str]]:
    lines = []
    if answer.get("deduplicated"):
        lines.append("A job with this dedupe_key was running already: this is that job, nothing was started.")
    if answer.get("restarted_from"):
        lines.append(f"Restart of job {answer['restarted_from']}; this is job {answer['job_id']}.")
    lines += sentences.came_true(answer)
    if answer.get("timed_out"):
        lines.append(f"Not yet, after {sentences.duration_of(answer, 'waited_ms')}; the job goes on.")
    output, words = _with_output(answer, process, [*lines, *sentences.masked(answer)], "(no output)")
    if process:
        words[0] = sentences.with_job(words, answer, output)
    return output, words


def _with_output(answer: Members, process: bool, lines: list[str], nothing: str) -> tuple[str, list[str]]:
    """Return the output behind the state, `lines`, the hint and what is left out."""
    output = sentences.output(answer)
    about = parts.lines(answer, process=process)
    words = [sentences.state_line(answer, process), *about, *lines]
    words += sentences.hint(answer)
    words += [*sentences.gap(answer, process), *sentences.drawn(answer), *([] if output else [nothing])]
    return output, words


def _poll(answer: Members, process: bool) -> tuple[str, list[str]]:
    lines = []
    # To wait for a server or a deadlock is of no use either
    goes_on = advice.of_kind(answer, advice.SILENCE).keys().isdisjoint(("listens_on", "deadlock"))
    if answer.get("retry_after_ms") and not answer.get("output") and goes_on:
        again = sentences.duration_of(answer, "retry_after_ms")
        lines.append(f"Use process wait instead of polling; polling again is of use after {again}.")
    return _with_output(answer, process, lines, "(no new output)")


def _wait(answer: Members, process: bool) -> tuple[str, list[str]]:
    lines = sentences.came_true(answer)
    if answer.get("timed_out"):
        stands = answer.get("state") == "created" or "deadlock" in advice.of_kind(answer, advice.SILENCE)
        rest = "." if stands else "; the job goes on."
        lines.append(f"Not yet, after {sentences.duration_of(answer, 'waited_ms')}{rest}")
    others = [one for one in entries_of(answer, "jobs") if one.get("job_id") != answer["job_id"]]
    lines += [line for other in others for line in _other(other)]
    output, words = _with_output(answer, process, lines, "")
    name = f" ({sentences.command_line(answer['name'])})" if answer.get("name") else ""
    if (others or name) and answer.get("state") in FINISHED:  # else the line names it
        words[0] = f"job {answer['job_id']}{name}: {words[0]}"
    return output, words


def _other(job: Members) -> list[str]:
    """Return the lines about a job that was waited for as well: its name, its state, and the end of its output behind
    bars."""
    about = f"job {job.get('short_id') or job.get('job_id')}"
    about += f" ({sentences.command_line(job['name'])})" if job.get("name") else ""
    last = str(job.get("last_lines") or "").splitlines()
    return [f"{about}: {sentences.short_state(job)}", *(f"  | {sentences.command_line(line)}" for line in last)]


def _events(answer: Members, _process: bool) -> tuple[str, list[str]]:
    lines = [_one_line(_event_line(event)) for event in entries_of(answer, "events")]
    if not lines:
        last = answer.get("next_event")
        none = f"no new events; since_event={last} goes on" if last else "no events yet"
        return "", [f"{answer.get('state')}; {none}", *sentences.hint(answer)]
    told = f"{answer.get('state')}; {counted(len(lines), 'event')}; since_event={answer.get('next_event')} goes on after them"
    return "\n".join(lines), [told, *sentences.hint(answer)]


def _event_line(event: Members) -> str:
    """Return an event as `12:00:01 seq 120 watch_hit w1 (ERROR) stdout: line`."""
    return " ".join(
        (text_of(event, "at")[11:19], f"seq {event['seq']}", text_of(event, "type"), events.about(event))
    ).rstrip()


def _status(answer: Members, process: bool) -> tuple[str, list[str]]:
    lines = [sentences.state_line(answer, process), *parts.lines(answer, process=process)]
    if answer.get("command"):
        lines.append(f"command: {sentences.command_line(answer['command'])}")
    shown = ("name", "cwd", "owner", *(["started_at"] if sentences.has_run(answer) else []), "finished_at", "damage")
    lines += [f"{key}: {visible(str(answer[key]))}" for key in shown if answer.get(key)]
    if answer.get("tags"):
        lines.append(f"tags: {', '.join(texts_of(answer, 'tags'))}")
    watches = entries_of(object_of(answer, "notification"), "watches")
    if watches:
        names = [f"{watch['id']} ({watch['pattern']})" for watch in watches]
        lines.append(f"watches: {', '.join(names)}")
    if answer.get("stdout_bytes") is not None:
        lines.append(f"output: {answer['stdout_bytes']} bytes stdout, {answer.get('stderr_bytes', 0)} bytes stderr")
        lines += sentences.removed_by_quota(answer)
    if answer.get("state") == "running" and answer.get("idle_ms") is not None and not sentences.tells_silence(answer):
        lines.append(f"idle: {sentences.duration_of(answer, 'idle_ms')}")
    fields = verbs.fields_of("status")
    rest = besides(brief(dict(answer), fields), fields, Status.in_sentences() | {"cwd", "damage", "sandbox"})
    lines += [f"{name}: {visible(value)}" for name, value in rest.items()]
    return "", [*lines, *sentences.hint(answer)]


def _log(answer: Members, process: bool) -> tuple[str, list[str]]:
    first, last, total = (answer.get(key) for key in ("first_line", "last_line", "total_lines"))
    several = [f"{visible(text_of(job, 'name'))} {sentences.short_state(job)}" for job in entries_of(answer, "jobs")]
    told = [", ".join(several) or sentences.short_state(answer)]
    if first and last and total:
        # The numbers shown count from 1, as grep's do
        known = answer.get("hint") or answer.get("compared") or (first == 1 and last == total)
        numbered = "" if known else " (line N is offset N-1)"
        told.append(f"lines {first}-{last} of {total}{numbered}")
    if answer.get("matches") is not None:
        told.append(f"{counted(number_of(answer, 'matches'), 'line')} matched")
    output = str(answer.get("output") or "")
    timed = times.in_front(output, answer.get("times"))
    told += [f"local times ({time.strftime('%Z')})"] if timed != output else []
    output = timed.rstrip("\r\n")
    nothing = [] if output else [_nothing_of(answer)]
    lines = [
        *sentences.hint(answer),
        *parts.lines(answer, process=process),
    ]  # what was compared, before how much of it differs
    return output, ["; ".join(told), *lines, *sentences.gap(answer, process), *nothing]


def _nothing_of(answer: Members) -> str:
    if answer.get("matches") is not None:
        return "(no line matches)"
    if answer.get("total_lines"):
        return "(no line is shown)"
    return "(no output)" if answer.get("state") in FINISHED else "(no output yet)"


def _tail(answer: Members, _process: bool) -> tuple[str, list[str]]:
    """Return stdout, then stderr; our first line says how many lines belong to which."""
    out, err = (str(answer.get(name) or "").rstrip("\n") for name in ("stdout_tail", "stderr_tail"))
    told = [
        f"{counted(text.count(chr(10)) + 1, 'line')} of {name}"
        for name, text in (("stdout", out), ("stderr", err))
        if text
    ]
    lines = [f"{sentences.short_state(answer)}; {', then '.join(told) or '(no output)'}"]
    observed = sum(
        number_of(answer, f"{name}_observed_bytes") for name in ("stdout", "stderr") if answer.get(f"{name}_tail")
    )
    if answer.get("truncated") is True:
        lines.append(
            f"[the end of {observed:,} bytes; process action=log job_id={answer['job_id']} offset=0 shows the start]"
        )
    lines += [*sentences.hint(answer), *sentences.removed_by_quota(answer)]
    return "\n".join(filter(None, (out, err))), lines


def _create(answer: Members, _process: bool) -> tuple[str, list[str]]:
    job_id = answer["job_id"]
    return "", [f"Created job {job_id}; nothing runs yet. process action=start job_id={job_id} starts it."]


def _write(answer: Members, process: bool) -> tuple[str, list[str]]:
    if "output" in answer:
        return _reaction(answer, process)
    closed = "; its stdin is now closed" if answer.get("stdin") == "closed" or answer.get("eof") else ""
    lines = [f"Wrote {answer.get('bytes_written', 0)} bytes to job {answer['job_id']}{closed}."]
    lines += [f"Warning: {warning}" for warning in texts_of(answer, "warnings")]
    return "", [*lines, *sentences.hint(answer)]


def _reaction(answer: Members, process: bool) -> tuple[str, list[str]]:
    """Return what the job said to what was written, and its state."""
    lines = [] if answer.get("sent") is None else [f"{counted(number_of(answer, 'sent'), 'text')} sent."]
    lines += [f"Warning: {warning}" for warning in texts_of(answer, "warnings")]
    if answer.get("stdin") == "closed" and answer.get("state") not in FINISHED:
        lines.append("Its stdin is now closed.")
    return _with_output(answer, process, lines, "(it printed nothing)")


def _kill(answer: Members, _process: bool) -> tuple[str, list[str]]:
    jobs = entries_of(answer, "jobs")
    if jobs:
        gone = sum(job.get("state") in FINISHED for job in jobs)
        return "", [f"{gone} of {counted(len(jobs), 'job')} ended:", *map(_of_several, jobs)]
    job_id, state = answer["job_id"], answer.get("state")
    if state in FINISHED:
        ended = {**answer, "signal": answer.get("ended_signal")}  # `signal` is what `kill` sent
        lines = [f"Job {job_id} has ended: {sentences.ending(ended)}"]
    else:
        lines = [f"{answer.get('signal')} was sent to job {job_id}, which still runs."]
    ended_processes = entries_of(answer, "ended")
    count = number_of(answer, "ended_count") or len(ended_processes)
    if count > 1 or (count and answer.get("hint")):  # else that the command itself ended is said above
        lines += [f"{counted(count, 'process')} of it ended:", *_processes(ended_processes)]
    hint = sentences.hint(answer)
    return sentences.output(answer), [*lines, *hint, *(_processes(entries_of(answer, "survivors")) if hint else [])]


def _of_several(job: Members) -> str:
    state = text_of(job, "state")
    error = f": {job['error']}" if job.get("error") else ""
    code = f", exit code {job['exit_code']}" if job.get("exit_code") is not None else ""
    return visible(f"  {job['job_id']} ({job.get('name')}): {state}{code}{error}")


def _processes(listed: list[Members]) -> list[str]:
    return [f"  {one.get('pid')} {sentences.command_line(one.get('command') or '')}" for one in listed]


def _list(answer: Members, _process: bool) -> tuple[str, list[str]]:
    jobs = entries_of(answer, "jobs")
    if not jobs:
        return "", sentences.hint(answer) or ["There is no job to list."]
    counts = object_of(answer, "counts")
    running = number_of(counts, "running") if counts else sum(job.get("state") == "running" for job in jobs)
    count = number_of(counts, "all") or len(jobs)
    told = ("" if not counts or counts.get("complete") else "at least ") + counted(count, "job")
    told += f", {running} running" if running else ""
    if count > len(jobs):
        ended = ((number_of(counts, how), how) for how in ("failed", "killed"))
        told += "".join(f", {number} {how}" for number, how in ended if number) + f"; {len(jobs)} shown"
    # Where none is marked as another's: a brief list of the session's own jobs, or a full one
    unmarked = not any(job.get("others") for job in jobs)
    owners = unmarked and len({job.get("owner") for job in jobs}) > 1
    directories = {text_of(job, "cwd") for job in jobs}
    shared = next(iter(directories)) if len(directories) == 1 and len(jobs) > 1 else ""
    told += f"; all in {visible(shared)}" if shared else ""
    places = None if shared else unmarked and len(directories) > 1
    rows = (_one_line(_list_line(job, owners, places)) for job in jobs)
    return "\n".join(rows), [told, *sentences.hint(answer)]


def _list_line(job: Members, owners: bool, places: bool | None) -> str:
    """`owners`: the jobs of the list are not all of one owner. `places`: whether own jobs show their directory; None: the
    heading has that of all."""
    since = text_of(job, "started_at") or text_of(job, "created_at")
    said = Listed.in_sentences() | sentences.said_in_state(job)
    rest = besides(brief_entry(dict(job), Listed), Listed.flat(), said)
    parts = [
        str(job.get("short_id") or job.get("job_id")),
        sentences.short_state(job) + _left(job),
        f"since {since[:19]}Z" if since and job.get("state") in ("running", "created") else "",
        f"at {text_of(job, 'finished_at')[:19]}Z" if job.get("finished_at") else "",
        f"[its supervisor is stopped: kill -CONT {job['supervisor_pid']}]" if job.get("supervisor") else "",
        "[waiting for input]" if job.get("waiting_for_input") else "",
        *(f"[{name}: {visible(value)}]" for name, value in rest.items()),
        sentences.command_line(job.get("name") or job.get("command") or ""),
        _whose(job, owners, places),
    ]
    last = job.get("last_line") or job.get("message")
    return "  ".join(part for part in parts if part) + (f" :: {sentences.command_line(last)}" if last else "")


def _whose(job: Members, owners: bool, places: bool | None) -> str:
    if job.get("owner") and (owners or job.get("others")):
        session = f", session {job['session']}" if job.get("session") else ""
        where = "" if places is None else f"{',' if session else ''} in {job.get('cwd')}"
        return visible(f"[of {job['owner']}{session}{where}]")
    return f"[in {visible(text_of(job, 'cwd'))}]" if places and job.get("cwd") else ""


def _left(job: Members) -> str:
    count = number_of(job, "descendants")
    return f", {counted(count, 'process')} left" if count and job.get("state") in FINISHED else ""


def _removed(answer: Members, _process: bool) -> tuple[str, list[str]]:
    word = "Removed" if answer["type"] == "remove" else "Cleared"
    jobs = entries_of(answer, "jobs")
    if jobs:
        done = sum(not job.get("error") for job in jobs)
        told = f"{word} {done} of {counted(len(jobs), 'job')}; {answer.get('freed_bytes') or 0:,} bytes freed:"
        return "", [told, *map(_of_several, jobs)]
    return "", [
        f"{word} job {answer['job_id']}; {answer.get('freed_bytes') or 0:,} bytes freed.",
        *sentences.hint(answer),
    ]


def _notify_set(answer: Members, _process: bool) -> tuple[str, list[str]]:
    wanted = object_of(answer, "notification")
    watches = [f"{watch['id']} ({sentences.command_line(watch['pattern'])})" for watch in entries_of(wanted, "watches")]
    lines = [f"Watches of job {answer['job_id']}: {', '.join(watches) or 'none'}."]
    if watches and answer.get("state") not in FINISHED:
        lines[0] += " What they hit comes as notices with later calls; wait is not woken by it."
    others = [key for key in ("notify_command", "notify_file", "on_output_match") if wanted.get(key)]
    return "", [*lines, *([f"Set as well: {', '.join(others)}."] if others else []), *sentences.hint(answer)]


def _help(answer: Members, _process: bool) -> tuple[str, list[str]]:
    return "", [f"{action}: {does}" for action, does in object_of(answer, "actions").items()] or ["No actions."]


def _by_declaration(answer: Members) -> tuple[str, list[str]]:
    lines = sentences.declared(answer)
    return ("", [*lines, *sentences.hint(answer)]) if lines else plain(answer)


def plain(answer: Members) -> tuple[str, list[str]]:
    rest = {
        key: value
        for key, value in answer.items()
        if key not in ("schema_version", "ok", "type", "notices", "masked_secrets")
    }
    output = rest.pop("output", None)
    return str(output or ""), [_json(rest)]


_BY_TYPE: dict[str, Callable[[Members, bool], tuple[str, list[str]]]] = {
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
    "kill": _kill,
    "list": _list,
    "clear": _removed,
    "remove": _removed,
    "notify_set": _notify_set,
    "help": _help,
}


def _json(value: object) -> str:
    return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")), in_json)
