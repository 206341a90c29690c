"""What a call says of the jobs that its job waits for: what is refused before anything is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from outlive.core.members import parse_json
from outlive.core.records import Definition
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import lookup
from outlive.jobs.conditions import parse
from outlive.jobs.conditions.job_wait import Until
from outlive.jobs.conditions.parse import OBJECTS, WORDS
from outlive.jobs.context import Context
from outlive.jobs.starting import boundary
from outlive.parts.after import AFTER
from outlive.parts.after.asked import Edge, of_job

_MOST = 50
_NAMES = ("job", "job_id", "jobId")
# Where a condition begins behind the name of a job, which may have spaces too
_CONDITION = re.compile(rf"\s+(?=(?:{'|'.join(WORDS)}|exit\s*=\s*\d+)$|(?:{'|'.join(OBJECTS)}|idle)\s*=)")
_HINT = (
    'For example "JOB", which waits for its end with exit code 0, {"job": "JOB", "exit": 3}, or a condition of wait: '
    '{"job": "JOB", "port": 5432}.'
)


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what is kept of a call: what the job is to wait for, each once. Errors: invalid_argument, job_not_found, denied."""
    given = args.get(AFTER)
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(items) > _MOST:
        raise invalid(AFTER, f"{len(items)} jobs to wait for; at most {_MOST}")
    edges: list[Edge] = []
    for item in items:
        one = item if isinstance(item, Edge) else edge(ctx, item, {})
        if one not in edges:
            edges.append(one)
    return {AFTER: [edge.to_dict() for edge in edges]} if edges else {}


def require(definition: Definition) -> None:
    """Errors: invalid_argument for a job that could not wait."""
    try:
        of_job(definition)
    except ValueError as error:
        raise invalid(AFTER, str(error)) from error


def edge(ctx: Context, item: object, chain: Mapping[str, Definition]) -> Edge:
    """Return what an item asks for. `chain`: jobs that are to be made together with this one, by their names. Errors:
    invalid_argument, job_not_found, denied."""
    name, asked = named(item)
    if name in chain:
        other = chain[name]
    else:
        with lookup.open_job(ctx, name) as job:
            other = job.read_meta()
    try:
        if asked.until:
            Until(asked.until, stop_at_prompts=False).check(ctx, other)
            _require_no_file(ctx, asked.until)
    except OutliveError as error:
        if error.code == "invalid_argument":
            raise invalid(AFTER, error.message, hint=error.hint) from None
        raise
    return Edge.replace(asked, job=other.job_id, name=other.name)


def _require_no_file(ctx: Context, until: list[Any]) -> None:
    """Refuse a file to a caller that may not see every file: what its jobs would see at a path is known while it waits, and
    the process that waits here knows no caller. Errors: denied."""
    wanted = parse.parsed(until)
    if any(one.name == "file" for one in wanted) and boundary.reach(ctx.caller, wanted) is not None:
        raise OutliveError(
            "denied", f"{argument(AFTER)} takes no file from a caller with a ceiling", hint="wait takes one."
        )


def named(item: object) -> tuple[str, Edge]:
    """Return the job that an item names, as it does, and what is waited for. Errors: invalid_argument."""
    if isinstance(item, str) and not item.lstrip().startswith("{"):
        return _of_words(item)
    try:
        members = parse_json(item) if isinstance(item, str) else item
    except ValueError:
        raise invalid(AFTER, f"not JSON: {str(item)[:60]}", hint=_HINT) from None
    if not isinstance(members, dict):
        raise invalid(AFTER, f"{argument(AFTER)} takes jobs, not {str(item)[:60]!r}", hint=_HINT)
    return _of_object({name: value for name, value in members.items() if value is not None})


def _of_words(text: str) -> tuple[str, Edge]:
    job, *conditions = _CONDITION.split(text.strip(), maxsplit=1)
    if not job:
        raise invalid(AFTER, f"{argument(AFTER)} names no job", hint=_HINT)
    if not conditions:
        return job, Edge(exit=0)
    name, _, value = conditions[0].partition("=")
    if name.strip() == "exit" and value:
        return job, Edge(exit=_code(int(value)))
    return job, Edge(until=conditions)


def _of_object(members: dict[str, Any]) -> tuple[str, Edge]:
    names = [name for name in _NAMES if name in members]
    job = members[names[0]] if len(names) == 1 else None
    if not isinstance(job, str) or not job.strip():
        raise invalid(AFTER, "an object has the member job, the id or title of a job", hint=_HINT)
    rest = {name: value for name, value in members.items() if name not in _NAMES}
    if "until" in rest:
        until = rest.pop("until")
        conditions = until if isinstance(until, list) else [until]
    else:
        code = rest.pop("exit", None)
        if code is not None and rest:
            message = "an object has exit or a condition, not both"
            raise invalid(
                AFTER, message, hint="Write two objects: both must hold. until takes a list, of which one must."
            )
        if not rest:
            return job, Edge(exit=_code(0 if code is None else code))
        conditions = [rest]
        rest = {}
    if rest:
        raise invalid(AFTER, f"beside until an object has job alone, not {', '.join(rest)}", hint=_HINT)
    if not conditions or not all(isinstance(one, (str, dict)) for one in conditions):
        raise invalid(AFTER, "until is a condition of wait, or a list of them", hint=_HINT)
    return job, Edge(until=conditions)


def _code(value: object) -> int:
    if isinstance(value, float) and value.is_integer():  # some clients write every number so
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 255:
        hint = 'Any end at all is {"job": "JOB", "until": "exit"}.'
        raise invalid(AFTER, f"exit is an exit code from 0 to 255, not {value!r}", hint=hint)
    return value
