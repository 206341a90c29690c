"""Decide about commands: the strictest rule that matches wins."""

from __future__ import annotations

from collections.abc import Sequence

from outlive.core.record import Value
from outlive.parts.policy import commands_in
from outlive.parts.policy.answers import Checked
from outlive.parts.policy.programs import runners
from outlive.parts.policy.rules import (
    ALLOW,
    ASK,
    DECISIONS,
    Rule,
    Surroundings,
    is_looked_up_later,
    is_named,
    is_safe,
    program_way,
)

DEFAULT = "default"
_UNKNOWN = "it is not known what it runs"
_CHANGED = "a job can change before the program is started, so no rule allows it by its program or directory"
_LOOKED_UP_LATER = (
    "its shell reads {} first, which may change PATH, so no rule allows it by its program: write its path, or take {}"
)
_NOT_SEEN = "it is found on another machine, so no rule allows it by its program: write its path"
_WITHOUT = 'a shell without a profile ([shell] unix = ["sh", "-c"])'
_NOT_BY_DEFAULT = 'a rule with unknown = true decides such commands, default = "allow" does not'


class Policy(Value):
    """`[policy]` of the configuration. `default` decides what no rule does; `ask_timeout_ms` is how
    long an approval may take, 0: it is denied at once."""

    default: str
    ask_timeout_ms: int
    rules: Sequence[Rule]


def decided(
    policy: Policy, words: list[str], shell: list[str] | None, around: Surroundings, *, whole: bool = True
) -> list[Checked]:
    """Return the decision about each command of a job: of `words`, or of the string in it that
    `shell` runs. Without `whole` the string is the beginning of a longer one."""
    read = commands_in.commands(words, shell, around.path, whole=whole, variables=around.read_first)
    return [_of(policy, command, around) for command in read]


def strictest(decisions: Sequence[Checked]) -> Checked:
    """Return the strictest of several decisions; of equal ones the first."""
    return max(decisions, key=lambda one: DECISIONS.index(one.decision))


def _of(policy: Policy, command: commands_in.Command, around: Surroundings) -> Checked:
    def by(decision: str, rule: str, reason: str | None) -> Checked:
        return Checked(command=command.argv, decision=decision, rule=rule, reason=reason, unknown=command.unread)

    has_programs = any(rule.program for rule in policy.rules)
    way = program_way(command, around) if has_programs and around.is_seen else None
    matching = [rule for rule in policy.rules if rule.matches(command, around, way)]
    if matching:
        rule = max(matching, key=lambda one: DECISIONS.index(one.decision))
        return by(rule.decision, rule.name, rule.reason)
    unsafe = next((name for name in around.variables if not is_safe(name)), None)
    # It might run what a rule asks about or denies
    restricts = policy.default == ALLOW and any(rule.decision != ALLOW for rule in policy.rules)
    link = next(filter(None, (rule.link_before(command, around, way) for rule in policy.rules)), None)
    if link is not None:
        return by(ASK if restricts else policy.default, DEFAULT, f"{_UNKNOWN}: {link} is a link, which {_CHANGED}")
    known = command.changed(profiled="")
    if is_looked_up_later(command) and any(rule.matches(known, around, way) for rule in policy.rules):
        without = _WITHOUT if command.profiled == commands_in.PROFILE else "that variable out of the environment"
        return by(policy.default, DEFAULT, _LOOKED_UP_LATER.format(command.profiled, without))
    named = (
        next(filter(None, (runners.named(command.argv, rule.barred, command.globs) for rule in policy.rules)), None)
        if restricts
        else None
    )
    if command.unread is None and named and not unsafe:
        return by(
            ASK, DEFAULT, f"{_UNKNOWN}: `{command.argv[0]}` may run `{named}`, which its words name; {_NOT_BY_DEFAULT}"
        )
    if command.unread is None and not (unsafe and restricts):
        is_found_there = has_programs and not (around.is_seen or is_named(command))
        return by(policy.default, DEFAULT, _NOT_SEEN if is_found_there else None)
    reason = f"{_UNKNOWN}: {command.unread or f'the call sets {unsafe}'}"
    return by(ASK, DEFAULT, f"{reason}; {_NOT_BY_DEFAULT}") if restricts else by(policy.default, DEFAULT, reason)
