"""Whose exit code a command ended with, where its form hides the others: `make test | tail` ends with the code of tail.

Facts where bash wrote down the codes of all stages (jobs/programs.py). Else the form says whose code it is, and a line of the output
that reports a failure is shown beside it. The code itself is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from outlive.core import shell_strings
from outlive.core.record import Value
from outlive.core.shell_strings import Command
from outlive.jobs import programs
from outlive.jobs.context import Principal
from outlive.parts.failures.lines import telling
from outlive.parts.last_words import last_list
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output
from outlive.system import signals

_SEARCHED_BYTES = 65_536
# Without one of these no line reports a failure: most pipelines are answered without loading RE2
_SIGNS = re.compile(
    rb"rror|RROR|ail|AIL|xception|atal|FATAL|anic|not ok|not found|No such|enied|ould not|Couldn't|refused|imed out"
)
SIGNALLED = 128  # a shell adds it to the number of a signal
_PIPE_CLOSED = 141  # of a stage that wrote more than the next wanted to read
# Last commands that say or hide something: a caller does not want their code
_SAYING = frozenset({"echo", "printf", "true", ":"})
_WAITING = frozenset({"sleep", "wait"})
_TESTING = frozenset({"[", "[[", "test"})  # in the header of a loop that waits
# They say what fails, and change nothing: without such a line their code is of no interest
_LOOKING = frozenset({"cat", "cd", "date", "df", "du", "file", "find", "head", "hostname", "id", "ls", "nl", "printenv",
    "ps", "pwd", "sort", "stat", "tail", "tree", "uname", "uniq", "wc", "which", "whoami"})  # fmt: skip
_LEAVING = frozenset({"exit", "exec", "return"})
_SHELL = "the shell"
_PIPEFAIL = "`set -o pipefail` (bash) makes each stage count."
_ASSIGNED = "`x=$(…)` alone keeps its code."
_MOST_DEPTH = 20  # of groups and functions


class Masked(Value):
    """Commands whose own code is not that of the string.

    `first`: which; "" for any before the last. `last`: whose code it is; "" if that is not known, and then `why` says what
    hides the code of `first`. `advice`: what keeps it. `is_doubtful`: callers rarely ask for that code, so it is worth a
    word only if the output reports a failure.
    """

    first: str
    advice: str
    last: str = ""
    why: str = ""
    is_doubtful: bool = False


class Whose(Value):
    """Whose code it is, in words. `line`: of the output, which reports a failure that this code hides."""

    text: str
    line: str | None = None


class _Script:
    """What holds for a whole string."""

    def __init__(self, text: str, options: list[str]) -> None:
        self.commands = shell_strings.commands(text)
        each = shell_strings.every(self.commands)
        self.functions = {one.defines: one.inside for one in each if one.defines}
        self._entered: set[str] = set()  # functions, which may call themselves, and each other many times
        sets = [word for one in each if one.name == "set" for word in one.words[1:]]
        # -e, -eu, errexit: with it a failure in a list ends the string
        self.stops = "errexit" in sets or any(word[:1] == "-" and "e" in word[1:] for word in [*sets, *options])
        self.counts_stages = any("pipefail" in word for word in (text, *options)) or "PIPESTATUS" in text
        self.leaves = any(one.name in _LEAVING for one in each)

    def inside(self, command: Command) -> list[Command]:
        """Return the commands that a command stands for; of a function only the first time."""
        text = shell_strings.run_by(command.words)
        if text is not None:
            return shell_strings.commands(text)
        if command.inside or command.name in self._entered:
            return command.inside
        self._entered.add(command.name)
        return self.functions.get(command.name, [])


def masked(text: str, options: Sequence[str] = ()) -> Masked | None:
    """Return how a shell string hides a failure; None if it does not, or if that is not clear. `options`: of the shell."""
    script = _Script(text, list(options))
    joined = [one for one in script.commands if not one.defines]
    if not joined:
        return None
    last = joined[-1]
    background = next((one for one in joined if one.operator == "&"), None)
    if last.operator == "&":
        return Masked(_code(last), "Without `&` its own code is reported.", last=_SHELL)
    *others, pipeline = shell_strings.pipelines(joined)
    if len(pipeline) > 1:
        return _of_pipeline(script, pipeline, last=_code(last))
    if last.name in _SAYING and others:
        found = _said_last(script, others, last)
        if found is not None or others[-1][-1].operator != "&&":
            return found
    if last.words == ["wait"] and background is not None:
        return Masked(_code(background), "`wait PID` gives its code.", last="`wait`")
    found = _lost(script, [one for stages in last_list(joined) for one in stages], _MOST_DEPTH)
    if found is None and background is not None and not any(one.name == "wait" for one in joined):
        return Masked(_code(background), "", is_doubtful=True)
    return found


def _of_pipeline(script: _Script, stages: list[Command], *, last: str = "") -> Masked | None:
    first = stages[0]
    if script.counts_stages or _says(first) or first.is_negated:
        return None
    why = "" if last else f"{_code(stages[1], '| ')} hides its code"
    return Masked(_code(first), _PIPEFAIL, last=last, why=why, is_doubtful=all(map(_looks, stages[:-1])))


def _said_last(script: _Script, others: list[list[Command]], last: Command) -> Masked | None:
    """Return what a last command hides that only says something, or nothing."""
    before = others[-1]
    operator = before[-1].operator
    if operator == "||":
        chained = len(others) > 1 and others[-2][-1].operator in ("&&", "||")
        return _swallowed(script, None if chained or len(before) > 1 else before[0], last)
    if operator not in (";", "\n") or script.stops or script.leaves:
        return None
    if any("$?" in word for word in last.words):  # it tells the code itself, if it is that of the command
        hidden = _of_pipeline(script, before) if len(before) > 1 else None
        return hidden and hidden.changed(last=f"{_code(last)}, and `$?` that of {_code(before[-1])}")
    if all(_says(one) or _waits(one) for stages in others for one in stages):
        return None
    advice = f"With `&&` in place of `;` a failure ends it before {_code(last)}."
    looks = all(_looks(one) for stages in others for one in stages)
    first = _code(before[0]) if len(others) == len(before) == 1 else ""
    return Masked(first, advice, last=_code(last), is_doubtful=looks)


def _swallowed(script: _Script, first: Command | None, last: Command) -> Masked:
    """Return the form `FIRST || true`. `first`: None for any of several commands."""
    swallows = _code(last, "|| ")
    why = f"{swallows} hides its code"
    if script.stops and first is not None and first.name in script.functions:
        why += ", and in it `set -e` has no effect"
    return Masked("" if first is None else _code(first), f"Without {swallows} its own code is reported.", why=why)


def _lost(script: _Script, joined: list[Command], depth: int) -> Masked | None:
    """Return the first command among these, and those inside them, whose code is lost."""
    each = shell_strings.pipelines(joined) if depth else []
    for at, those in enumerate(each):
        found = _of_pipeline(script, those) if len(those) > 1 else None
        following = each[at + 1][0] if at + 1 < len(each) else None
        if found is None and those[-1].operator == "||" and following is not None and following.name in _SAYING:
            found = _swallowed(script, None if len(those) > 1 else those[0], following)
        for one in those if found is None and len(those) == 1 else ():
            inside = one.substituted if one.is_setting else script.inside(one)
            found = _lost(script, inside, depth - 1) or _lost_rounds(script, one)
            if found is None and one.substituted and not one.is_setting:
                found = Masked(_code(one.substituted[0]), _ASSIGNED, is_doubtful=True)
        if found is not None:
            return found
    return None


def _lost_rounds(script: _Script, loop: Command) -> Masked | None:
    """Return that a loop ends with the code of its last round; None where its form says that a failure ends it, or where
    its rounds have no code of interest."""
    if loop.kind != "for" or script.stops or loop.is_negated:
        return None
    each = shell_strings.every(loop.inside)
    if any(one.operator == "||" or one.name in _LEAVING or one.name == "break" or one.is_setting for one in each):
        return None
    if all(_says(one) or _waits(one) for one in each):
        return None
    advice = "`|| exit 1` in the loop ends it at a failure."
    return Masked("the rounds of its loop but the last", advice, is_doubtful=all(map(_looks, each)))


def _says(command: Command) -> bool:
    """Return whether the code of a command says nothing: it prints a text, or sets variables."""
    return command.name in _SAYING or (command.is_setting and not command.substituted)


def _looks(command: Command) -> bool:
    """Return whether a command changes nothing and says what fails."""
    return command.name in _LOOKING or _says(command) or _waits(command)


def _waits(command: Command) -> bool:
    """Return whether a command only waits: `sleep`, or a loop that tests and sleeps."""
    inside = command.inside if command.kind in ("until", "while") else []
    waits = all(_says(one) or one.name in _TESTING or _waits(one) for one in inside)
    return command.name in _WAITING or (bool(inside) and waits)


def _code(command: Command, before: str = "") -> str:
    named = command.substituted[0] if command.is_setting and command.substituted else command
    return f"`{before}{named.name}`"


def hint(caller: Principal, inspection: Inspection, output: Output) -> Whose | None:
    """Return whose code the job ended with, if it is not that of all of its commands, or what signal it stands for; None
    otherwise."""
    definition, code = inspection.definition, inspection.state.exit_code
    if definition.shell is None or code is None:
        return None
    codes = programs.stage_codes(inspection, output.job)
    told = None if codes is None else _of_stages(programs.stages_of(definition), codes, code)
    if told is None and code > SIGNALLED and signals.is_valid(code - SIGNALLED):
        name = signals.name_of(code - SIGNALLED)
        closed = ": what read its output closed early, as head does" if name == "SIGPIPE" else ""
        text = f"{code} is what a shell returns when {name} ended its last command (128 + {code - SIGNALLED}){closed}."
        return Whose(text)
    if codes is not None or not shell_strings.is_shell(definition.shell[0]):
        return None if told is None else Whose(told)
    how = masked(definition.command[0], definition.shell[1:])
    if how is None or (code and not (how.last and how.advice is _PIPEFAIL)):
        return None
    line = None if code else _reported(caller, output)
    line = None if line is not None and _prints(definition.command[0], line) else line
    said = _worded(how, code, line)
    return None if said is None else Whose(said, line)


def _prints(text: str, line: str) -> bool:
    """Return whether a string itself prints this line: no program that may have failed does."""
    printing = (one.words for one in shell_strings.every(shell_strings.commands(text)) if one.name in _SAYING)
    return any(line in " ".join(words) for words in printing)


def _worded(how: Masked, code: int, line: str | None) -> str | None:
    """Return the sentence. `line`: of the output, which reports a failure."""
    if line is not None:
        first = how.first or "a command before it"
        start = f"is that of {how.last}; {first}" if how.last else f"says nothing of {first}, which"
        return f'Exit code {code} {start} may have failed: the output has "{line}". {how.advice}'.rstrip()
    if how.is_doubtful:
        return None
    first = how.first or "the commands before it"
    if not how.last:
        return f"Exit code {code} says nothing of {first}{f': {how.why}' if how.why else ''}."
    return f"Exit code {code} is that of {how.last}, {'which did not wait for' if how.last == _SHELL else 'not of'} {first}."


def _of_stages(names: list[str], codes: list[int], code: int) -> str | None:
    """Return whose code a pipeline ended with and what the other stages came to; None if all is well."""
    owner = max(place for place, one in enumerate(codes) if one == code)
    others = [place for place, one in enumerate(codes) if place != owner and (code or one not in (0, _PIPE_CLOSED))]
    if not others:
        return None
    if len(set(names)) < len(names):
        return f"Exit code {code} is that of stage {owner + 1}; the stages exited {', '.join(map(str, codes))}."
    rest = ", ".join(f"`{names[place]}` exited {codes[place]}" for place in others)
    return f"Exit code {code} is that of `{names[owner]}`; {rest}."


def _reported(caller: Principal, output: Output) -> str | None:
    end = output.read(max(0, output.end - _SEARCHED_BYTES), output.end)
    if not _SIGNS.search(end):
        return None
    return telling.telling(output, caller.config)
