"""Ask the user of a client whether a job may run, by a form that the client shows (elicitation).

Protocols with a handshake carry a request of the server to the client; it stays open when the call
has been answered. From 2026-07-28 on the result of the call is the question, and the client repeats
the call with the answer; where the job is a task, the task carries the question. A person at a
terminal is asked at the same time, and the first answer counts (approvals/wait_for_answer.py).
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from contextlib import suppress
from functools import cache

import anyio
from mcp import MCPError, types
from mcp.shared.exceptions import NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from outlive.core.ids import short_id
from outlive.core.records import EXEC, Definition
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.mcp.caller import Request
from outlive.mcp.json_safe import encodable_text
from outlive.parts.approvals import answer_file, facts, wait_for_answer
from outlive.parts.approvals.person import is_in_job
from outlive.store.job_dir import JobDir

KEY = "approval"  # of the question in a result or a task, and of its answer
_APPROVE, _ALWAYS, _DENY = _CHOICES = ("approve", "approve always", "deny")


@cache
def has_user() -> bool:
    """Return whether the client may have a user. The client of a server inside a job may be that job, which approves
    nothing."""
    return not is_in_job()


def can_ask(ctx: Request) -> bool:
    """Return whether this client can show its user a form. (`elicitation: {}`, as of all clients before 2025-11-25,
    means the form mode.)"""
    capabilities = ctx.session.client_capabilities
    asking = capabilities.elicitation if capabilities is not None else None
    return asking is not None and (asking.form is not None or asking.url is None)


def is_by_answer(ctx: Request) -> bool:
    """Return whether the result of a call is the question."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def question(definition: Definition) -> types.ElicitRequestFormParams | None:
    """Return the form that asks about a job; None if it cannot show all that is asked about."""
    if not facts.fits_a_form(definition):
        return None
    message = _in_few_rows(definition)
    if message is None:
        cut = f"Run it? If anything is cut here, `outlive approve {short_id(definition.job_id)}` shows all."
        message = "\n".join([cut, *map(_shown, facts.of(definition))])
    return types.ElicitRequestFormParams(message=encodable_text(message), requested_schema=_SCHEMA)


# Claude Code 2.1.330 wraps a message of one line, and shows four rows of it; of more lines it shows three, cut at the edge.
# In a terminal of 80 columns a row has 74
_ROWS, _ROW_CHARS = 4, 70
_BLANK = "␠"
# A value that cannot be taken for one and the fact behind it
_PLAIN = re.compile(r"[\w./@+=,%-]+(?: [\w./@+=,%-]+)*", re.ASCII)
# What a job has that asks for nothing else. Who asks is the client that shows the form
_USUAL = {facts.Fact("Host", "this machine"), facts.Fact("Input", "none"), facts.Fact("Time limit", "none")}


def _in_few_rows(definition: Definition) -> str | None:
    """Return a message that is shown whole everywhere: the facts in one line, the command at its end, where nothing
    that it holds looks like another fact; what is usual is left out. None if that is too long."""
    about = [fact for fact in facts.of(definition) if fact not in _USUAL and fact.label != "Asked for"]
    rule = [fact for fact in about if fact.label == "Asked by"]  # the words of the user's own configuration
    command = [fact for fact in about if fact.label == "Command"]
    rest = [fact for fact in about if fact not in (*rule, *command)]
    message = f"Run this command? {' · '.join(map(_shown, (*rule, *rest, *command)))}"
    fits = len(message) <= _ROWS * _ROW_CHARS and max(_rows(message, drop) for drop in (True, False)) <= _ROWS
    is_clear = len(command) == 1 and command[0].value.isascii() and all(_PLAIN.fullmatch(fact.value) for fact in rest)
    return message if fits and is_clear else None


def _shown(fact: facts.Fact) -> str:
    """Return a fact with its blanks as they count: many in a row would push what follows out of sight in one client, and
    be cut at the end of a row in another."""
    value = (
        fact.value if _BLANK in fact.value else re.sub(" {2,}", lambda found: f"{_BLANK}×{len(found[0])} ", fact.value)
    )
    return f"{fact.label}: {value}"


