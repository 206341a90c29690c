"""The sentences that answers are made of: how a job ended, its state, what was left out, durations."""

from __future__ import annotations

import json

from outlive import parts, verbs
from outlive.answers import advice
from outlive.answers.job import is_pending
from outlive.core.ids import short_id
from outlive.core.members import Members, entries_of, number_of, object_of, text_of, texts_of
from outlive.core.quoted import cut, in_json, one_line, visible
from outlive.core.records import FINISHED
from outlive.core.started import never_ran
from outlive.core.units import counted, duration
from outlive.render import events
from outlive.verbs import envelope

_LONG_CHARS = 2_000  # of output, from which on we say how much there is: a client may cut it
_FOLLOW_UP = "Use process poll/log/wait/write/kill."
_PIPE_CLOSED = 141  # of a stage that wrote more than the next wanted to read
_TOLD_IN_OUTPUT = "not shown: log job_id={} since_seq="  # as render/head_and_tail.py words it


def output(answer: Members) -> str:
    return str(answer.get("output") or "").rstrip("\r\n")


def succeeded(answer: Members) -> bool:
    return answer.get("state") == "exited" and answer.get("exit_code") == 0 and answer.get("reason") in (None, "exit")


def state_line(answer: Members, process: bool) -> str:
    """Return the state of a job in one line: how it ended, or that it runs and what can be done."""
    state = answer.get("state")
    if state == "running":
        return _running(answer, process)
    if state == "created" and answer.get("approval"):
        waits = "waits for the user's approval" if is_pending(answer) else "is about to start"
        return f"Job {answer.get('job_id')} {waits}; nothing has run yet."
    if state == "created":
        why = parts.why_not_started(answer)
        if why is not None:
            return f"Job {answer.get('job_id')} is created: {why}."
        return f"Job {answer.get('job_id')} is created, not started. process action=start starts it."
    if state == "unknown":
        return f"The state of job {answer.get('job_id')} cannot be read."
    return "rc=0" if succeeded(answer) and not answer.get("message") else ending(answer)


def with_job(words: list[str], answer: Members, body: str) -> str:
    """Return the first of these lines, with the job's id if the job printed `body`, did not end well, and nothing else in
    the text has its id: a caller may want more of its output, and did not name the job itself."""
    line, job = words[0], _job(answer)
    is_good = answer.get("state") not in FINISHED or succeeded(answer) or not has_run(answer)
    if is_good or not body or any(job in text for text in (*words, body)):
        return line
    return f"{line} (job {job})"


def has_run(answer: Members) -> bool:
    state, began = text_of(answer, "state"), answer.get("started_at")
    is_start = began is None or began != answer.get("created_at")  # of a brief answer it is not known
    return is_start and not never_ran(state, text_of(answer, "reason"))


def _running(answer: Members, process: bool) -> str:
    about = [f"job {answer.get('job_id')}"]
    if answer.get("pid"):
        about.append(f"pid {answer['pid']}")
    line = f"Command still running ({', '.join(about)}"
    if answer.get("timeout_ms"):
        line += f"; ends after {number_of(answer, 'timeout_ms') / 1000:g} s"
    line += ")."
    if answer.get("waiting_for_input"):
        prompt = f" (prompt: {quoted(text_of(answer, 'prompt').strip())})" if answer.get("prompt") else ""
        asks = f"It is waiting for input{prompt}."
        if "bytes_written" in answer and not answer.get("hint"):  # the caller has just answered this job
            return asks
        line += f" {asks}"
        if answer.get("hint"):  # and that names the call to answer with
            return line
    # Of a start: who calls process for the job knows what it does
    return f"{line} {_FOLLOW_UP}" if process and answer.get("type") == "run" else line


