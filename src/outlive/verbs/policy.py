"""Show what the policy decides about a command."""

from __future__ import annotations

import os

from outlive.core.records import SANDBOXES
from outlive.jobs import definition
from outlive.verbs.spec import ENV, PATH, STR, WORDS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

_NO_POLICY = "there is no [policy] in the configuration"


def policy_check(
    ctx: Context,
    *,
    command: list[str],
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    shell: str | None = None,
    sandbox: str = "off",
) -> dict[str, Any]:
    """Return what would be decided about a command, by which rule. Nothing is run."""
    from outlive.policy import decide
    from outlive.policy.rules import ALLOW, Place

    words, wrapper = definition.command_of(ctx, command, shell)
    directory = definition.working_directory(ctx, cwd)
    variables = definition.check_env(env or {})
    policy = ctx.config.policy()
    answer = {"config": ctx.config.path, "cwd": directory}
    if policy is None:
        return {"decision": ALLOW, "rule": None, "reason": _NO_POLICY, "commands": [], **answer}
    path = variables.get("PATH") or ctx.env.get("PATH") or os.defpath
    place = Place(directory, path=path, sandbox=sandbox, variables=[*variables])
    found = decide.decided(policy, words, wrapper, place)
    deciding = decide.strictest(found)
    commands = [one.to_dict() for one in found]
    return {
        "decision": deciding.decision,
        "rule": deciding.rule,
        "reason": deciding.reason,
        "commands": commands,
        **answer,
    }


CHECK = Verb(
    "policy check",
    "Show what the policy decides about a command, and by which rule. Nothing is run.",
    policy_check,
    args=(
        Arg("command", WORDS, "The command, as for run.", required=True, cli="COMMAND", metavar="COMMAND [ARG...]"),
        Arg("cwd", PATH, "Directory that it would run in.", metavar="DIR"),
        Arg("env", ENV, "Variables that the call would set.", metavar="NAME=VALUE"),
        Arg("shell", STR, "Program and flags that would run a shell string.", cli="--shell-wrapper", metavar="PROG FLAGS"),
        Arg("sandbox", STR, "Sandbox that it would run in.", default="off",
            choices=SANDBOXES, metavar="MODE"),
    ),
    result="decision rule reason commands config cwd",
    mcp=False,
    detail="The strictest decision about any of the commands counts. Where it cannot be told which programs a command runs, "
    "the answer says why.",
)  # fmt: skip