def _rows(message: str, drop_blanks: bool) -> int:
    """Return how many rows a message takes at most: a word that is longer than a row begins one, and wide characters count
    twice."""
    wide = "".join(char * 2 if unicodedata.east_asian_width(char) in "WF" else char for char in message)
    lines = textwrap.wrap(wide, _ROW_CHARS, break_on_hyphens=False, break_long_words=False, drop_whitespace=drop_blanks)
    return sum(-(-len(line) // _ROW_CHARS) for line in lines)


_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "Always: exactly this, with all that is shown, from now on.",
            "enum": list(_CHOICES),
        },
        "reason": {"type": "string", "title": "Reason", "description": "A sentence that the agent is told."},
    },
    "required": ["decision"],
}


def answer_of(result: object) -> tuple[str, bool, str | None] | None:
    """Return the state that the user's answer means, whether it is for always, and the reason; None for a form that was
    closed without an answer."""
    if not isinstance(result, types.ElicitResult) or result.action == "cancel":
        return None
    content = result.content or {}
    reason = content.get("reason")
    reason_given = reason.strip() or None if isinstance(reason, str) else None
    decision = content.get("decision") if result.action == "accept" else _DENY
    if decision not in _CHOICES:
        return None
    return answer_file.DENIED if decision == _DENY else answer_file.APPROVED, decision == _ALWAYS, reason_given


def of_task(about: Context, definition: Definition, job: JobDir) -> dict[str, object]:
    """Return the `inputRequests` of a task whose job has not started for want of an approval: none if it was answered,
    for another client than the starter of the job, and for a client that approves nothing."""
    rights = about.caller.rights
    may_answer = rights.allows(EXEC) and rights.approves and has_user()
    is_open = may_answer and wait_for_answer.is_starter(about, definition) and answer_file.read(job) is None
    form = question(definition) if is_open else None
    if form is None:
        return {}
    request = types.ElicitRequest(params=form)
    return {KEY: request.model_dump(by_alias=True, mode="json", exclude_none=True)}


def answer_to_task(response: object) -> tuple[str, bool, str | None] | None:
    """Return what an entry of `inputResponses` says, as `answer_of` does. Errors: -32602."""
    try:
        result = types.ElicitResult.model_validate(response)
    except ValidationError as error:
        raise MCPError(types.INVALID_PARAMS, f"inputResponses: {KEY!r} is no answer to a form") from error
    said = answer_of(result)
    if said is None and result.action == "accept":
        choices = ", ".join(map(repr, _CHOICES))
        raise MCPError(types.INVALID_PARAMS, f"inputResponses: an accepted form has `decision`, one of {choices}")
    return said


def decided(ctx: Context, job_id: str, said: wait_for_answer.Given) -> None:
    """Take the answer of the client's user about a job, and wait until an approved one has started. Errors: job_not_found,
    and those of `wait_for_answer.go_on`."""
    with lookup.open_by_id(ctx, job_id) as job:
        wait_for_answer.go_on(ctx, job, 0.0, given=said, by=by(ctx.caller.owner))


async def ask(ctx: Request, call: Context, definition: Definition, form: types.ElicitRequestFormParams) -> None:
    """Show the form while the job waits, and write the user's answer down. A client that cannot be asked leaves the
    question to a person at a terminal."""
    try:
        job = lookup.open_known(call.caller, definition.job_id)
    except OutliveError:  # removed meanwhile
        return
    with job, anyio.move_on_after(answer_file.seconds_left(definition)):
        async with anyio.create_task_group() as group:
            group.start_soon(_until_answered, job, group.cancel_scope)
            await _ask(ctx, call, form, job)
            group.cancel_scope.cancel()


async def _ask(ctx: Request, call: Context, form: types.ElicitRequestFormParams, job: JobDir) -> None:
    # What belongs to a request ends with it; over HTTP a request of ours needs the stream of one
    related = None if ctx.request is None else ctx.request_id
    gone = (anyio.ClosedResourceError, anyio.BrokenResourceError)
    with suppress(OutliveError, MCPError, NoBackChannelError, *gone):  # or it cannot be asked now
        given = answer_of(await ctx.session.elicit_form(form.message, form.requested_schema, related))
        if given is not None:
            wait_for_answer.take(call, job, *given, by=by(call.caller.owner))


async def _until_answered(job: JobDir, scope: anyio.CancelScope) -> None:
    """Take the form back when another answer was first."""
    with suppress(OSError):  # removed between the two
        while job.is_in_place() and answer_file.read(job) is None:
            await anyio.sleep(_LOOK_S)
    scope.cancel()


_LOOK_S = 0.5


def by(owner: str) -> str:
    return f"the user of {owner}"
