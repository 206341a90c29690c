"""Put together what a person is asked about a job that a gate leaves to them: the member `approval` of its definition."""

from __future__ import annotations

import os
import threading
import time
from weakref import WeakSet

from outlive.core.ids import sha256
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.jobs import acts
from outlive.jobs.context import Context, Principal
from outlive.jobs.starting.gate import OpenQuestion
from outlive.jobs.starting.plan import Plan
from outlive.parts.approvals import files, question_record
from outlive.parts.approvals.facts import FORM_CHARS, decides
from outlive.parts.approvals.person import namespaces
from outlive.parts.approvals.question_record import Approval, GivenInput
from outlive.parts.policy.gate import OF_SINKS, sink_commands

MOST_HELD = 100  # jobs for whose approval one server waits: each takes open files

# Of the jobs for whose approval this server waits: a plan lives as long as a thread waits with it
_waited_for: WeakSet[Plan] = WeakSet()
_asking = threading.Lock()


def ask(ctx: Context, plan: Plan, question: OpenQuestion) -> None:
    """Write into the plan what a person is asked, as `Holding.ask`. Errors: denied."""
    _take_room(plan)
    request = _asked(question, plan, _files(ctx.caller, plan))
    acts.about_to_start(ctx, "ask", plan)
    plan.definition = question_record.with_request(plan.definition, request)


def _take_room(plan: Plan) -> None:
    """Raise denied if this server waits for as many answers as it can."""
    with _asking:
        if len(_waited_for) < MOST_HELD:
            _waited_for.add(plan)
            return
    raise OutliveError(
        "denied",
        f"{MOST_HELD} jobs of this server wait for the user's approval already",
        retryable=True,
        hint="Wait until the user has answered some of them, or withdraw them with kill.",
    )


def _asked(question: OpenQuestion, plan: Plan, noted: files.Noted) -> Approval:
    """Return what is asked, until when, and what a person is shown of the job that its definition
    does not hold: its input, and the variables of its files."""
    now, definition = time.time(), plan.definition
    called = {*definition.env, *definition.masked_env}
    of_files = {
        name: value if decides(name) and name not in definition.mask else None
        for name, value in plan.overrides.items()
        if name not in called
    }
    given, data = None, plan.stdin_data
    if data is not None:
        text = data.decode("utf-8", "surrogateescape") if len(data) <= FORM_CHARS else None
        given = GivenInput(bytes=len(data), sha256=sha256(data), text=text)
    # With masked values only the process that asks can start it
    is_checked = definition.env_files and not definition.masked_env
    return Approval(
        rule=question.rule,
        reason=question.reason,
        command=question.command,
        key=question.key,
        asked_at=timestamp(now),
        expires_at=timestamp(now + question.timeout_ms / 1000),
        asker=namespaces(),
        input=given,
        file_env=of_files if definition.env_files else None,
        env_sha256=question_record.digest(plan.overrides) if is_checked else None,
        files=noted.stamps or None,
        unheld=noted.unheld or None,
    )


def _files(caller: Principal, plan: Plan) -> files.Noted:
    """Return the files that the command of a job, unless it runs where they cannot be seen, and its notifications run."""
    definition = plan.definition
    command = definition.command if plan.script is None else [os.fsdecode(plan.script)]
    called = {name: value for name, value in plan.overrides.items() if name not in definition.mask}
    cwd, shell = definition.cwd, definition.shell or ()
    if definition.cwd_id is None:
        found = [files.Noted({}, [f"files are not seen on {definition.host}"])]
        cwd = OF_SINKS
    else:
        found = [files.noted(command, shell, cwd, {**caller.env, **called}, called)]
    sinks = sink_commands(definition.notification)
    found += [files.noted([one], shell or caller.shell, cwd, caller.env, {}) for one in sinks]
    stamps = {path: stamp for one in found for path, stamp in one.stamps.items()}
    return files.Noted(stamps, [*dict.fromkeys(line for one in found for line in one.unheld)])
