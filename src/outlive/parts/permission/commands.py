"""Ask the policy about every command that a call names: the job's, and those that are told of its
end and its output.

Imported only where a policy is configured.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from weakref import WeakSet

from outlive import limits
from outlive.core.base_directories import state_directory
from outlive.core.ids import sha256
from outlive.core.quoted import cut
from outlive.core.records import Definition, Notification
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.jobs import acts
from outlive.jobs.context import Context, Decided, Principal
from outlive.jobs.starting import boundary
from outlive.jobs.starting.plan import Plan
from outlive.launch import engines
from outlive.parts.permission.answers import Checked
from outlive.parts.permission.approvals import asked, files
from outlive.parts.permission.approvals.asked import Approval, GivenInput
from outlive.parts.permission.approvals.facts import decides
from outlive.parts.permission.approvals.person import namespaces
from outlive.parts.permission.policy import always, commands_in, decide
from outlive.parts.permission.policy.decide import Policy
from outlive.parts.permission.policy.rules import ASK, DENY, Place
from outlive.parts.permission.settings import policy_of
from outlive.system import paths

MOST_HELD = 100  # jobs for whose approval one server waits: each takes open files
_SHOWN_CHARS = 200
_OF_SINKS = "/"  # where commands run on this machine that notify of a job on another one (parts/hosts/ssh/mirror.py)
_PLAIN = "Plain words joined by && || ; or |, without expansions and redirections, are decided each by their own rules."
_OTHER_WAY = "Do it another way, or tell the user: [policy] of outlive's configuration decides, not this call."


# Of the jobs for whose approval this server waits: a plan lives as long as a thread waits with it
_waited_for: WeakSet[Plan] = WeakSet()
_asking = threading.Lock()


def decided(caller: Principal, policy: Policy, definition: Definition, overrides: Mapping[str, str]) -> list[Checked]:
    """Return the decision about each command of a job, also of its notifications. `overrides`: the variables that its call
    sets."""
    place = _place(caller, definition, overrides)
    whole = definition.script is None
    decisions = decide.decided(policy, definition.command, definition.shell, place, whole=whole)
    return decisions + _of_sinks(caller, policy, definition, _sink_commands(definition.notification))


def require(ctx: Context, plan: Plan, *, ask: bool) -> None:
    """Raise denied if the policy denies a command of the job. With `ask`, a job that a person is to
    be asked about gets the member `approval` of its definition."""
    try:
        policy = policy_of(ctx.config)
        assert policy is not None
        if ask:
            plan.definition = _bound(ctx.caller, plan.definition)
        decision = decide.strictest(decided(ctx.caller, policy, plan.definition, plan.overrides))
        ctx.decision = Decided(decision.decision, decision.rule)
        _unless_denied(policy, decision)
    except OutliveError:
        acts.about_to_start(ctx, "denied", plan)
        raise
    if not ask or decision.decision != ASK:
        return
    directory = state_directory(os.environ)
    key = always.key_of(directory, plan.definition, plan.overrides, plan.stdin_data)
    if not always.has(directory, key):
        _take_room(plan)
        request = _asked(decision, key, policy.ask_timeout_ms, plan, _files(ctx.caller, plan))
        acts.about_to_start(ctx, "ask", plan)
        plan.definition = asked.with_request(plan.definition, request)


def _bound(caller: Principal, definition: Definition) -> Definition:
    """Return the definition of a job that starts in exactly the directory that its `cwd` leads to now. Errors: denied."""
    if engines.is_apart(caller.config, definition):
        return Definition.replace(definition, cwd_id=None)
    cwd = os.path.realpath(definition.cwd)
    try:
        return Definition.replace(definition, cwd=cwd, cwd_id=paths.identity(cwd))
    except OSError as error:
        raise OutliveError("denied", f"{paths.moved(cwd, error)}; nothing was run", retryable=True) from error


def _asked(decision: Checked, key: str | None, timeout_ms: int, plan: Plan, noted: files.Noted) -> Approval:
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
        text = data.decode("utf-8", "surrogateescape") if len(data) <= limits.FORM_CHARS else None
        given = GivenInput(bytes=len(data), sha256=sha256(data), text=text)
    # With masked values only the process that asks can start it
    is_checked = definition.env_files and not definition.masked_env
    return Approval(
        rule=decision.rule,
        reason=decision.reason,
        command=decision.command,
        key=key,
        asked_at=timestamp(now),
        expires_at=timestamp(now + timeout_ms / 1000),
        asker=namespaces(),
        input=given,
        file_env=of_files if definition.env_files else None,
        env_sha256=asked.digest(plan.overrides) if is_checked else None,
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
        cwd = _OF_SINKS
    else:
        found = [files.noted(command, shell, cwd, {**caller.env, **called}, called)]
    sinks = _sink_commands(definition.notification)
    found += [files.noted([one], shell or caller.shell, cwd, caller.env, {}) for one in sinks]
    stamps = {path: stamp for one in found for path, stamp in one.stamps.items()}
    return files.Noted(stamps, [*dict.fromkeys(line for one in found for line in one.unheld)])


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


def check_sinks(caller: Principal, definition: Definition, notification: Notification) -> None:
    """Raise denied unless every command that `notification` adds to a job's is allowed."""
    policy = policy_of(caller.config)
    assert policy is not None
    before = _sink_commands(definition.notification)
    added = [command for command in _sink_commands(notification) if command not in before]
    if not added:
        return
    decision = decide.strictest(_of_sinks(caller, policy, definition, added))
    _unless_denied(policy, decision)
    if decision.decision == ASK:
        hint = "Name the command when the job is started: then the user is asked."
        raise _denied(decision, "the user would have to be asked about", hint)


