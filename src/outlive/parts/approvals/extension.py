"""What approvals add to the calls of a server: its client's user is asked about a job that waits for an approval."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mcp import types

from outlive.answers.job import is_pending
from outlive.core.members import text_of
from outlive.core.records import READ, Definition
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.jobs.starting import gate
from outlive.jobs.told import notices
from outlive.mcp import threads
from outlive.mcp.caller import Request
from outlive.mcp.extension import Answer, Call, Extension, Front, Go, Instead
from outlive.mcp.tools.call import SPAWNING, Around
from outlive.parts.approvals import elicitation, wait_for_answer


class Approvals(Extension):
    """Approvals in one server."""

    def __init__(self, front: Front) -> None:
        self._calls = front.calls
        self._caller_of = front.caller_of

    async def run(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        asks = self._asks(call.ctx)
        if call.params.request_state is not None and asks is not None:
            around = around.changed(goes_on=partial(self._gone_on, call))
        ran = await go(around.changed(asks=asks))
        by_answer = asks is not None and call.params.request_state is None and elicitation.is_by_answer(call.ctx)
        return ran if isinstance(ran, Instead) or not by_answer else self._question(call, ran) or ran

    def _question(self, call: Call, answer: Answer) -> Instead | None:
        """Return the question about a job that waits for approval, which a call is answered with."""
        if answer.get("type") not in SPAWNING or not is_pending(answer):
            return None
        job_id = text_of(answer, "job_id")
        with lookup.open_known(self._calls.observer(call.caller).caller, job_id) as job:
            form = elicitation.question(job.read_meta())
        if form is None:
            return None
        question = types.InputRequiredResult(
            input_requests={elicitation.KEY: types.ElicitRequest(params=form)}, request_state=job_id
        )
        # The client may leave it open: then what becomes of the job is news
        return Instead(question, notices.known(self._calls.context(call.caller, READ, "a notice"), answer))

    def _asks(self, ctx: Request) -> Callable[[Context, Definition], bool] | None:
        """Return what asks the user of the client about a job; None if the client shows no forms."""
        is_decided, approves = gate.decides(self._calls.config), self._caller_of(ctx).rights.approves
        if not (is_decided and approves and elicitation.can_ask(ctx) and elicitation.has_user()):
            return None
        by_answer = elicitation.is_by_answer(ctx)
        start_soon = threads.from_thread(ctx.lifespan_context.start_soon)

        def asks(call: Context, definition: Definition) -> bool:
            form = elicitation.question(definition)
            if form is not None and not by_answer:
                start_soon(threads.logged, elicitation.ask, ctx, call, definition, form)
            return form is not None and by_answer

        return asks

    async def _gone_on(self, call: Call) -> Answer:
        """Return the answer of a call that the client repeats with its user's answer. Errors: OutliveError."""
        params, caller = call.params, call.caller
        said = elicitation.answer_of((params.input_responses or {}).get(elicitation.KEY))
        first = partial(wait_for_answer.go_on, given=said, by=elicitation.by(caller.owner))
        return await self._calls.go_on(params.name, params.arguments or {}, caller, str(params.request_state), first)
