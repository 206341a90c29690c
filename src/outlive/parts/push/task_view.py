"""A job as a task of the Tasks extension. Everything is read from the job's directory each time;
nothing is kept.

| job | task |
|---|---|
| created, running | `working` |
| created, waits for approval | `input_required`, if the client can ask its user |
| running, waits for a line of input | the same (see `_of_prompt`) |
| ended: exited, killed, timed out, failed | `completed`, with the result that `exec` gives |
| ended after a kill request | `cancelled` |
| cannot be read (`unknown`) | `failed` |

`failed` stands for JSON-RPC errors only, and cannot carry a result. A command that could not be
launched, or whose outcome is lost, is therefore `completed`, like a command that exits non-zero:
the task gives the answer that `exec` would give, with all output up to then.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from mcp import types

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.units import duration_ms, seconds_or, timestamp
from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer
from outlive.jobs.context import Context
from outlive.jobs.starting import answer as start_answer
from outlive.jobs.starting import gate
from outlive.jobs.starting.plan import Timing
from outlive.mcp.masking import Masking
from outlive.mcp.tools import answer_text
from outlive.parts.approvals import elicitation
from outlive.render import ends
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.verbs import envelope

_POLL_MS = (1_000, 5_000)  # of pollIntervalMs
_MESSAGE_CHARS = 500  # of the statusMessage of a task that cannot be read

WORKING, INPUT_REQUIRED, COMPLETED, CANCELLED, FAILED = "working", "input_required", "completed", "cancelled", "failed"
OVER = frozenset({COMPLETED, CANCELLED, FAILED})
OF_ITS_STATUS = ("result", "error", "inputRequests")  # told by tasks/get and notifications only
ANSWER = "input"  # the one field of the form


class TaskView:
    """Makes tasks of the jobs of one server. `result` makes a tool's result of an envelope, for the client of this
    name. `show` says how `exec` shows output by default. `secrets` are masked."""

    def __init__(
        self,
        result: Callable[[dict[str, object], str | None], types.CallToolResult],
        show: Timing,
        secrets: Masking,
    ) -> None:
        self._result = result
        self._show = show
        self._secrets = secrets

    def of(self, ctx: Context, job: JobDir, *, asks: bool, client: str | None = None) -> dict[str, object]:
        """Return a DetailedTask as JSON for the client of this name. `asks`: it can put a question to its user."""
        inspection = adoption.inspect_and_adopt(ctx, job)
        with Output(job) as output:
            last = ends.last_line(output)
            changed_at = output.last_time()
            asked = questions(ctx, inspection, job, output) if asks else None
            waits = job_answer.waiting(inspection, output).waiting_for_input
        status = INPUT_REQUIRED if asked else _status(inspection)
        message = self._secrets.masked(
            _sendable(_message(inspection, job, status, last, waits=waits) or ""), job.job_id
        )
        if asked and not is_unapproved(inspection):  # who approves has to see all of it
            asked = self._secrets.masked_members(asked, job.job_id)
        return {
            "taskId": job.job_id,
            "status": status,
            **({"statusMessage": message} if message else {}),
            "createdAt": inspection.definition.created_at,
            "lastUpdatedAt": _updated_at(inspection, changed_at),
            "ttlMs": _ttl_ms(ctx, inspection),
            **({} if status in OVER else {"pollIntervalMs": poll_interval_ms(_age_ms(inspection))}),
            **({"inputRequests": asked} if asked else {}),
            **self._ending(ctx, inspection, job, status, client),
        }

    def _ending(
        self, ctx: Context, inspection: Inspection, job: JobDir, status: str, client: str | None
    ) -> dict[str, object]:
        if status == FAILED:
            message = self._secrets.masked(_sendable(inspection.state.message or ""), job.job_id)
            return {"error": {"code": types.INTERNAL_ERROR, "message": message}}
        if status != COMPLETED:
            return {}
        try:
            answer = start_answer.made(ctx, inspection, job, began=time.monotonic(), asked=self._show)
            answer.waited_ms = answer.elapsed_ms or 0  # the same at each request
            answer_shown = envelope.full("run", answer)
        except OutliveError as error:
            answer_shown = envelope.failure(error)
        return {"result": self._result(answer_shown, client).model_dump(by_alias=True, mode="json", exclude_none=True)}


def _status(inspection: Inspection) -> str:
    state = inspection.state
    if state.state == "unknown":
        return WORKING if inspection.supervised else FAILED  # what is damaged now may be written anew by its supervisor
    if not state.finished:
        return WORKING
    return CANCELLED if state.reason == "kill" else COMPLETED


def is_unapproved(inspection: Inspection) -> bool:
    """Return whether the job has not started for want of an approval."""
    return gate.is_held(inspection.definition) and inspection.state.state == "created"


def questions(ctx: Context, inspection: Inspection, job: JobDir, output: Output) -> dict[str, object]:
    """Return the `inputRequests` of a job, empty if it has no question."""
    if not is_unapproved(inspection):
        return _of_prompt(inspection, output)
    return elicitation.of_task(ctx, inspection.definition, job)


def _of_prompt(inspection: Inspection, output: Output) -> dict[str, object]:
    """Return the `inputRequests` of a job that waits at a prompt, empty if it does not. Each prompt has a key of its own.
    The job must ask for a line that may be seen: a key press fits no form, and the protocol forbids forms for
    passwords."""
    waits, record = job_answer.waiting(inspection, output), inspection.state.waiting
    if record is None or not waits.prompt or waits.echo is False or record.canonical is False:
        return {}
    definition = inspection.definition
    asked = types.ElicitRequestFormParams(
        # Job output is data: the form names the command before it quotes the prompt
        message=f"The command {_sendable(definition.name)!r} (job {short_id(definition.job_id)}) asks:\n{waits.prompt}",
        requested_schema={
            "type": "object",
            "properties": {ANSWER: {"type": "string", "description": "One line, without the line break."}},
            "required": [ANSWER],
        },
    )
    request = types.ElicitRequest(params=asked).model_dump(by_alias=True, mode="json", exclude_none=True)
    return {f"input-{record.seq}-{record.at}": request}


def _message(inspection: Inspection, job: JobDir, status: str, last: str | None, *, waits: bool) -> str | None:
    """Return the status message: how the job ended, and its last line. "Completed" says nothing of success."""
    held = gate.of(inspection.definition)
    if held is not None and is_unapproved(inspection):
        return held.hint(job, inspection)
    if status == FAILED:
        return str(inspection.state.message)[:_MESSAGE_CHARS]
    if status in OVER:
        outcome = job_answer.outcome(inspection, job)
        ended = {**(outcome.to_dict() if outcome else {}), "finished_at": None}
        about = {"ok": True, "type": "status", "state": inspection.state.state, **ended}
        verdict = answer_text.render(about, process=False).partition("\n")[0]
        return f"{verdict.rstrip('.')}. Last line: {last}" if last and status == COMPLETED else verdict
    if waits and status == WORKING:
        return f"waiting for input{': ' + last if last else ''}"
    return last


def _sendable(words: str) -> str:
    """Return the text without lone surrogates, which would end the SDK's writer: a name may not be UTF-8."""
    return words.encode("utf-8", "replace").decode("utf-8")


def _updated_at(inspection: Inspection, output_s: float | None) -> str:
    state = inspection.state
    known = [inspection.definition.created_at, state.updated_at, state.finished_at, state.started_at]
    stamps = [stamp for stamp in known if stamp]
    newest: str = max(stamps if output_s is None else [*stamps, timestamp(output_s)])
    return newest


def _ttl_ms(ctx: Context, inspection: Inspection) -> int:
    """Return the time to live, from creation: `gc` counts from the end of a job, and deletes no running one."""
    retention = duration_ms(ctx.config.set_in("gc").get("older_than", limits.GC_OLDER_THAN), "gc.older_than")
    return _age_ms(inspection) + retention


def _age_ms(inspection: Inspection) -> int:
    end = seconds_or(inspection.state.finished_at, time.time())
    return max(0, round((end - seconds_or(inspection.definition.created_at, end)) * 1000))


def poll_interval_ms(age_ms: int) -> int:
    """Return after how many milliseconds a client looks again at what has waited for `age_ms`: ten times
    in its age, within bounds. A look costs no tokens, and the model is woken by the one after the end."""
    low, high = _POLL_MS
    return min(high, max(low, age_ms // 10))
