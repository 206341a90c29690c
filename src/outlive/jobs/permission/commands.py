"""Ask the policy about every command that a call names: the job's, and those that are told of its
end and its output.

Imported only where a policy is configured.
"""

from __future__ import annotations

import os
import time

from outlive.core.records import watches_of
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.policy import decide
from outlive.policy.rules import ASK, DENY, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.core.records import Definition
    from outlive.jobs.context import Context
    from outlive.jobs.definition import Plan
    from outlive.policy.decide import Decision, Policy

MOST_HELD = 100  # jobs for whose approval one server waits: each takes open files
_SHOWN_CHARS = 200
_PLAIN = "Plain words joined by && || ; or |, without expansions and redirections, are decided each by their own rules."
_OTHER_WAY = "Do it another way, or tell the user: [policy] of outlive's configuration decides, not this call."


held: set[str] = set()  # jobs for whose approval this server waits


def decided(ctx: Context, definition: Definition, overrides: Mapping[str, str]) -> Decision:
    """Return the strictest decision about the commands of a job. Errors: denied."""
    policy = ctx.config.policy()
    assert policy is not None
    place = Place(
        definition.cwd,
        path=overrides.get("PATH") or ctx.env.get("PATH") or os.defpath,
        sandbox=sandbox_of(definition),
        variables=[*overrides],
    )
    found = decide.decided(policy, definition.command, definition.shell, place)
    found += _of_sinks(ctx, policy, definition, sink_commands(definition.notification))
    strictest = decide.strictest(found)
    ctx.decision = {"decision": strictest.decision, "rule": strictest.rule}
    return _unless_denied(policy, found)


def require(ctx: Context, plan: Plan, *, ask: bool) -> None:
    """Raise denied if the policy denies a command of the job. With `ask`, a job that a person is to
    be asked about gets the member `approval` of its definition."""
    try:
        decision = decided(ctx, plan.definition, plan.overrides)
    except OutliveError:
        ctx.note_start("denied", plan)
        raise
    if not ask or decision.decision != ASK:
        return
    from outlive.config import state_directory
    from outlive.policy import always

    policy = ctx.config.policy()
    assert policy is not None
    key = always.key_of(plan.definition, sink_commands(plan.definition.notification), plan.stdin_data)
    if not always.has(state_directory(os.environ), key):
        _require_room()
        request = _asked(decision, key, policy.ask_timeout_ms)
        ctx.note_start("ask", plan)
        plan.definition = plan.definition.replace(approval=request)


def _asked(decision: Decision, key: str, timeout_ms: int) -> dict[str, Any]:
    """Return the member `approval` of a definition: what is asked, and until when."""
    now = time.time()
    return {
        "rule": decision.rule,
        "reason": decision.reason,
        "command": decision.command,
        "key": key,
        "asked_at": timestamp(now),
        "expires_at": timestamp(now + timeout_ms / 1000),
    }


def _require_room() -> None:
    """Raise denied if this server waits for as many answers as it can."""
    if len(held) >= MOST_HELD:
        raise OutliveError(
            "denied",
            f"{MOST_HELD} jobs of this server wait for the user's approval already",
            retryable=True,
            hint="Wait until the user has answered some of them, or withdraw them with kill.",
        )


def check_sinks(ctx: Context, definition: Definition, notification: Mapping[str, Any]) -> None:
    """Raise denied unless every command that `notification` adds to a job's is allowed."""
    policy = ctx.config.policy()
    assert policy is not None
    before = sink_commands(definition.notification)
    added = [command for command in sink_commands(notification) if command not in before]
    found = _of_sinks(ctx, policy, definition, added)
    if found and _unless_denied(policy, found).decision == ASK:
        raise denied(
            decide.strictest(found),
            "the user would have to be asked about",
            "Name the command when the job is started: then the user is asked.",
        )


def sink_commands(notification: Mapping[str, Any]) -> list[str]:
    """Return the shell commands that are told of a job's end and of hits in its output."""
    named = [notification.get("notify_command"), *(watch["command"] for watch in watches_of(dict(notification)))]
    return list(dict.fromkeys(command for command in named if command))


def sandbox_of(definition: Definition) -> str:
    """Return the mode of the sandbox that a job runs in."""
    return definition.sandbox["mode"] if definition.sandbox else "off"


def _of_sinks(ctx: Context, policy: Policy, definition: Definition, commands: list[str]) -> list[Decision]:
    place = Place(definition.cwd, path=ctx.env.get("PATH") or os.defpath, sandbox=sandbox_of(definition))
    shell = list(definition.shell or ctx.shell)
    return [one for command in commands for one in decide.decided(policy, [command], shell, place)]


def _unless_denied(policy: Policy, found: list[Decision]) -> Decision:
    strictest = decide.strictest(found)
    if strictest.decision == DENY:
        raise denied(strictest, "the policy denies")
    if strictest.decision == ASK and not policy.ask_timeout_ms:
        raise denied(strictest, "asking is off (ask_timeout = 0), and the policy asks the user about")
    return strictest


def denied(decision: Decision, says: str, hint: str | None = None) -> OutliveError:
    """Return the error that names the command, the rule and its reason. `says` stands before the
    command."""
    why = f": {decision.reason}" if decision.reason else ""
    return OutliveError(
        "denied",
        f"{says} `{shown(decision.command)}` ({decision.rule}){why}; nothing was run",
        hint=hint or (f"{_PLAIN} {_OTHER_WAY}" if decision.unread else _OTHER_WAY),
        details={"rule": decision.rule, "reason": decision.reason, "command": decision.command},
    )


def shown(command: list[str]) -> str:
    """Return a command as it is shown in a sentence."""
    text = " ".join(command)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
