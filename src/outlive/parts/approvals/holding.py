"""What holds a job back until a person has answered. The way of a question: compose_question.py, wait_for_answer.py, and once
the answer is in its file, after_answer.py."""

from __future__ import annotations

import socket

from outlive.core.ids import short_id
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs.context import Context, GateDecision
from outlive.jobs.starting import gate
from outlive.jobs.starting.plan import Plan
from outlive.parts.approvals import after_answer, answer_file, compose_question, facts, question_record, wait_for_answer
from outlive.parts.policy.rules import ASK
from outlive.store import history
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


class Holding(gate.Holding):
    def ask(self, ctx: Context, plan: Plan, question: gate.OpenQuestion) -> None:
        compose_question.ask(ctx, plan, question)

    def note_held(self, job: JobDir, definition: Definition) -> None:
        about = question_record.of(definition)
        history.record(job, history.APPROVAL_ASKED, rule=about.rule, reason=about.reason)

    def hold(self, job: JobDir) -> int:
        return answer_file.hold(job)

    def is_open(self, ctx: Context, job: JobDir, definition: Definition) -> bool:
        ctx.decision = GateDecision(ASK, question_record.of(definition).rule)  # another process may have decided
        given = answer_file.read(job)
        return given is not None and given.state == answer_file.APPROVED

    def refusal(self, job: JobDir) -> OutliveError:
        name = short_id(job.job_id)
        return OutliveError(
            "denied",
            f"job {name} waits for the user's approval; only a person can start it",
            hint=f"The user types `outlive approve {name}` in a terminal. wait answers when it has ended or was denied.",
        )

    def wait(self, ctx: Context, plan: Plan, job: JobDir, holder: int, deadline: float | None) -> socket.socket | None:
        return wait_for_answer.ask(ctx, plan, job, holder, deadline)

    def settle(self, ctx: Context, job: JobDir) -> Inspection:
        return after_answer.settle(ctx, job)

    def withdraw(self, ctx: Context, job: JobDir) -> Inspection:
        return wait_for_answer.withdraw(ctx, job)

    def require_changeable(self, job: JobDir) -> None:
        if answer_file.read(job) is None:  # what was shown stays as it is
            raise OutliveError(
                "invalid_state",
                f"job {short_id(job.job_id)} waits for the user's approval, which is about the job as it is",
                hint="Change it after the answer, or withdraw it with kill and start it anew.",
            )

    def answer_here(self, ctx: Context, job: JobDir, inspection: Inspection, *, read_only: bool) -> Inspection:
        from outlive.parts.approvals.at_terminal import ask  # late: 20 ms, for a person

        return ask.about(ctx, job, read_only=read_only) if ask.is_pending(job, inspection) else inspection

    def shown(self, job: JobDir, definition: Definition) -> dict[str, object]:
        answer = answer_file.shown(job, definition)
        if answer["state"] == answer_file.PENDING:
            answer["facts"] = facts.shown(definition)
        return answer

    def hint(self, job: JobDir, inspection: Inspection) -> str | None:
        return after_answer.hint(job, inspection)


HOLDING = Holding()
