"""The methods of the page, answered by the verbs (docs/reference/page-api.md)."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio

from outlive import limits
from outlive.answers import advice
from outlive.core.members import number_of, object_of
from outlive.core.records import CONTROL, EXEC, READ
from outlive.errors import OutliveError, from_os, invalid
from outlive.jobs.context import Context
from outlive.mcp import threads
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import PROCESS
from outlive.parts.failures.answers import previous
from outlive.parts.page import terminal
from outlive.parts.page.keyboards import Keyboards
from outlive.parts.page.views import beside_output, cleaning, groups, questions, rows, samples
from outlive.parts.page.views.job_list import JobList
from outlive.verbs import envelope
from outlive.verbs.spelling import MCP, spelled

_T = TypeVar("_T")
Method = Callable[[Caller, dict[str, object]], Awaitable[dict[str, object]]]

MOST_WAIT_MS = 25_000  # of one long poll: proxies cut what is silent for longer
_LOOK_S = 1.0  # between two looks at the list while a page waits
_PERSONS = ("approve", "deny")
_WHOLE = {bool: "true or false", int: "a whole number", str: "a string", list: "an array", dict: "an object"}


class Api:
    """What the page may ask. `may_approve(caller)` returns whether a caller is the person whom
    policy asks, as at a terminal: the holder of a token is not, nor is a job."""

    def __init__(self, calls: Calls, *, may_approve: Callable[[Caller], bool] = lambda caller: False) -> None:
        self._calls = calls
        self._may_approve = may_approve
        self._keyboards = Keyboards(calls)
        self._answered: dict[str, str] = {}  # job → when it asked what was answered last
        self._lists: dict[str | None, tuple[JobList, anyio.Lock]] = {}
        self.methods: dict[str, Method] = {
            "process": self._process,
            "jobs": self._jobs,
            "rows": self._rows,
            "failures": self._reads(beside_output.failures),
            "groups": self._reads(groups.groups),
            "runs": self._reads(beside_output.runs),
            "answer": self._answer,
            "samples": self._samples,
            "usage": self._reads(samples.kept),
            "delete": self._delete,
            "terminal": self._terminal,
            "keyboard": self._keyboard,
            "type": self._type,
            **{name: self._person(name) for name in _PERSONS},
        }

    async def call(self, name: str, caller: Caller, given: dict[str, object]) -> tuple[int, dict[str, object]]:
        """Return the HTTP status and the envelope of a call."""
        try:
            method = self.methods.get(name)
            if method is None:
                raise invalid("method", f"no such method: {name[:40]}", hint=f"There are: {', '.join(self.methods)}.")
            return 200, await method(caller, given)
        except Exception as error:  # noqa: BLE001 - the page is told, and the server outlives its own faults
            fault = fault_of(error, f"answering {name}")
            return status_of(fault.code), envelope.failure(fault)

    @property
    def is_stopping(self) -> bool:
        return self._calls.is_stopping()

    def observer(self, caller: Caller) -> Context:
        return self._calls.observer(caller)

    # --- methods ---

    async def _process(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        """Run an action of the tool `process`, with the arguments and the answer of that tool."""
        verb, _ = self._calls.tools.read(PROCESS, given)
        if verb.right == EXEC:
            self._require_person(caller, "starts nothing")
        if verb.right == READ:  # without a read position: those belong to the clients of models
            args = {name: value for name, value in given.items() if name not in ("action", "detail")}
            answer = await self._calls.show(verb.name, caller, **args)
        else:
            rights = caller.rights if self._may_approve(caller) else caller.rights.within(CONTROL)
            by = caller.changed(person=True, rights=rights)
            try:
                answer = await self._calls.run(PROCESS, {**given, "detail": "full"}, by)
            except OutliveError as error:
                if (error.details or {}).get("right") == EXEC:
                    self._require_person(caller, "names nothing to be notified")
                raise
        answer = envelope.sized(answer, "full")
        if verb.name == "status":
            answer["facts"] = beside_output.facts(answer)
            is_told = bool(advice.of_kind(answer, advice.WAITS))
            answer["waits"] = answer["state"] == "created" and (is_told or "queue" in answer)
        said = previous(answer)
        return {**answer, "previous": {**object_of(answer, "previous"), "said": f"{said}."}} if said else answer

    async def _jobs(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        args = taken(given, {"after": int, "list": str, "wait_ms": int, "before": str})
        known, lock = self._lists.setdefault(caller.wall, (JobList(), anyio.Lock()))
        deadline = time.monotonic() + _wait_ms(args) / 1000
        while True:
            ctx = self._calls.observer(caller)

            def look(ctx: Context = ctx) -> dict[str, object]:
                known.look(ctx)
                if args.get("list") != known.name:
                    return known.begin(ctx)
                before = args.get("before")
                return known.changes(args.get("after", 0)) if before is None else known.older(ctx, before)

            async with lock:
                found = await threads.run(look, caller=caller.owner)
            is_news = "next" not in found or args.get("list") != known.name or "turns" in found
            if is_news or found["jobs"] or found["removed"] or found["more"] or time.monotonic() >= deadline:
                return envelope.answer("ui.jobs", {"root": ctx.store.path, **found})
            await anyio.sleep(min(_LOOK_S, max(0.0, deadline - time.monotonic())))

    async def _rows(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        kinds: dict[str, type] = {"job_id": str, "row": int, "seq": int, "line": int, "count": int, "times": bool}
        args = taken(given, {**kinds, "known": dict, "wait_ms": int}, "job_id")
        wanted = rows.Wanted(
            args.get("row"), args.get("seq"), args.get("line"), args.get("count", 200), args.get("times", False)
        )
        known, wait_ms = args.get("known"), _wait_ms(args)
        answer = await self._read(caller, rows.rows, args["job_id"], wanted, known=known, wait_ms=wait_ms)
        return envelope.answer("ui.rows", answer)

    async def _read(self, caller: Caller, read: Callable[..., _T], *args: Any, **named: Any) -> _T:
        """Return what `read` returns of the jobs that a caller may see, in a thread."""
        return await threads.run(partial(read, self._calls.observer(caller), *args, **named), caller=caller.owner)

    def _reads(self, read: Callable[[Context, str], dict[str, Any]]) -> Method:
        """Return a method that reads something of one job."""

        async def method(caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
            args = taken(given, {"job_id": str}, "job_id")
            return envelope.answer(f"ui.{read.__name__}", await self._read(caller, read, **args))

        return method

    async def _answer(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        """Write one line for one question: twice Enter does not answer the next one."""
        args = taken(given, {"job_id": str, "asked_at": str, "line": str}, "job_id", "asked_at", "line")
        job, asked = args["job_id"], args["asked_at"]
        before = self._answered.get(job, "")
        if before == asked:
            raise OutliveError("invalid_state", "this question has been answered", hint="Nothing was written.")
        self._answered[job] = asked
        try:
            await self._read(caller, questions.require_asked, job, asked)
            submit = {"action": "submit", "job_id": job, "text": args["line"], "wait_ms": 0}
            answer = await self._calls.run(PROCESS, submit, caller.changed(person=True))
        except BaseException:
            self._answered[job] = before
            raise
        return envelope.answer("ui.answer", {"job_id": job, "bytes_written": answer["bytes_written"]})

    async def _samples(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        args = taken(given, {"jobs": list}, "jobs")
        return envelope.answer("ui.samples", await self._read(caller, samples.samples, **args))

    async def _delete(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        """Delete those of these jobs that have ended, or say what that frees."""
        args = taken(given, {"jobs": list, "dry_run": bool}, "jobs")
        sizes = await self._read(caller, cleaning.ended, args["jobs"])
        freed = deleted = 0
        for job in () if args.get("dry_run") else sizes:
            with suppress(OutliveError):  # it is another session's, or was deleted meanwhile
                remove = {"action": "remove", "job_id": job}
                answer = await self._calls.run(PROCESS, remove, caller.changed(person=True))
                deleted, freed = deleted + 1, freed + number_of(answer, "freed_bytes")
        if args.get("dry_run"):
            deleted, freed = len(sizes), sum(sizes.values())
        return envelope.answer("ui.delete", {"deleted": deleted, "freed_bytes": freed})

    async def _terminal(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        kinds = {"job_id": str, "seq": int, "size": list, "keyboard": str, "tab": str, "wait_ms": int}
        args = taken(given, kinds, "job_id")
        args["wait_ms"] = _wait_ms(args)
        tab = args.pop("tab", None)
        with self._keyboards.asking(caller, args["job_id"], tab):
            answer = await self._read(caller, terminal.terminal, **args)
        return envelope.answer("ui.terminal", {**answer, "mine": self._keyboards.holds(caller, args["job_id"], tab)})

    async def _keyboard(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        kinds = {"job_id": str, "tab": str, "take": bool, "force": bool, "size": list}
        args = taken(given, kinds, "job_id", "tab", "take")
        job, tab, mine = args["job_id"], args["tab"], False
        if args["take"]:
            force = args.get("force", False)
            mine = await self._keyboards.take(caller, job, tab, args.get("size", []), force=force)
        else:
            await self._keyboards.release(caller, job, tab)
        return envelope.answer("ui.keyboard", {"job_id": job, "mine": mine})

    async def _type(self, caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
        """Write what a person types, if the tab holds the keyboard."""
        args = taken(given, {"job_id": str, "tab": str, "data": str}, "job_id", "tab", "data")
        if not self._keyboards.holds(caller, args["job_id"], args.pop("tab")):
            raise OutliveError("invalid_state", "this page does not hold the keyboard", hint="Take it first.")
        answer = await self._calls.run(PROCESS, {"action": "write", **args, "wait_ms": 0}, caller.changed(person=True))
        return envelope.answer("ui.type", {"job_id": answer["job_id"], "bytes_written": answer["bytes_written"]})

    async def close(self) -> None:
        """Let go of what pages hold."""
        await self._keyboards.close()

    def _require_person(self, caller: Caller, may_not: str) -> None:
        if not self._may_approve(caller):
            raise OutliveError(
                "denied",
                f"this browser came with a token, or with a link that a job made: it {may_not}",
                hint="A person does that with `outlive ui`, `outlive approve` or `outlive run` on the machine of the server.",
            )

    def _person(self, name: str) -> Method:
        async def answer(caller: Caller, given: Mapping[str, object]) -> dict[str, object]:
            self._require_person(caller, "neither approves nor denies")
            ctx = self._calls.context(caller, EXEC, name, verb="ui")
            return await self._calls.answered(name, ctx, given)

        return answer


def fault_of(error: Exception, doing: str) -> OutliveError:
    """Return what the page is told of an error while `doing`."""
    if isinstance(error, OutliveError):
        return spelled(error, MCP, ())
    if isinstance(error, OSError):
        return from_os(doing, error, on="store")
    traceback.print_exc(file=sys.stderr)
    return OutliveError("internal_error", f"{type(error).__name__}: {error}", hint="This is a bug in outlive.")


def as_object(body: bytes) -> dict[str, object]:
    try:
        content = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise invalid("body", "the body of a call is a JSON object")
    return content


def taken(given: Mapping[str, object], kinds: dict[str, type], *required: str) -> dict[str, Any]:
    """Return the arguments that were given. Errors: invalid_argument."""
    args = {name: value for name, value in given.items() if value is not None}
    for name, value in args.items():
        kind = kinds.get(name)
        if kind is None:
            raise invalid(name, f"not an argument: {name[:40]}", hint=f"There are: {', '.join(kinds)}.")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise invalid(name, f"{name} has to be {_WHOLE[kind]}")
        if isinstance(value, int) and not 0 <= value <= limits.MAX_QUOTA_BYTES:
            raise invalid(name, f"{name} is out of bounds")
    for name in required:
        if name not in args:
            raise invalid(name, f"{name} is missing")
    return args


def _wait_ms(args: dict[str, object]) -> int:
    return min(MOST_WAIT_MS, number_of(args, "wait_ms"))


def status_of(code: str) -> int:
    """Return the HTTP status of an answer with this error."""
    return {"invalid_argument": 400, "denied": 403, "job_not_found": 404, "internal_error": 500}.get(code, 409)
