"""The Tasks extension (SEP-2663, `io.modelcontextprotocol/tasks`): a job is a task, and has the
same id.

**Which call becomes a task.** The client must declare the extension in the capabilities of the
request. Earlier requests do not count, nor does `initialize`, since protocols with a handshake
cannot carry a task. An `exec` in such a request is answered

- with its result, if the command ends within `yield_ms`;
- as a task, if the command still runs then (at once with `yield_ms` 0);
- with the job's id, if `background` is true and the client is not known to wake its model: others
  may hide a task and poll it to its end, so that the model would wait for what it put into the
  background. Claude Code goes on, and calls its model when the task ends;
- with the job's id, if the command waits for input, or for approval, for which the client cannot ask
  its user. Only the model can help then.

A job that waits for approval is a task at once, and the task has the question. Without the process
tool (`--tools exec`) the last two are tasks too: nothing else could follow the job.

**Which server answers.** Any server over this root answers for any job, as `process` does, unless
an isolation wall is between the caller and the job. `task_view` says what a task contains.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing, suppress
from functools import cached_property, partial
from typing import Any
from weakref import WeakValueDictionary

import anyio
from mcp import MCPError, types
from mcp.server.context import HandlerResult
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from outlive import limits
from outlive.answers.job import is_pending
from outlive.core.ids import is_id
from outlive.core.members import object_of, text_of
from outlive.core.records import CONTROL, READ
from outlive.errors import OutliveError
from outlive.jobs import adoption, ending, lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import stdin
from outlive.jobs.told import notices
from outlive.mcp import threads
from outlive.mcp.caller import Request, client_of
from outlive.mcp.extension import Front, Handler, Instead
from outlive.parts.approvals import elicitation
from outlive.parts.approvals.elicitation import can_ask
from outlive.parts.push import follow
from outlive.parts.push.subscriptions import Subscriptions
from outlive.parts.push.task_requests import check, require, wakes
from outlive.parts.push.task_view import ANSWER, OF_ITS_STATUS, OVER, TaskView, is_unapproved, questions
from outlive.parts.push.waits import Wait, Waits, is_wait, job_of
from outlive.store.inbox import FOLLOWED
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

_FOLLOWED_TASKS = 64  # by one subscription; each is a connection to a supervisor
NOTIFICATION = "notifications/tasks"
_FOLLOW_EVERY_S = 0.25


class TaskParams(types.RequestParams):
    """Of tasks/get and tasks/cancel."""

    task_id: str


class UpdateParams(TaskParams):
    """Of tasks/update."""

    input_responses: dict[str, object]


class Tasks:
    """The handlers of the extension. A stream asks `subscriptions` for what is no task."""

    def __init__(self, front: Front, subscriptions: Subscriptions) -> None:
        self._calls = front.calls
        self._caller_of = front.caller_of
        self._result = front.result
        self._subscriptions = subscriptions
        self.waits = Waits()
        self._answering: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()  # by task, while it is answered

    def handlers(self) -> dict[str, Handler]:
        return {
            "tasks/get": Handler(TaskParams, self.get),
            "tasks/update": Handler(UpdateParams, self.update),
            "tasks/cancel": Handler(TaskParams, self.cancel),
            "subscriptions/listen": Handler(types.SubscriptionsListenRequestParams, self.listen),
        }

    @cached_property
    def _view(self) -> TaskView:
        return TaskView(self._result, self._calls.tools.shown_by_default(), self._calls.secrets)

    # --- a task instead of a result ---

    def of_answer(self, ctx: Request, answer: dict[str, object]) -> Instead | None:
        """Return the task of the job that a call made (`is_task`). None if the job asks for what no task can ask of this
        client."""
        about, job_id = self._context(ctx), text_of(answer, "job_id")
        task = self._of(about, job_id, ctx)
        if "result" in task:  # it has ended since
            return Instead(object_of(task, "result"), notices.known(about, answer))
        asks = answer.get("waiting_for_input") or is_pending(answer)
        if asks and "inputRequests" not in task and not self._calls.tools.exec_alone:
            return None
        shown = {key: value for key, value in task.items() if key not in OF_ITS_STATUS}
        known = notices.known(about, answer)

        def sent(written: bool) -> None:
            known(written)
            if written:  # what `known` took for a plain answer
                self._left_to_task(about, job_id, ctx)

        return Instead({"resultType": "task", **shown}, sent)

    # --- methods ---

    async def get(self, ctx: Request, params: TaskParams) -> HandlerResult:
        check(ctx, params.task_id)
        wait = self.waits.get(params.task_id, self._caller_of(ctx))
        return self._of(self._context(ctx), params.task_id, ctx) if wait is None else self.of_wait(ctx, wait)

    async def cancel(self, ctx: Request, params: TaskParams) -> HandlerResult:
        """Kill the job in the caller's name, but for a call of `wait`, which is ended alone. The answer does not wait
        for the end."""
        check(ctx, params.task_id)
        wait = self.waits.get(params.task_id, self._caller_of(ctx))
        if wait is not None:
            wait.cancel()
        if is_wait(params.task_id):
            return {}
        about = self._context(ctx, CONTROL)
        with _opened(about, params.task_id) as job:
            # What it left behind is not the task's any more
            if not adoption.inspect_and_adopt(about, job).state.finished:
                await _doing(partial(ending.kill, about, job, wait_ms=0), unless="invalid_state")
        return {}

    async def update(self, ctx: Request, params: UpdateParams) -> HandlerResult:
        """Take what the user answered: approve or deny the job, or type the line into it. An answer
        to anything but the job's present question is ignored.

        Declining denies a job that waits for approval. It ends the input of one that runs, and the
        command decides what that means. Dismissing leaves the question open.
        """
        check(ctx, params.task_id)
        about = self._context(ctx, CONTROL)
        answering = self._answering.setdefault(params.task_id, anyio.Lock())
        async with answering:  # the same answer sent twice is typed once
            with _opened(about, params.task_id) as job, Output(job) as output:
                inspection = adoption.inspect_and_adopt(about, job)
                asked = questions(about, inspection, job, output)
                for key in asked.keys() & params.input_responses.keys():
                    if is_unapproved(inspection):
                        await self._decide(ctx, params.task_id, params.input_responses[key])
                    else:
                        await _type(about, job, params.input_responses[key])
        return {}

    async def _decide(self, ctx: Request, task_id: str, response: object) -> None:
        said, caller = elicitation.answer_to_task(response), self._caller_of(ctx)
        if said is None:
            return
        try:
            ctx_to_start = await self._calls.context_to_start(caller, "an approval")
            await threads.run(partial(elicitation.decided, ctx_to_start, task_id, said))
        except OutliveError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error

    # --- notifications ---

    async def listen(self, ctx: Request, params: types.SubscriptionsListenRequestParams) -> None:
        wanted = _task_ids(params)
        if not wanted:
            await self._subscriptions.listen(ctx, params)
            return
        require(ctx)
        about = self._context(ctx, reads=False)  # being told of a result is not reading it
        async with AsyncExitStack() as stack:
            jobs, waits = {}, {}
            for task_id in wanted[:_FOLLOWED_TASKS]:
                wait = self.waits.get(task_id, self._caller_of(ctx))
                if wait is not None:
                    waits[task_id] = wait
                    continue
                with suppress(MCPError):  # unknown: the acknowledgement leaves it out
                    jobs[task_id] = stack.enter_context(_opened(about, task_id))
            group = await stack.enter_async_context(anyio.create_task_group())

            def acknowledged() -> None:
                for job in jobs.values():
                    group.start_soon(self._follow, ctx, about, job)
                for wait in waits.values():
                    group.start_soon(self._follow_wait, ctx, wait)

            await self._subscriptions.listen(ctx, params, {"taskIds": [*jobs, *waits]}, acknowledged)

    async def _follow_wait(self, ctx: Request, wait: Wait) -> None:
        await wait.over.wait()
        await _notify(ctx, self.of_wait(ctx, wait))

    async def _follow(self, ctx: Request, about: Context, job: JobDir) -> None:
        """Notify of one job until it is over, at most four times a second."""
        sent: tuple[object, ...] = ()
        async with aclosing(follow.changes(job, output=True, every_s=_FOLLOW_EVERY_S)) as changes:
            async for _ in changes:
                try:
                    task = self._view.of(about, job, asks=can_ask(ctx), client=client_of(ctx))
                except (OSError, OutliveError):  # removed, or unreadable now: tasks/get says which
                    continue
                if not job.is_in_place():
                    return
                news = (task["status"], task.get("statusMessage"), task.get("inputRequests"))
                if news != sent:
                    sent = news
                    await _notify(ctx, task)
                if task["status"] in OVER:
                    return

    # --- the call that waits, and the job ---

    def of_wait(self, ctx: Request, wait: Wait) -> dict[str, object]:
        task = wait.shown()
        if wait.answer is None:
            self._left_to_task(self._context(ctx), job_of(wait.id), ctx)
            return task
        result = self._result(wait.answer, client_of(ctx)).model_dump(by_alias=True, mode="json", exclude_none=True)
        if "job_id" in wait.answer:
            notices.known(self._context(ctx), wait.answer)(True)
        return {**task, "statusMessage": result["content"][0]["text"].partition("\n")[0], "result": result}

    def _context(self, ctx: Request, right: str = READ, *, reads: bool = True) -> Context:
        try:
            return self._calls.context(self._caller_of(ctx), right, ctx.method, reads=reads)
        except OutliveError as error:
            denied = error.code == "denied"
            words = f"denied: {error.message}. {error.hint}" if denied else error.message
            raise MCPError(types.INVALID_REQUEST if denied else types.INTERNAL_ERROR, words) from error

    def _of(self, about: Context, task_id: str, ctx: Request) -> dict[str, object]:
        with _opened(about, task_id) as job:
            try:
                task = self._view.of(about, job, asks=can_ask(ctx), client=client_of(ctx))
            except (OSError, OutliveError) as error:
                if not job.is_in_place():
                    raise _unknown(task_id) from error
                raise MCPError(types.INTERNAL_ERROR, f"while reading job {task_id}: {error}") from error
            if not job.is_in_place():  # removed during this look, which may have seen half of it
                raise _unknown(task_id)
            if task["status"] in OVER:
                notices.known(about, {"job_id": job.job_id, "state": "exited"})(True)
            else:
                self._left_to_task(about, job.job_id, ctx)
            return {**task, "taskId": task_id}

    @staticmethod
    def _left_to_task(about: Context, job_id: str, ctx: Request) -> None:
        """Note that the client is to be told of this job by a task, if it calls its model then."""
        if about.inbox is not None and wakes(ctx):
            about.inbox.set_call(job_id, FOLLOWED)


async def _notify(ctx: Request, task: dict[str, object]) -> None:
    params = {**task, "_meta": {SUBSCRIPTION_ID_META_KEY: ctx.request_id}}
    notification: Any = types.Notification[dict[str, object], str](method=NOTIFICATION, params=params)
    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)


# --- small things ----------------------------------------------------------------------------------------------------


def _opened(about: Context, task_id: str) -> JobDir:
    """Return the job of a task. Only a whole id names one. Errors: -32602."""
    job_id = job_of(task_id)
    if not is_id(job_id):
        raise _unknown(task_id)
    try:
        return lookup.open_known(about.caller, job_id)
    except OutliveError as error:
        raise _unknown(task_id) from error


def _unknown(task_id: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Task not found: {task_id[:80]}. It was removed, or is of another job root.")


def _task_ids(params: types.SubscriptionsListenRequestParams) -> list[str]:
    wanted = (params.notifications.model_extra or {}).get("taskIds")
    return list(dict.fromkeys(one for one in wanted if isinstance(one, str))) if isinstance(wanted, list) else []


def _typed(response: object) -> str | None:
    """Return what to type for a response to a form: a line, "" for the end of input, None for nothing. The name of the
    value does not count: the specification's own example answers under another one than the form asks for. Errors:
    -32602."""
    action = response.get("action") if isinstance(response, dict) else None
    if action in ("decline", "cancel"):
        return "" if action == "decline" else None
    values = object_of(response, "content") if isinstance(response, dict) and action == "accept" else {}
    value = values.get(ANSWER, next(iter(values.values()), None))
    if not isinstance(value, (str, bool, int, float)):
        raise MCPError(types.INVALID_PARAMS, f"inputResponses: an accepted form has one text, under {ANSWER!r}")
    return f"{str(value).lower() if isinstance(value, bool) else value}\n"


async def _type(about: Context, job: JobDir, response: object) -> None:
    typed = _typed(response)
    if typed is not None:
        line = typed.removesuffix("\n").encode("utf-8", "surrogateescape")
        given = stdin.Input(line, eof=not typed, enter=bool(typed))
        typing = partial(stdin.deliver, about, job, given, timeout_ms=limits.WRITE_MS)
        await _doing(typing, unless="stdin_closed")


async def _doing(work: Callable[[], object], *, unless: str) -> None:
    """Run what may block. The error code `unless` means that nothing was left to do. Errors: -32603."""
    try:
        await threads.run(work)
    except OutliveError as error:
        if error.code != unless:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error
