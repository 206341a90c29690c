"""Whose exit code a command ended with, where its form makes a failure invisible: `make test | tail` ends with the code of
tail.

Bash knows the code of each stage of a pipeline (PIPESTATUS), but tells it only to a shell that goes on behind the command:
the command would see another shell, traps or line numbers. So the code is explained, and never changed.
"""

from __future__ import annotations

from outlive.system import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.context import Context
    from outlive.store.inspection.inspect import Inspection
    from outlive.store.output.merged import Output

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
_LISTS = frozenset({";", "\n", "&&", "||"})
# Last commands that say or hide something: a caller does not want their code
_SAYING = frozenset({"echo", "printf", "true", ":"})


class Masked:
    """A command whose exit code is that of `last`, whatever became of `first`; "": of any command before it."""

    __slots__ = ("advice", "first", "last")

    def __init__(self, first: str, last: str, advice: str) -> None:
        self.first, self.last, self.advice = first, last, advice


def masked(text: str) -> Masked | None:
    """Return how a shell string hides a failure; None if it does not, or if that is not clear: only simple commands joined
    by operators are."""
    commands = _commands(text)
    if commands is None or len(commands) < 2:
        return None
    (*_, (before, operator), (last, _)) = commands
    if operator == "|":
        if any(words[:1] == ["set"] and "pipefail" in words for words, _ in commands):
            return None
        stages = 1
        while stages < len(commands) and commands[-1 - stages][1] == "|":
            stages += 1
        return Masked(commands[-stages][0][0], last[0], "`set -o pipefail` makes each stage count.")
    if operator == "||" and last[0] in _SAYING:
        return Masked(before[0], last[0], f"Without `|| {last[0]}` its own code is told.")
    if operator in (";", "\n") and last[0] in _SAYING:
        first = before[0] if len(commands) == 2 else ""  # of several it may be any
        return Masked(first, last[0], f"With `&&` in place of `;` a failure ends it before `{last[0]}`.")
    return None


def _commands(text: str) -> list[tuple[list[str], str]] | None:
    """Return the words of each command with the operator behind it; None for a string that has more than that."""
    import shlex  # late: it imports `re`, and most strings are one command

    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace = " \t\r"
    commands: list[tuple[list[str], str]] = []
    words: list[str] = []
    try:
        for token in lexer:
            if token in _LISTS or token in ("|", "|&"):
                if words:
                    commands.append((words, "|" if token == "|&" else token))
                words = []
            elif token in ("&", "<<", "<<<") or (token and (token[0] in "`$" or set(token) <= set("();"))):
                return None
            else:
                words.append(token)
    except ValueError:  # an open quote
        return None
    return [*commands, (words, "")] if words else commands


def hint(ctx: Context, inspection: Inspection, output: Output) -> str | None:
    """Return whose code the job ended with, if its output reports a failure that the code does not, or if the code is
    that of a signal; None otherwise."""
    definition, code = inspection.definition, inspection.state.exit_code
    if definition.shell is None or code is None:
        return None
    if code > _SIGNALLED and signals.is_valid(code - _SIGNALLED):
        name = signals.name_of(code - _SIGNALLED)
        closed = ": what read its output closed early, as head does" if name == "SIGPIPE" else ""
        return f"{code} is what a shell returns when {name} ended its last command (128 + {code - _SIGNALLED}){closed}."
    text = definition.command[0]
    how = None if code else masked(text)
    end = output.read(max(0, output.end - _SEARCHED_BYTES), output.end) if how else b""
    if how is None or not any(sign in end for sign in _SIGNS):
        return None
    from outlive.render.failures import telling

    line = telling.reported(output, ctx.config.get("output", "problem_matcher") or ())
    if line is None:
        return None
    failed = f"`{how.first}`" if how.first else "a command before it"
    return f'Exit code 0 is that of `{how.last}`; {failed} may have failed: the output has "{line}". {how.advice}'
