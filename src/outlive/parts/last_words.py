"""The last words of the command that a job's exit code is that of: a line of another program is no cause of its failure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from outlive.core import shell_strings
from outlive.core.record import Value
from outlive.core.records import Definition
from outlive.core.shell_strings import Command
from outlive.store.output.merged import STDERR, Output

_LAST_BYTES = 600
_MERGED = re.compile(r"2>&1|&>|>&\s|\|&")  # errors may be in stdout
# What programs say wherever there is no terminal, and go on: (who, what)
_NOISE = re.compile(
    r"(?:\S*/)?(?P<who>mesg|stty|tty|tput|tset|reset|clear): |(?P<bare>not a tty$)"
    r"|(?:\S*/)?-?(?:ba|z|k|mk|da|a)?sh: (?:line \d+: )?(?:cannot set terminal process group|no job control in this shell)"
    r"|(?:stdin|standard input)(?: is|:) not a t(?:ty|erminal)$|TERM environment variable not set\.$"
)
# The program, or as OpenSSL has it (openssl-errors(7)) the thread, that an error is from
_PREFIX = re.compile(r"(?:\S*/)?([\w.+-]+):(?: |error:)")
# Programs that put their name before each of their errors, or say nothing on stderr
_NAMED = frozenset(
    "cd pushd popd export set unset source . trap umask ulimit read test [ [[ true false : = echo printf sleep wait kill "
    "mkdir rmdir rm cp mv ln touch chmod chown ls cat head tail grep sed awk sort cut tr wc tee date pwd which command "
    "type hash alias shopt declare local id uname hostname seq basename dirname env printenv find curl wget tar stty tty "
    "mesg tput clear reset tset".split()
)
# Programs that ask nothing and want no terminal: they failed for another reason
_ASK_NOTHING = frozenset(
    "false true : test [ [[ ls cat head tail grep egrep fgrep rg sed awk sort cut tr wc cmp diff find curl wget kill pgrep "
    "pkill wait sleep cd mkdir cp mv touch pytest".split()
)
_REPORTS = re.compile(
    r"error|failed\b|failure\b|\bfatal|exception|\bpanic|not found|no such|denied|refused|cannot|could not|unable to|invalid",
    re.IGNORECASE,
)
# What stands behind the cause of a failure: the place in the code, and programs that say that what they ran has failed
_WRAPPED = re.compile(
    r"\s|$|(?:g?make|ninja)(?:\[\d+\])?: |npm (?:err|warn)|error Command failed|.*\bELIFECYCLE\b|Node\.js v|error: script "
    r"|.*\b(?:exit(?:ed)?|exit code|code|status)\b.* \d+\.?$|See |Try |[Uu]sage: ",
    re.IGNORECASE,
)


class LastWords(Value):
    text: str  # the end of the output, without lines of programs that did not fail
    errors: str  # what of it is an error of one that may have failed
    may_ask: bool  # whether one of those could want a person


def of(definition: Definition, output: Output) -> LastWords:
    """Return the end of what the command printed that failed."""
    command = " ".join(definition.command)
    programs = of_command(definition)
    raw = _end(output.read(max(0, output.end - _LAST_BYTES), output.end))
    size = output.sizes[STDERR]
    errors = raw if _MERGED.search(command) else _end(output.read_stream(STDERR, max(0, size - _LAST_BYTES), size))
    text = kept(raw, programs)
    begun, newline, unfinished = text.rpartition("\n")
    printed = not programs.others.isdisjoint(("echo", "printf")) and unfinished.strip() in command
    if printed and "read" not in programs.deciding:
        text = begun + newline
    return LastWords(text, kept(errors, programs, sure=True), not programs.deciding <= _ASK_NOTHING)


def of_command(definition: Definition) -> Programs:
    return programs_of(definition.command, definition.shell)


def kept(text: str, programs: Programs, *, sure: bool = False) -> str:
    """Return the text without the lines of programs that did not fail, and without what is said wherever there is no
    terminal. `sure`: also without those that such a program may have printed."""
    doubtful = sure and not programs.others <= _NAMED
    return "\n".join(line for line in text.split("\n") if not _is_of_others(line.strip(), programs, doubtful))


def _is_of_others(line: str, programs: Programs, doubtful: bool) -> bool:
    noise = _NOISE.match(line)
    if noise is not None:
        who = noise["who"] or ("tty" if noise["bare"] else None)
        return who is None or programs.deciding != {who}
    prefix = _PREFIX.match(line)
    if prefix is not None and prefix[1] in programs.deciding:
        return False
    return doubtful or (prefix is not None and prefix[1] in programs.others)


def _end(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def last(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a line shows this, and none behind it reports another failure."""
    lines = text.splitlines()
    for at in range(len(lines) - 1, -1, -1):
        if pattern.search(lines[at]):
            return not _reports(lines[at + 1 :], lines[at])
    return False


def _reports(behind: Iterable[str], line: str) -> bool:
    its = _PREFIX.match(line)
    for one in behind:
        prefix = _PREFIX.match(one)
        is_its = its is not None and prefix is not None and its[1] == prefix[1]
        if not is_its and not _WRAPPED.match(one) and _REPORTS.search(one):
            return True
    return False


def reports(text: str) -> bool:
    """Return whether a line reports a failure."""
    return "fail" in text.lower() or _REPORTS.search(text) is not None


# --- which programs of a command gave its exit code ---


_ENDING = frozenset({"exit", "exec", "return"})  # behind these any command may be the reason
_MOST_DEPTH = 5  # of `bash -c` in `bash -c`


class Programs(Value):
    """The names of the commands of a string, without their directories."""

    deciding: frozenset[str]  # one of them gave the code
    others: frozenset[str]  # their code is not that of the string


def last_list(joined: list[Command]) -> list[list[Command]]:
    """Return the pipelines of the last list, which && and || join."""
    each = shell_strings.pipelines(joined)
    start = next((at for at in range(len(each) - 1, 0, -1) if each[at - 1][-1].operator not in ("&&", "||")), 0)
    return each[start:]


def programs_of(words: list[str], shell: list[str] | None = None, depth: int = _MOST_DEPTH) -> Programs:
    """Return which programs of a command gave its exit code. Of what cannot be read any of its words may have."""
    text = shell_strings.run_by(words, shell)
    if text is None:
        return Programs(frozenset(map(_base, words[:1])), frozenset())
    joined = [one for one in shell_strings.commands(text) if not one.defines]
    if not joined:
        return Programs(frozenset([text]), frozenset())
    if len(joined) == 1 and depth and shell_strings.run_by(joined[0].words) is not None:
        return programs_of(joined[0].words, depth=depth - 1)
    each = shell_strings.every(joined)
    every = _names(each)
    if any(one.name in _ENDING or one.name == "set" for one in each) or "pipefail" in text:
        return Programs(every, frozenset())
    deciding = _names(shell_strings.every([stages[-1] for stages in last_list(joined)]))
    return Programs(deciding, every - deciding)


def _names(commands: list[Command]) -> frozenset[str]:
    return frozenset(_base(one.name) for one in commands if not one.kind and not one.is_setting)


def _base(name: str) -> str:
    return name.rpartition("/")[2] or name