def _sink_commands(notification: Notification) -> list[str]:
    """Return the shell commands that are told of a job's end and of hits in its output."""
    named = [notification.notify_command, *(watch.command for watch in notification.every_watch)]
    return list(dict.fromkeys(command for command in named if command))


def _place(caller: Principal, definition: Definition, overrides: Mapping[str, str]) -> Place:
    """Return where the commands of a job run. `overrides`: the variables that its call sets."""
    sandbox = definition.sandbox
    try:
        is_apart = engines.is_apart(caller.config, definition)
    except OutliveError:  # of a job in the history, whose host the configuration does not have any more
        is_apart = True
    return Place(
        definition.cwd if is_apart or definition.cwd_id is not None else os.path.realpath(definition.cwd),
        path=overrides.get("PATH") or caller.env.get("PATH") or os.defpath,
        sandbox=sandbox.mode if sandbox else "off",
        git=sandbox.git if sandbox else "write",
        variables=[*overrides],
        read_first=commands_in.read_first({**boundary.inherited(definition, caller.env), **overrides}),
        is_seen=not is_apart,
    )


def _of_sinks(caller: Principal, policy: Policy, definition: Definition, commands: list[str]) -> list[Checked]:
    place = _place(caller, definition, {})
    if not place.is_seen:  # they run on this machine all the same
        place = place.changed(cwd=_OF_SINKS, is_seen=True)
    shell = list(definition.shell or caller.shell)
    return [one for command in commands for one in decide.decided(policy, [command], shell, place)]


def _unless_denied(policy: Policy, decision: Checked) -> None:
    if decision.decision == DENY:
        raise _denied(decision, "the policy denies")
    if decision.decision == ASK and not policy.ask_timeout_ms:
        raise _denied(decision, "asking is off (ask_timeout = 0), and the policy asks the user about")


def _denied(decision: Checked, says: str, hint: str | None = None) -> OutliveError:
    """Return the error that names the command, the rule and its reason. `says` stands before the
    command."""
    why = f": {decision.reason}" if decision.reason else ""
    return OutliveError(
        "denied",
        f"{says} `{cut(' '.join(decision.command), _SHOWN_CHARS)}` ({decision.rule}){why}; nothing was run",
        hint=hint or (f"{_PLAIN} {_OTHER_WAY}" if decision.unknown else _OTHER_WAY),
        details={"rule": decision.rule, "reason": decision.reason, "command": decision.command},
    )