def ending(answer: Members) -> str:
    reason, signal, message = text_of(answer, "reason"), answer.get("signal"), text_of(answer, "message")
    clause = message.removesuffix(".")  # where the sentence has its own
    how = signal or (None if answer.get("exit_code") is None else f"exit code {answer['exit_code']}")
    with_signal = f" ({how})" if how else ""
    by = f" of {answer['ended_by']}" if answer.get("ended_by") else ""
    limit = f" after {number_of(answer, 'timeout_ms') / 1000:g} s" if answer.get("timeout_ms") else ""
    said = f": {clause}" if clause else ""
    sentences = {
        "timeout": f"Command timed out{limit} and was ended{with_signal}. What it did until then may have taken effect.",
        "idle_timeout": f"Command was ended{with_signal} because it printed nothing for longer than idle_timeout_ms.",
        "kill": f"Command was killed on request{by}{with_signal}{said}.",
        "oom": f"Command was killed because memory ran out{with_signal}{said}.",
        "limit": f"Command reached a limit of its resources and was ended{with_signal}{said}.",
        "launch": f"Command could not be started: {clause or answer.get('errno') or 'exec failed'}.",
        "lost": f"The outcome is lost: {clause or 'nothing was left to read it from'}. It may have run to its end.",
        "denied": f"Command was not run: {clause or 'it was denied'}.",
        "dependency": f"Command was not run: {clause or 'what it waited for can no longer come true'}.",
        "reboot": f"The machine was restarted before the end{said or ', and the outcome is lost'}.",
    }
    if answer.get("exit_code") is not None and reason in ("", "exit", "kill", "signal"):
        asked = " after a kill request" if reason == "kill" else ""
        return f"Command exited with code {answer['exit_code']}{asked}" + (f"; {message}" if message else "")
    if reason == "kill" and answer.get("state") == "failed":  # before it started
        return f"Command was not run: {clause or 'its start was cancelled'}."
    if reason in sentences:
        return sentences[reason]
    if signal:
        return f"Command was ended by signal {signal}{f'; {clause}' if clause else ''}."
    return f"Command ended ({answer.get('state')})."


def said_in_state(job: Members) -> set[str]:
    """Return further members that `short_state` says, where they say something."""
    return {"stages"} if job.get("state") == "exited" else set()


def short_state(job: Members) -> str:
    state = str(job.get("state"))
    if job.get("reason") in ("timeout", "idle_timeout", "oom", "limit") or (state == "failed" and job.get("reason")):
        return f"{state} ({job['reason']})"
    if state == "exited":
        codes = job.get("stages")
        codes = codes if isinstance(codes, list) else []
        hidden = not job.get("exit_code") and any(code not in (0, _PIPE_CLOSED) for code in codes)
        told = f" (stages: {', '.join(map(str, codes))})" if hidden else ""
        return f"exited {job.get('exit_code')}{told}"
    if is_pending(job):
        return "created (waits for approval)"
    return f"{state} {job['signal']}" if state == "killed" and job.get("signal") else state


def gap(answer: Members, process: bool) -> list[str]:
    """Return the lines about output that was left out, with the call that shows it."""
    gap = answer.get("truncated")
    if not isinstance(gap, dict) or (process and _TOLD_IN_OUTPUT.format(_job(answer)) in output(answer)):
        return removed_by_quota(answer)
    size = f"{counted(number_of(gap, 'lines'), 'line')}, " if gap.get("lines") else ""
    line = f"{size}{gap.get('bytes') or 0:,} bytes in the middle of the output are not shown"
    if process:
        call = f"process action=log job_id={_job(answer)} since_seq={gap.get('from_seq')}"
        return [f"{line}; {call} shows them.", *removed_by_quota(answer)]
    where = answer.get("stdout_log_path")
    whole = "they are" if answer.get("gaps") else "all of it is"
    return [
        f"{line}; {whole} in {where} (and stderr.log beside it)." if where else f"{line}.",
        *removed_by_quota(answer),
    ]


def _job(answer: Members) -> str:
    return short_id(str(answer.get("job_id")))


def size(body: str) -> list[str]:
    if len(body) < _LONG_CHARS:
        return []
    lines = body.count("\n") + 1
    return [f"{counted(lines, 'line')}, {len(body):,} characters follow:"]


def masked(answer: Members) -> list[str]:
    names = [one.removesuffix("=***") for one in texts_of(answer, "env_vars") if one.endswith("=***")]
    if not names:
        return []
    return [f"mask: if the job prints {' or '.join(names)}, it is shown as ****; the log file has it as it is."]


def quoted(text: str) -> str:
    """Return words of a program as a string, which can end nowhere but at its end."""
    return visible(json.dumps(text, ensure_ascii=False), in_json)


def drawn(answer: Members) -> list[str]:
    """Return the line that says that the output ends with a screen, and where its cursor is, unless the program hides
    it: then it draws one of its own, if any."""
    where = object_of(answer, "cursor")
    if not where:
        return []
    at = cursor(where) if where.get("visible", True) else []
    return ["; ".join(["The output ends with the screen of a full-screen program", *at])]


def cursor(where: Members) -> list[str]:
    if not where:
        return []
    hidden = "" if where.get("visible", True) else " (hidden)"
    return [f"cursor at row {where.get('row')}, column {where.get('column')} (from 0){hidden}"]


def removed_by_quota(answer: Members) -> list[str]:
    """Return the lines about output that no call can show any more."""
    return [
        f"{counted(number_of(gap, 'lines'), 'line')}, {gap['bytes']:,} bytes of output are gone: it passed the job's quota, and only its head "
        f"and tail are kept."
        for gap in entries_of(answer, "gaps")
    ]


