"""Show what the policy decides, and take back what a person approved for always."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

from outlive.core.base_directories import state_directory
from outlive.core.env_files import check_env
from outlive.core.records import GIT, SANDBOXES, Definition, Sandbox, Script
from outlive.core.units import timestamp
from outlive.errors import argument, from_os, invalid
from outlive.jobs import acts, definition, lookup
from outlive.jobs import command as command_module
from outlive.jobs.context import Context
from outlive.jobs.starting import boundary
from outlive.parts.policy import always, decide, gate
from outlive.parts.policy.always import Approvals
from outlive.parts.policy.answers import Always, CheckedJobs, Forgotten, PolicyCheck, PolicyList, Rule
from outlive.parts.policy.rules import ALLOW, ASK, DECISIONS, DENY
from outlive.parts.policy.settings import policy_of
from outlive.parts.user import person
from outlive.store.root import Store
from outlive.system.waiting import checkpoint
from outlive.verbs.spec import BOOL, ENV, STR, STRS, WORDS, Arg, Verb

_HISTORY_JOBS = 1_000  # that `policy check --history` looks at
OFF = SANDBOXES[-1]
_NO_POLICY = "there is no [policy] in the configuration"
_ID_CHARS = 8  # of the key of an approval, which is its id unless two approvals begin alike
_LEAST_CHARS = 6


def policy_check(
    ctx: Context,
    *,
    command: list[str] | None,
    history: bool = False,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    shell: str | None = None,
    sandbox: str | None = None,
    git: str | None = None,
    host: str | None = None,
) -> PolicyCheck:
    """Return what would be decided about a command, by which rule; with `history`, about the newest jobs. Nothing is run."""
    if history:
        if command is not None or cwd or env or shell or sandbox or git or host:
            message = f"{argument('history')} goes alone: it looks at the commands of jobs, as they were run"
            raise invalid("history", message, usage=True)
        return _checked_history(ctx)
    assert command is not None
    words, wrapper, script = command_module.words_of(ctx.caller, command, shell)
    there = definition.host_of(ctx.caller, host)
    directory = definition.directory_on(ctx.caller, there, cwd)
    variables = check_env(env or {})
    granted = boundary.granted(ctx.caller, there, {"sandbox": sandbox, "git": git})
    mode = granted.mode
    answer = PolicyCheck(
        decision=ALLOW,
        rule=None,
        reason=_NO_POLICY,
        commands=[],
        config=ctx.config.path,
        cwd=directory,
        host=there.name if there else None,
        sandbox={"mode": mode, "network": granted.network, "git": granted.git} if mode != OFF else None,
    )
    policy = policy_of(ctx.config)
    if policy is None:
        return answer
    inherits = [*(ctx.config.set_in("sandbox").get("environment") or ())]
    job = Definition(
        command=words,
        shell=wrapper,
        script=None if script is None else Script(),
        cwd=directory,
        host=answer.host,
        sandbox=Sandbox(mode=mode, git=granted.git, environment=inherits) if mode != OFF else None,
    )
    decided = gate.decided(ctx.caller, policy, job, variables)
    deciding = decide.strictest(decided)
    answer.decision, answer.rule, answer.reason = deciding.decision, deciding.rule, deciding.reason
    answer.commands = decided
    return answer


def _checked_history(ctx: Context) -> PolicyCheck:
    policy = policy_of(ctx.config)
    counts = dict.fromkeys(DECISIONS, 0)
    groups: dict[tuple[str, str, str | None], CheckedJobs] = {}
    for known in _newest(ctx):
        if policy is None:
            counts[ALLOW] += 1
            continue
        variables = {**dict.fromkeys(known.masked_env, ""), **known.env}
        one = decide.strictest(gate.decided(ctx.caller, policy, known, variables))
        counts[one.decision] += 1
        new = CheckedJobs(decision=one.decision, rule=one.rule, reason=one.reason, jobs=0, example=known.command)
        groups.setdefault((one.decision, one.rule, one.reason), new).jobs += 1
    strictest = next((one for one in reversed(DECISIONS) if counts[one]), ALLOW)
    return PolicyCheck(
        decision=strictest,
        rule=None,
        reason=_NO_POLICY if policy is None else None,
        commands=[],
        config=ctx.config.path,
        cwd=ctx.cwd,
        counts=counts,
        history=sorted(groups.values(), key=lambda group: -group.jobs),
        hint=_advice(counts, groups.values()),
    )


def _newest(ctx: Context) -> Iterator[Definition]:
    """Yield the newest jobs that have a command. Errors: store_unsafe, io_error."""
    with closing(Store.open(ctx.flags["root"], ctx.env)) as store:  # a check of a command needs none
        for job_id in islice(lookup.job_ids(ctx.caller.changed(store=store)), _HISTORY_JOBS):
            checkpoint()
            known = lookup.definition(store, job_id)
            if known is not None and known.command:
                yield known


def _advice(counts: dict[str, int], groups: Iterable[CheckedJobs]) -> str:
    """Say how often a person would have been asked, and what asks less."""
    total = sum(counts.values())
    said = f"Of the newest {total} jobs {counts[ASK]} would have waited for a person, {counts[DENY]} would have been denied."
    unread = sum(one.jobs for one in groups if (one.decision, one.rule) == (ASK, decide.DEFAULT) and one.reason)
    if not unread:
        return said
    why = f"{unread} of them because it cannot be known what they run: a rule with unknown = true decides these."
    return f"{said} {why}"


def policy_list(ctx: Context) -> PolicyList:
    """Return the rules in their order, and what was approved for always. Errors: io_error."""
    path, approvals = _approved()
    policy = policy_of(ctx.config)
    rules = policy.rules if policy else ()
    return PolicyList(
        config=ctx.config.path,
        default=policy.default if policy else None,
        rules=[Rule(rule=rule.name, decision=rule.decision, reason=rule.reason) for rule in rules],
        path=path,
        approvals=_shown(approvals),
    )


def policy_forget(ctx: Context, *, approval: list[str] | None = None, everything: bool = False) -> Forgotten:
    """Take approvals for always back. Errors: invalid_argument, io_error."""
    path, approvals = _approved()
    if bool(approval) is everything:
        what = "not both" if everything else "nothing is named"
        hint = f"Give ids of approvals, as `outlive policy list` shows them, or {argument('everything')}."
        raise invalid("approval", f"{what}: {argument('approval')} or {argument('everything')}", hint=hint, usage=True)
    keys = [*approvals] if everything else [_key_of(given, approvals) for given in approval or ()]
    forgotten = _shown(approvals, only=keys)
    acts.about_to(ctx, "policy forget", approvals=[one.id for one in forgotten])
    for key in dict.fromkeys(keys):
        try:
            taken_back = {"forgotten": key, "by": person("outlive policy forget"), "at": timestamp()}
            always.add(state_directory(os.environ), taken_back)
        except OSError as error:
            raise from_os(f"writing {path}", error) from error
    return Forgotten(path=path, forgotten=forgotten)


def _approved() -> tuple[str, Approvals]:
    """Return the file of the approvals for always, and what it holds."""
    directory = state_directory(os.environ)
    try:
        return always.path(directory), always.approved(directory)
    except OSError as error:
        raise from_os(f"reading {always.path(directory)}", error) from error


def _shown(approvals: Approvals, only: list[str] | None = None) -> list[Always]:
    size = _ID_CHARS
    while len({key[:size] for key in approvals}) < len(approvals):
        size += 1
    return [Always(id=key[:size], **_about(entry)) for key, entry in approvals.items() if only is None or key in only]


def _about(entry: dict[str, object]) -> dict[str, Any]:
    """Return what is shown of an approval; each may be missing in a file that was edited."""
    return {name: entry.get(name) for name in ("command", "command_bytes", "cwd", "by", "at")}


def _key_of(given: str, approvals: Approvals) -> str:
    """Return the key that begins with an id. Errors: invalid_argument."""
    keys = [key for key in approvals if key.startswith(given.lower())] if len(given) >= _LEAST_CHARS else []
    if len(keys) == 1:
        return keys[0]
    what = "the id of several approvals" if keys else "not the id of an approval"
    raise invalid("approval", f"{what}: {given}", hint="`outlive policy list` shows the ids.")


POLICY_CHECK = Verb(
    "policy check",
    "Show what the policy decides about a command, and by which rule. Nothing is run.",
    policy_check,
    group="Decide",
    store=False,
    args=(
        Arg("command", WORDS, "The command, as for run.", required=True, cli="COMMAND", metavar="COMMAND [ARG...]"),
        Arg("history", BOOL, "Instead of a command: decide about the newest 1,000 jobs, as they were run. Combine it with --config to "
            "try a policy before it is used.", default=False, stands_for="command"),
        Arg("cwd", STR, "Directory that it would run in.", metavar="DIR"),
        Arg("env", ENV, "Variables that the call would set.", metavar="NAME=VALUE"),
        Arg("shell", STR, "Program and flags that would run a shell string.", cli="--shell-wrapper", metavar="PROG FLAGS"),
        Arg("sandbox", STR, "Sandbox that the call would ask for (default: the configuration's, off).",
            choices=SANDBOXES, metavar="MODE"),
        Arg("git", STR, "What the call would ask to do to git repositories in its sandbox (default: the configuration's, read).",
            choices=GIT),
        Arg("host", STR, "Host that it would run on (default: the configuration's, local).", metavar="NAME"),
    ),
    result=PolicyCheck,
    detail="The strictest decision about any of the commands counts. Where it cannot be known which programs a command runs, "
    "the answer says why. What was approved for always is not taken into account.",
)  # fmt: skip
POLICY_LIST = Verb(
    "policy list",
    "Show the rules, and the commands that a person approved for always.",
    policy_list,
    group="Decide",
    store=False,
    result=PolicyList,
    detail="An approval for always (`outlive approve --always`) counts for exactly this command, with the same directory, "
    "shell, variables and their values, input, terminal, host, sandbox, resources and notifications.",
)
POLICY_FORGET = Verb(
    "policy forget",
    "Take back commands that were approved for always: they are asked about again.",
    policy_forget,
    group="Decide",
    store=False,
    args=(
        Arg("approval", STRS, "Ids of approvals, as `outlive policy list` shows them.", cli="APPROVAL",
            metavar="APPROVAL"),
        Arg("everything", BOOL, "Take all of them back.", default=False, cli="--all"),
    ),
    result=Forgotten,
    detail="Running servers ask about the next such command. A job that was approved already runs on.",
)  # fmt: skip
