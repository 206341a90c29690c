"""Say why a job failed: it met the end of its input, wanted a terminal that it had not, or its sandbox kept something from
it."""

from __future__ import annotations

import re

from outlive.core.records import Definition
from outlive.jobs.starting import boundary
from outlive.parts import last_words
from outlive.parts.failures import person
from outlive.parts.failures.causes import line_ends, look_alikes, silent_end
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output

_CHOICE = re.compile(r"[\[(]\s*y(?:es)?\s*/\s*n(?:o)?\b[^\n]*\Z", re.IGNORECASE)
_QUESTION = re.compile(r"\S[^\n]*(?:[?:>]|:[ \t]*\([^()\n]*\))[ \t]*\Z")  # an unfinished line, also with its default
_END_OF_INPUT = re.compile(
    r"EOF when reading a line|end of file (?:on|from) (?:stdin|standard input)|:while reading strings\b"
    r"|\bpassphrase[^\n]*: [^\n]*\bincorrect passphrase",
    re.IGNORECASE,
)
_GETPASS = re.compile(r"GetPassWarning|\bgetpass\.py\b")  # the warning is too far above the end of a long traceback
_NO_TERMINAL = re.compile(
    r"(?<!because stdin is )not a (?:tty|terminal)|non[- ]?tty|authentication token manipulation error|\bsu: authentication failure|not (?:from|to) a terminal|a terminal is required|no tty present|requires? a (?:tty|terminal)"
    r"|/dev/tty\b|failed tty get|error opening terminal|(?<!System Error: )inappropriate ioctl|TERM environment variable not set",
    re.IGNORECASE,
)  # CMake says "System Error: Inappropriate ioctl" of whatever failed


def sentence(stdin: str, last: str, command: str = "", errors: str | None = None) -> str | None:
    """Return why a job without a terminal failed, if `last`, the end of its output, shows that it
    met the end of its input, or `errors` (else `last`) that it wanted a terminal; else None."""
    if _GETPASS.search(last):
        return (
            "It asked for a password (Python's getpass, GetPassWarning), and has no terminal: run it again with pty, "
            "or with the password as a line of stdin_data."
        )
    line = last.rpartition("\n")[2] or last.rstrip().rpartition("\n")[2]
    asked = _CHOICE.search(line) or _QUESTION.search(last)
    if asked or last_words.last(_END_OF_INPUT, last):
        what = "It asked a question and met the end of its input" if asked else "It met the end of its input"
        why = "its stdin is closed" if stdin == "closed" else "stdin_data ends there"
        way = person.way_of_command(command)
        if way:
            return f"{what}: {why}. Run it again with pty and submit, or {way}."
        return (
            f"{what}: {why}. Run it again with the option that answers for you (such as -y), with stdin_data, "
            "or with pty and submit."
        )
    if last_words.last(_NO_TERMINAL, last if errors is None else errors):
        way = person.way_of_command(command)
        return f"It seems to want a terminal, and has none: {f'{way}, or ' if way else ''}run it again with pty."
    return None


def of_command(definition: Definition, said: str = "") -> str | None:
    """Return what is wrong with the characters of a command that failed or could not be started, or of a file that it
    runs; None if nothing is. `said`: the end of its output."""
    return look_alikes.hint(definition) or line_ends.hint(definition, said)


def hint(inspection: Inspection, output: Output) -> str | None:
    """Return the sentence about a job that has failed; None if its output does not show why."""
    definition = inspection.definition
    words = last_words.of(definition, output)
    wrong = of_command(definition, words.text)
    if wrong is not None:
        return wrong
    if definition.sandbox is not None:
        said = boundary.of_part().cause(inspection, output)
        if said:
            return said
    if definition.pty or definition.stdin not in ("closed", "data"):
        return None
    if not words.may_ask:
        return None
    return sentence(definition.stdin, words.text, " ".join(definition.command), words.errors)


def silent(inspection: Inspection, output: Output) -> str | None:
    """Return what is known of a job that failed without a word."""
    definition, code = inspection.definition, inspection.state.exit_code or 0
    words = last_words.of(definition, output)
    return silent_end.of_timeout(definition, code) or silent_end.of_set_e(definition, words.text, words.errors)
