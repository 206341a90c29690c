"""What push adds to the calls and requests of a server: which of them its modules take part in, and when."""

from __future__ import annotations

from functools import partial

import anyio

from outlive.jobs.context import Context
from outlive.mcp import threads
from outlive.mcp.extension import Answer, Call, Extension, Front, Go, Handler, Instead
from outlive.mcp.tools.call import SPAWNING, Around
from outlive.mcp.tools.offer import EXEC
from outlive.parts.push import progress, task_requests
from outlive.parts.push.channel import Channel
from outlive.parts.push.resources import Resources
from outlive.parts.push.subscriptions import Subscriptions
from outlive.parts.push.tasks import Tasks
from outlive.parts.push.waits import OF_JOB, OF_WAIT, Wait
from outlive.verbs.spec import Verb


class Push(Extension):
    """Push in one server."""

    def __init__(self, front: Front) -> None:
        self._calls = front.calls
        self._channel = Channel(front.calls) if front.channel else None
        self._resources = Resources(front)
        self._subscriptions = Subscriptions(front)
        self._tasks = Tasks(front, self._subscriptions)

    def handlers(self) -> dict[str, Handler]:
        return {**self._resources.handlers(), **self._subscriptions.handlers(), **self._tasks.handlers()}

    async def run(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        """Run a call, and answer with a task where the client takes one. Nothing is waited for behind the look at the
        job that decides it."""
        takes_tasks = task_requests.declared(call.ctx)
        around = around.changed(handle=takes_tasks or around.handle)
        if takes_tasks and self._waits(call):
            ran = await self._begun(call, around, go)
        else:
            ran = await self._reported(call, around, go)
        if isinstance(ran, Instead) or call.params.name != EXEC:
            return ran
        given, alone = call.params.arguments or {}, self._calls.tools.exec_alone
        if not task_requests.is_task(call.ctx, given, ran, exec_alone=alone):
            return ran
        # Its notices come with the next answer: this one is not shown
        return self._tasks.of_answer(call.ctx, ran) or ran

    def answered(self, call: Call, answer: Answer) -> None:
        if self._channel is not None:
            self._channel.answered(call.ctx, call.caller, answer)

    def _waits(self, call: Call) -> bool:
        """Return whether a call goes on as a task if it is not over soon. One that brings its user's answer does not: it
        was begun before."""
        params = call.params
        waits = params.request_state is None and self._calls.tools.waits(params.name, params.arguments or {})
        return waits and not self._tasks.waits.are_full(call.caller)

    async def _begun(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        """Return the answer of a call, or the call as a task if it goes on."""

        async def answer(wait: Wait) -> Answer:
            def begun(verb: Verb, ctx: Context, args: dict[str, object]) -> None:
                around.begun(verb, ctx, args)
                wait.ctx = ctx

            ran = await go(around.changed(begun=begun, is_awaited=False))
            assert not isinstance(ran, Instead)  # no part answers in another way what no request waits for
            return ran

        kind = OF_JOB if call.params.name == EXEC else OF_WAIT
        wait = await self._tasks.waits.begun(call.caller, kind, call.ctx.lifespan_context.start_soon, answer)
        return wait.answer or Instead({"resultType": "task", **self._tasks.of_wait(call.ctx, wait)})

    async def _reported(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        """Return the answer of a call, whose progress its client is notified of, and the end of the job that it starts."""
        report, reporting = progress.reporter(call.ctx), anyio.CancelScope()
        starts: list[Context] = []

        def begun(verb: Verb, ctx: Context, args: dict[str, object]) -> None:
            around.begun(verb, ctx, args)
            if verb.name in SPAWNING:
                starts.append(ctx)
            if report is not None:
                until = partial(progress.report_until, reporting, report, verb, ctx, args, self._calls.secrets)
                call.ctx.lifespan_context.start_soon(threads.logged, until)

        try:
            return await go(around.changed(begun=begun))
        finally:
            reporting.cancel()
            if self._channel is not None and starts and starts[0].job_id is not None:
                # Even if the client has cancelled the call
                self._channel.begin(call.ctx, call.caller, starts[0].job_id)
