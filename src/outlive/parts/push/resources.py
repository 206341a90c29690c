"""Jobs as resources: `job://ID`, `job://ID/output` and `job://ID/events`, with the answers of the verbs as content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from mcp import MCPError, types

from outlive import limits
from outlive.core.members import entries_of, text_of
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.mcp.caller import Request
from outlive.mcp.extension import Front, Handler
from outlive.mcp.introduction import DAY_MS
from outlive.mcp.json_safe import encodable_members
from outlive.mcp.masking import COUNT
from outlive.mcp.tools import sentences

JSON, PLAIN = "application/json", "text/plain"
STATUS, OUTPUT, EVENTS = "status", "output", "events"
_URI = re.compile(
    r"job://(?P<job>[0-9A-Za-z]+)(?:/(?P<part>output|events))?/?(?:\?(?P<query>[a-z_]+=[0-9]{1,18}(?:&[a-z_]+=[0-9]{1,18})*))?"
)
_TAKES = {STATUS: (), OUTPUT: ("since_seq",), EVENTS: ("since_seq", "since_event")}
_BESIDES = ("since_seq", "next_seq", "truncated", "gaps", "state", COUNT)  # what _meta says of the output
_NOWHERE = frozenset({"job_not_found", "ambiguous_job_id", "invalid_argument"})

TEMPLATES = [
    types.ResourceTemplate(name=name, title=title, uri_template=uri, description=about, mime_type=kind)
    for name, title, uri, kind, about in (
        ("job", "A job", "job://{id}", JSON, "What a job is and how it is doing: the answer of `status`."),
        (
            "job-output",
            "A job's output",
            "job://{id}/output{?since_seq}",
            PLAIN,
            "The output from a position on, head and tail of it where it is long; next_seq is in _meta.",
        ),
        (
            "job-events",
            "A job's events",
            "job://{id}/events{?since_seq,since_event}",
            JSON,
            "What happened to a job: the answer of `events`.",
        ),
    )
]


class UriTarget(Value):
    """The job and the part of it that a URI names. `job` is an id or the end of one."""

    job: str
    part: str
    since: dict[str, int]  # since_seq, since_event


def target_of(uri: str) -> UriTarget:
    """Return what a URI names. Errors: MCPError, as the protocol wants for a resource that does not exist."""
    # Clients that parse URIs write them again with a lower-case host, or with a slash at the end
    match = _URI.fullmatch(uri)
    if match is not None:
        part = match["part"] or STATUS
        pairs = [pair.split("=") for pair in (match["query"] or "").split("&") if pair]
        since = {name: int(value) for name, value in pairs}
        if since.keys() <= set(_TAKES[part]) and len(since) == len(pairs):
            return UriTarget(match["job"], part, since)
    known = ", ".join(template.uri_template for template in TEMPLATES)
    raise MCPError(types.INVALID_PARAMS, f"Not a resource: {uri[:200]}. Resources: {known}.", {"uri": uri})


@contextmanager
def refusing(uri: str) -> Iterator[None]:
    """Turn OutliveError into MCPError: -32602 for a resource that does not exist, else -32603."""
    try:
        yield
    except OutliveError as error:
        code = types.INVALID_PARAMS if error.code in _NOWHERE else types.INTERNAL_ERROR
        words = f"{error.code}: {error.message}" + (f" {error.hint}" if error.hint else "")
        details = encodable_members({"uri": uri, "code": error.code, **(error.details or {})})
        raise MCPError(code, words, details) from error


class Resources:
    """The handlers of the resource requests."""

    def __init__(self, front: Front) -> None:
        self._calls = front.calls
        self._caller_of = front.caller_of

    def handlers(self) -> dict[str, Handler]:
        return {
            "resources/list": Handler(types.PaginatedRequestParams, self.list),
            "resources/templates/list": Handler(types.PaginatedRequestParams, self.templates),
            "resources/read": Handler(types.ReadResourceRequestParams, self.read),
        }

    async def templates(
        self, _ctx: Request, _params: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES, ttl_ms=DAY_MS, cache_scope="public")

    async def list(self, ctx: Request, _params: types.PaginatedRequestParams) -> types.ListResourcesResult:
        """Return the caller's jobs in the order of `list`: running ones first, then the newest."""
        with refusing("job://"):
            answer = self._masked(await self._calls.show("list", self._caller_of(ctx), limit=limits.LIST_JOBS))
        return types.ListResourcesResult(resources=[_resource(job) for job in entries_of(answer, "jobs")])

    async def read(self, ctx: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        target = target_of(params.uri)
        given = {**({"since_seq": 0} if target.part == OUTPUT else {}), **target.since}
        with refusing(params.uri):
            verb = "poll" if target.part == OUTPUT else target.part
            answer = self._masked(await self._calls.show(verb, self._caller_of(ctx), job_id=target.job, **given))
        kind, text, meta = JSON, json.dumps(answer, ensure_ascii=False), None
        if target.part == OUTPUT:
            kind, text = PLAIN, text_of(answer, "output")
            meta = {name: answer[name] for name in _BESIDES if name in answer}
        content = types.TextResourceContents(uri=params.uri, mime_type=kind, text=text, _meta=meta)
        return types.ReadResourceResult(contents=[content])

    def _masked(self, answer: dict[str, object]) -> dict[str, object]:
        return self._calls.secrets.masked_answer(encodable_members(answer))


def _resource(job: dict[str, object]) -> types.Resource:
    return types.Resource(
        uri=f"job://{job['job_id']}",
        name=text_of(job, "short_id"),
        title=text_of(job, "name"),
        description=f"{sentences.command_line(job.get('command'))} ({sentences.short_state(job)})",
        mime_type=JSON,
    )
