"""Show what the policy decides, and take back what a person approved for always."""

from __future__ import annotations

import os

from outlive.core.env_files import check_env
from outlive.core.records import SANDBOXES
from outlive.errors import argument, from_os, invalid
from outlive.jobs import definition
from outlive.verbs.spec import BOOL, ENV, PATH, STR, STRS, WORDS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.policy.always import Approvals

OFF = SANDBOXES[-1]
_NO_POLICY = "there is no [policy] in the configuration"
_ID_CHARS = 8  # of the key of an approval, which is its id unless two approvals begin alike
_LEAST_CHARS = 6


def policy_check(
    ctx: Context,
    *,
    command: list[str],
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    shell: str | None = None,
    sandbox: str | None = None,
    host: str | None = None,
) -> dict[str, Any]:
    """Return what would be decided about a command, by which rule. Nothing is run."""
    from outlive.jobs.permission import boundary
    from outlive.policy import decide
    from outlive.policy.rules import ALLOW, Place

    words, wrapper = definition.command_of(ctx, command, shell)
    there = definition.host_of(ctx, host)
    directory = definition.directory_on(ctx, there, cwd)
    variables = check_env(env or {})
    policy = ctx.config.policy()
    mode, network = boundary.granted(ctx, there, sandbox)
    answer: dict[str, Any] = {"config": ctx.config.path, "cwd": directory}
    answer |= {"host": there.name} if there else {}
    answer |= {"sandbox": {"mode": mode, "network": network}} if mode != OFF else {}
    if policy is None:
        return {"decision": ALLOW, "rule": None, "reason": _NO_POLICY, "commands": [], **answer}
    path = variables.get("PATH") or ctx.env.get("PATH") or os.defpath
    place = Place(directory, path=path, sandbox=mode, variables=[*variables])
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


def policy_list(ctx: Context) -> dict[str, Any]:
    """Return the rules in their order, and what was approved for always. Errors: io_error."""
    directory, found = _approved()
    policy = ctx.config.policy()
    rules = policy.rules if policy else ()
    return {
        "config": ctx.config.path,
        "default": policy.default if policy else None,
        "rules": [{"rule": rule.name, "decision": rule.decision, "reason": rule.reason} for rule in rules],
        "path": directory,
        "approvals": _shown(found),
    }


def policy_forget(ctx: Context, *, approval: list[str] | None = None, everything: bool = False) -> dict[str, Any]:
    """Take approvals for always back. Errors: invalid_argument, io_error."""
    from outlive.config import state_directory
    from outlive.core.units import timestamp
    from outlive.jobs.permission.person import person
    from outlive.policy import always

    path, found = _approved()
    if bool(approval) is everything:
        what = "not both" if everything else "nothing is named"
        hint = f"Give ids of approvals, as `outlive policy list` shows them, or {argument('everything')}."
        raise invalid("approval", f"{what}: {argument('approval')} or {argument('everything')}", hint=hint, usage=True)
    keys = [*found] if everything else [_key_of(given, found) for given in approval or ()]
    forgotten = _shown(found, only=keys)
    ctx.note("policy forget", approvals=[one["id"] for one in forgotten])
    for key in dict.fromkeys(keys):
        try:
            always.forget(state_directory(os.environ), key, by=person("outlive policy forget"), at=timestamp())
        except OSError as error:
            raise from_os(f"writing {path}", error) from error
    return {"path": path, "forgotten": forgotten}


def _approved() -> tuple[str, Approvals]:
    """Return the file of the approvals for always, and what it holds."""
    from outlive.config import state_directory
    from outlive.policy import always

    directory = state_directory(os.environ)
    try:
        return always.path(directory), always.approved(directory)
    except OSError as error:
        raise from_os(f"reading {always.path(directory)}", error) from error


def _shown(found: Approvals, only: list[str] | None = None) -> list[dict[str, Any]]:
    size = _ID_CHARS
    while len({key[:size] for key in found}) < len(found):
        size += 1
    members = ("command", "cwd", "by", "at")
    return [
        {"id": key[:size], **{name: entry.get(name) for name in members}}
        for key, entry in found.items()
        if only is None or key in only
    ]


def _key_of(given: str, found: Approvals) -> str:
    """Return the key that begins with an id. Errors: invalid_argument."""
    keys = [key for key in found if key.startswith(given.lower())] if len(given) >= _LEAST_CHARS else []
    if len(keys) == 1:
        return keys[0]
    what = "the id of several approvals" if keys else "not the id of an approval"
    raise invalid("approval", f"{what}: {given}", hint="`outlive policy list` shows the ids.")


CHECK = Verb(
    "policy check",
    "Show what the policy decides about a command, and by which rule. Nothing is run.",
    policy_check,
    args=(
        Arg("command", WORDS, "The command, as for run.", required=True, cli="COMMAND", metavar="COMMAND [ARG...]"),
        Arg("cwd", PATH, "Directory that it would run in.", metavar="DIR"),
        Arg("env", ENV, "Variables that the call would set.", metavar="NAME=VALUE"),
        Arg("shell", STR, "Program and flags that would run a shell string.", cli="--shell-wrapper", metavar="PROG FLAGS"),
        Arg("sandbox", STR, "Sandbox that the call would ask for (default: the configuration's, off).",
            choices=SANDBOXES, metavar="MODE"),
        Arg("host", STR, "Host that it would run on (default: the configuration's, local).", metavar="NAME"),
    ),
    result="decision rule reason commands config cwd host? sandbox?",
    mcp=False,
    detail="The strictest decision about any of the commands counts. Where it cannot be told which programs a command runs, "
    "the answer says why.",
)  # fmt: skip
LIST = Verb(
    "policy list",
    "Show the rules, and the commands that a person approved for always.",
    policy_list,
    result="config default rules path approvals",
    mcp=False,
    detail="An approval for always (`outlive approve --always`) counts for exactly this command in this directory, with the "
    "same variables, input and notification commands.",
)
FORGET = Verb(
    "policy forget",
    "Take back commands that were approved for always: they are asked about again.",
    policy_forget,
    args=(
        Arg("approval", STRS, "Ids of approvals, as `outlive policy list` shows them.", cli="APPROVAL",
            metavar="APPROVAL"),
        Arg("everything", BOOL, "Take all of them back.", default=False, cli="--all"),
    ),
    result="path forgotten",
    mcp=False,
    detail="Running servers ask about the next such command. A job that was approved already runs on.",
)  # fmt: skip
