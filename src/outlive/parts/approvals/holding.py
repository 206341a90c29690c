"""What holds a job back until a person has answered."""

from __future__ import annotations

import socket

from outlive.core.ids import short_id
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs.context import Context, GateDecision
from outlive.jobs.starting import gate
from outlive.jobs.starting.plan import Plan
from outlive.parts.approvals import asked, asking, facts, pending, request, written
from outlive.parts.policy.rules import ASK
from outlive.store import history
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


class Holding(gate.Holding):
    def ask(self, ctx: Context, plan: Plan, question: gate.OpenQuestion) -> None:
        request.ask(ctx, plan, question)

    def note_held(self, job: JobDir, definition: Definition) -> None:
        about = asked.of(definition)
        history.record(job, history.APPROVAL_ASKED, rule=about.rule, reason=about.reason)

    def hold(self, job: JobDir) -> int:
        return written.hold(job)

    def is_open(self, ctx: Context, job: JobDir, definition: Definition) -> bool:
        ctx.decision = GateDecision(ASK, asked.of(definition).rule)  # another process may have decided
        given = written.read(job)
        return given is not None and given.state == written.APPROVED

    def refusal(self, job: JobDir) -> OutliveError:
        name = short_id(job.job_id)
        return OutliveError(
            "denied",
            f"job {name} waits for the user's approval; only a person can start it",
            hint=f"The user types `outlive approve {name}` in a terminal. wait answers when it has ended or was denied.",
        )

    def wait(self, ctx: Context, plan: Plan, job: JobDir, holder: int, deadline: float | None) -> socket.socket | None:
        return asking.ask(ctx, plan, job, holder, deadline)

    def settle(self, ctx: Context, job: JobDir) -> Inspection:
        return pending.settle(ctx, job)

    def withdraw(self, ctx: Context, job: JobDir) -> Inspection:
        return asking.withdraw(ctx, job)

    def require_changeable(self, job: JobDir) -> None:
        if written.read(job) is None:  # what was shown stays as it is
            raise OutliveError(
                "invalid_state",
                f"job {short_id(job.job_id)} waits for the user's approval, which is about the job as it is",
                hint="Change it after the answer, or withdraw it with kill and start it anew.",
            )

    def answer_here(self, ctx: Context, job: JobDir, inspection: Inspection, *, read_only: bool) -> Inspection:
        from outlive.parts.approvals.at_terminal import ask  # late: 20 ms, for a person

        return ask.about(ctx, job, read_only=read_only) if ask.is_pending(job, inspection) else inspection

    def shown(self, job: JobDir, definition: Definition) -> dict[str, object]:
        answer = written.shown(job, definition)
        if answer["state"] == written.PENDING:
            answer["facts"] = facts.shown(definition)
        return answer

    def hint(self, job: JobDir, inspection: Inspection) -> str | None:
        return pending.hint(job, inspection)


HOLDING = Holding()
