"""Ask the rules about every command that a call names: the job's, and those that are told of its end and its output.

Imported only where a policy is configured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive import parts
from outlive.core.base_directories import state_directory
from outlive.core.quoted import cut
from outlive.core.real_path import real_path
from outlive.core.records import Definition, Notification
from outlive.errors import OutliveError
from outlive.jobs import acts
from outlive.jobs.context import Context, GateDecision, Principal
from outlive.jobs.starting import boundary, gate
from outlive.jobs.starting.plan import Plan
from outlive.launch import engines
from outlive.parts.policy import always, commands_in, decide
from outlive.parts.policy.answers import Checked
from outlive.parts.policy.decide import Policy
from outlive.parts.policy.rules import ASK, DENY, Surroundings
from outlive.parts.policy.settings import policy_of
from outlive.system import paths

_SHOWN_CHARS = 200
OF_SINKS = "/"  # where commands run on this machine that notify of a job on another one (parts/hosts/ssh/mirror.py)
_PLAIN = "Plain words joined by && || ; or |, without expansions and redirections, are decided each by their own rules."
_OTHER_WAY = "Do it another way, or tell the user: [policy] of outlive's configuration decides, not this call."


class Gate(gate.Gate):
    def require(self, ctx: Context, plan: Plan, *, hold: bool) -> None:
        try:
            policy = policy_of(ctx.config)
            assert policy is not None
            if hold:
                plan.definition = _bound(ctx.caller, plan.definition)
            decision = decide.strictest(decided(ctx.caller, policy, plan.definition, plan.overrides))
            ctx.decision = GateDecision(decision.decision, decision.rule)
            _unless_denied(policy, decision)
        except OutliveError:
            acts.about_to_start(ctx, "denied", plan)
            raise
        if hold and decision.decision == ASK:
            _ask_unless_always(ctx, plan, policy, decision)

    def require_sinks(self, caller: Principal, definition: Definition, notification: Notification) -> None:
        policy = policy_of(caller.config)
        assert policy is not None
        before = sink_commands(definition.notification)
        added = [command for command in sink_commands(notification) if command not in before]
        if not added:
            return
        decision = decide.strictest(_of_sinks(caller, policy, definition, added))
        _unless_denied(policy, decision)
        if decision.decision == ASK:
            hint = "Name the command when the job is started: then the user is asked."
            raise _denied(decision, "the user would have to be asked about", hint)


GATE = Gate()


def decided(caller: Principal, policy: Policy, definition: Definition, overrides: Mapping[str, str]) -> list[Checked]:
    """Return the decision about each command of a job, also of its notifications. `overrides`: the variables that its call
    sets."""
    around = _surroundings(caller, definition, overrides)
    whole = definition.script is None
    decisions = decide.decided(policy, definition.command, definition.shell, around, whole=whole)
    return decisions + _of_sinks(caller, policy, definition, sink_commands(definition.notification))


def _ask_unless_always(ctx: Context, plan: Plan, policy: Policy, decision: Checked) -> None:
    """Have a person asked about a job, unless it was approved for always. Errors: denied."""
    directory = state_directory(os.environ)
    key = always.key_of(directory, plan.definition, plan.overrides, plan.stdin_data)
    if always.has(directory, key):
        return
    holding = gate.holding()
    assert holding is not None  # else it was denied
    question = gate.OpenQuestion(
        rule=decision.rule,
        reason=decision.reason,
        command=decision.command,
        key=key,
        timeout_ms=policy.ask_timeout_ms,
    )
    holding.ask(ctx, plan, question)


def _bound(caller: Principal, definition: Definition) -> Definition:
    """Return the definition of a job that starts in exactly the directory that its `cwd` leads to now. Errors: denied."""
    if engines.is_apart(caller.config, definition):
        return Definition.replace(definition, cwd_id=None)
    cwd = real_path(definition.cwd)
    try:
        return Definition.replace(definition, cwd=cwd, cwd_id=paths.identity(cwd))
    except OSError as error:
        raise OutliveError("denied", f"{paths.moved(cwd, error)}; nothing was run", retryable=True) from error


def sink_commands(notification: Notification) -> list[str]:
    """Return the shell commands that are told of a job's end and of hits in its output."""
    named = [notification.notify_command, *(watch.command for watch in notification.every_watch)]
    return list(dict.fromkeys(command for command in named if command))


def _surroundings(caller: Principal, definition: Definition, overrides: Mapping[str, str]) -> Surroundings:
    """Return where the commands of a job run. `overrides`: the variables that its call sets."""
    sandbox = definition.sandbox
    try:
        is_apart = engines.is_apart(caller.config, definition)
        beside = engines.beside_command(caller.config, definition)
    except OutliveError:  # of a job in the history, whose host the configuration does not have any more
        is_apart, beside = True, ()
    return Surroundings(
        definition.cwd if is_apart or definition.cwd_id is not None else real_path(definition.cwd),
        path=overrides.get("PATH") or caller.env.get("PATH") or os.defpath,
        sandbox=sandbox.mode if sandbox else "off",
        git=sandbox.git if sandbox else "write",
        variables=[*overrides, *beside],
        read_first=commands_in.read_first({**boundary.inherited(definition, caller.env), **overrides}),
        is_seen=not is_apart,
    )


def _of_sinks(caller: Principal, policy: Policy, definition: Definition, commands: list[str]) -> list[Checked]:
    around = _surroundings(caller, definition, {})
    if not around.is_seen:  # they run on this machine all the same
        around = around.changed(cwd=OF_SINKS, is_seen=True)
    shell = list(definition.shell or caller.shell)
    return [one for command in commands for one in decide.decided(policy, [command], shell, around)]


def _unless_denied(policy: Policy, decision: Checked) -> None:
    if decision.decision == DENY:
        raise _denied(decision, "the policy denies")
    if decision.decision == ASK and not policy.ask_timeout_ms:
        raise _denied(decision, "asking is off (ask_timeout = 0), and the policy asks the user about")
    if decision.decision == ASK and gate.holding() is None:
        raise _denied(decision, f"{parts.not_there(['approvals'])}, would ask the user about")


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