def clamped(answer: Members) -> list[str]:
    """Return the line about a wait that was cut and ended for no other reason."""
    if answer.get("requested_ms") is None or answer.get("state") in FINISHED or answer.get("fired"):
        return []
    if "waited_ms" in answer and number_of(answer, "waited_ms") < number_of(
        answer, "effective_ms"
    ):  # it was woken before
        return []
    asked, got = duration_of(answer, "requested_ms"), duration_of(answer, "effective_ms")
    return [f"[one call lasts at most {got}; {asked} were asked for. Call again to go on.]"]


def secrets(answer: Members) -> list[str]:
    count = number_of(answer, "masked_secrets")
    if not count:
        return []
    are = "is" if count == 1 else "are"
    return [f"{counted(count, 'secret')} {are} masked in what is shown (not in the log); [mcp] mask changes that."]


def notices(answer: Members, process: bool) -> list[str]:
    return [_notice(notice, process) for notice in entries_of(answer, "notices")]


def _notice(notice: Members, process: bool) -> str:
    """Return what happened to another job, in brackets, since it does not belong to the answer."""
    last = f": {quoted(text_of(notice, 'last_line'))}" if notice.get("last_line") else ""
    name = f" ({command_line(notice['name'])})" if notice.get("name") else ""
    job = f"job {notice.get('job_id')}{name}"
    if notice.get("message"):
        return f"[{job}: {notice['message']}]"
    if notice.get("event") == "watch_hit":
        times = f", {notice['hits']} times" if number_of(notice, "hits") > 1 else ""
        return f"[{job} matched {notice['pattern']} at seq {notice['seq']}{times}{last}]"
    if notice.get("event") != "unanswered":
        by = f" by {notice['ended_by']}" if notice.get("ended_by") else ""
        return f"[{job}: {short_state(notice)}{by}{last}]"
    call = "a call that was cancelled or cut off"
    if notice.get("state") in FINISHED:
        return f"[{job}, started by {call}: {short_state(notice)}{last}]"
    if notice.get("state") == "created":
        return f"[{call} left {job} waiting for the user's approval]"
    follow = "process wait, log or kill it" if process else f"`outlive kill {notice.get('job_id')}` ends it"
    return f"[{call} left {job} running; {follow}{last}]"


def hint(answer: Members) -> list[str]:
    said = advice.for_model(answer)
    return [said] if said else []


def tells_silence(answer: Members) -> bool:
    """Return whether the hint says how long the job has been silent."""
    return "silent_ms" in advice.of_kind(answer, advice.SILENCE)


def came_true(answer: Members) -> list[str]:
    """Return the line about the condition that came true, unless the state line tells it."""
    fired = object_of(answer, "fired")
    name = fired.get("condition")
    if not fired or name == "exit" or (name == "input" and answer.get("waiting_for_input")):
        return []
    if name == "idle_ms" and tells_silence(answer):
        return []
    return [condition(fired) + (" (printed before this call)" if fired.get("earlier") else "")]


def condition(fired: Members) -> str:
    name = fired.get("condition")
    if name in ("regex", "fail_regex"):
        what = "The output matched" if name == "regex" else "The output matched what was to be a failure:"
        return f"{what} {fired['pattern']} at seq {fired['seq']} ({fired['stream']}): {quoted(text_of(fired, 'line'))}"
    if name == "port":
        whose = f"the job (pid {fired['pid']})" if fired.get("owned") else "a process that is not this job's"
        listens = "by whom is not known" if fired.get("owned", False) is None else f"{whose} listens on it"
        return f"Port {fired['port']} is open; {listens}."
    known = {
        "output": "There is new output.",
        "input": "It waits for input.",
        "http": f"{fired.get('url')} answered with status {fired.get('status')}.",
        "file": f"The file {fired.get('path')} is there.",
        "idle_ms": f"It has been quiet for {duration_of(fired, 'idle_ms')}.",
    }
    return known.get(str(name), f"Condition met: {name}.")


def command_line(command: object) -> str:
    text = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    return cut(visible(one_line(text)), 200)


def duration_of(answer: Members, key: str) -> str:
    return duration(number_of(answer, key))


def declared(answer: Members) -> list[str]:
    """Return the sentence that the record of the answer declares, else each member that brief has by its name; nothing of
    an answer that no verb declares."""
    record = verbs.record_of(text_of(answer, "type"))
    if record is None:
        return []
    fields = verbs.fields_of(text_of(answer, "type"))
    if record.TEXT:
        return [record.TEXT.format_map({name: _declared_word(answer.get(name)) for name in fields})]
    said = envelope.besides(envelope.brief(dict(answer), fields), fields, ())
    return [f"{name}: {value}" for name, value in said.items()]


def _declared_word(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else events.word(value)
