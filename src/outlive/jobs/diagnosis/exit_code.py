"""Whose exit code a command ended with, where its form hides the others: `make test | tail` ends with the code of tail.

Facts where bash wrote down the codes of all stages (jobs/pipelines/stages.py). Else the form says whose code it is, and a line of the output
that reports a failure is shown beside it. The code itself is never changed.
"""

from __future__ import annotations

from outlive.jobs.context import Context
from outlive.jobs.pipelines import form, stages
from outlive.render.failures import telling
from outlive.store.inspection.inspect import Inspection
from outlive.store.output.merged import Output
from outlive.system import signals

MAY_HAVE_FAILED = "may have failed"
_SEARCHED_BYTES = 65_536
# Without one of these no line reports a failure: most pipelines are answered without loading RE2
_SIGNS = (
    b"rror",
    b"RROR",
    b"ail",
    b"AIL",
    b"xception",
    b"atal",
    b"FATAL",
    b"anic",
    b"not ok",
    b"not found",
    b"No such",
    b"enied",
    b"ould not",
    b"Couldn't",
    b"refused",
    b"imed out",
)
_SIGNALLED = 128
_PIPE_CLOSED = 141  # of a stage that wrote more than the next wanted to read
# Last commands that say or hide something: a caller does not want their code
_SAYING = frozenset({"echo", "printf", "true", ":"})
_PIPEFAIL = "`set -o pipefail` (bash) makes each stage count."


class Masked:
    """A command whose exit code is that of `last`, whatever became of `first`; "": of any command before it."""

    __slots__ = ("advice", "first", "last")

    def __init__(self, first: str, last: str, advice: str) -> None:
        self.first, self.last, self.advice = first, last, advice


def masked(text: str) -> Masked | None:
    """Return how a shell string hides a failure; None if it does not, or if that is not clear: only simple commands joined
    by operators are."""
    commands = form.commands(text)
    if not commands:
        return None
    words, operator = commands[-1]
    if operator == "&":
        return Masked(words[0], "the shell", "Without `&` its own code is reported.")
    pipeline = form.pipelines(commands)[-1]
    if len(pipeline) > 1:
        if any(one.words[:1] == ["set"] and "pipefail" in one.words for one in commands) or pipeline[0][0] in _SAYING:
            return None
        return Masked(pipeline[0][0], words[0], _PIPEFAIL)
    if len(commands) < 2 or words[0] not in _SAYING or all(one.words[0] in _SAYING for one in commands):
        return None
    if any("$?" in word for word in words):  # it tells the code itself
        return None
    before, operator = commands[-2]
    if operator == "||":
        chained = len(commands) > 2 and commands[-3].operator in ("&&", "||", "|")
        return Masked("" if chained else before[0], words[0], f"Without `|| {words[0]}` its own code is reported.")
    if operator in (";", "\n"):
        first = before[0] if len(commands) == 2 else ""  # of several it may be any
        return Masked(first, words[0], f"With `&&` in place of `;` a failure ends it before `{words[0]}`.")
    return None


def hint(ctx: Context, inspection: Inspection, output: Output) -> str | None:
    """Return whose code the job ended with, if it is not that of all of its commands, or what signal it stands for; None
    otherwise."""
    definition, code = inspection.definition, inspection.state.exit_code
    if definition.shell is None or code is None:
        return None
    codes = stages.codes(inspection, output.job)
    told = None if codes is None else _of_stages(stages.of(definition), codes, code)
    if told is None and code > _SIGNALLED and signals.is_valid(code - _SIGNALLED):
        name = signals.name_of(code - _SIGNALLED)
        closed = ": what read its output closed early, as head does" if name == "SIGPIPE" else ""
        return f"{code} is what a shell returns when {name} ended its last command (128 + {code - _SIGNALLED}){closed}."
    if codes is not None:
        return told
    how = masked(definition.command[0])
    if how is None or (code and how.advice is not _PIPEFAIL):
        return None
    line = None if code else _reported(ctx, output)
    last = how.last if how.last == "the shell" else f"`{how.last}`"
    first = f"`{how.first}`" if how.first else "a command before it"
    if line is not None:
        return f'Exit code 0 is that of {last}; {first} {MAY_HAVE_FAILED}: the output has "{line}". {how.advice}'
    if last == how.last:
        return f"Exit code {code} is that of the shell, which did not wait for {first}."
    return f"Exit code {code} is that of {last}, not of {first if how.first else 'the commands before it'}."


def _of_stages(pipeline: list[list[str]], codes: list[int], code: int) -> str | None:
    """Return whose code a pipeline ended with and what the other stages came to; None if all is well."""
    owner = max(place for place, one in enumerate(codes) if one == code)
    others = [place for place, one in enumerate(codes) if place != owner and (code or one not in (0, _PIPE_CLOSED))]
    if not others:
        return None
    names = [words[0] for words in pipeline]
    if len(set(names)) < len(names):
        return f"Exit code {code} is that of stage {owner + 1}; the stages exited {', '.join(map(str, codes))}."
    rest = ", ".join(f"`{names[place]}` exited {codes[place]}" for place in others)
    return f"Exit code {code} is that of `{names[owner]}`; {rest}."


def _reported(ctx: Context, output: Output) -> str | None:
    """Return the line of the output that reports a failure, if there is one."""
    end = output.read(max(0, output.end - _SEARCHED_BYTES), output.end)
    if not any(sign in end for sign in _SIGNS):
        return None
    return telling.reported(output, ctx.config.get("output", "problem_matcher") or ())
