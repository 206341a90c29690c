"""What a person has to know to approve a job: everything that decides what runs, one fact a line.

Every way of asking shows these facts: the form of a client, `outlive approve`, `attach`, `list` and
the page. A value holds no line break, no invisible character and nothing that reorders text, so it
cannot forge another fact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from outlive import parts
from outlive.core import quoted
from outlive.core.record import Value
from outlive.core.records import Definition, Notification
from outlive.parts.approvals import question_record
from outlive.parts.approvals.question_record import Approval

FORM_CHARS = 4_000  # of what a form of a client asks about; more is approved at a terminal
_MASKED = "(masked: its value is shown nowhere)"
_LISTED = 3  # entries of a list in the sandbox; of more, which the configuration holds, their number is shown
# Variables of env files whose values decide what runs. Other values of these files are stored nowhere
_DECIDING = (
    "LD_* DYLD_* GCONV_PATH LOCPATH NLSPATH PATH CDPATH HOME SHELL IFS ENV BASH* SHELLOPTS PS4 PROMPT_COMMAND ZDOTDIR "
    "GIT_* SSH_ASKPASS* SUDO_* EDITOR VISUAL BROWSER *PAGER LESS* PYTHON* NODE_* NPM_CONFIG_* npm_config_* PERL* RUBY* "
    "GEM_* BUNDLE_* LUA_* JAVA_* JDK_* _JAVA_* CLASSPATH MAKEFLAGS MAKEFILES CC CXX CARGO* RUST* GO* PIP_* OPENSSL_* "
    "DOCKER_* XDG_* TMPDIR *_PROXY *_proxy OUTLIVE_*"
).split()
_INPUTS = {
    "open": "open: its caller can write to it while it runs",
    "caller": "what its caller pipes into it, which is not known here",
}


class Fact(Value):
    label: str
    value: str


def decides(name: str) -> bool:
    """Return whether the value of a variable with this name may decide what runs."""
    return any(fnmatchcase(name, pattern) for pattern in _DECIDING)


def of(definition: Definition) -> list[Fact]:
    """Return what a person is shown of a job that waits for approval."""
    return [Fact(*pair) for pair in _pairs(definition)]


def shown(definition: Definition) -> list[dict[str, object]]:
    return [fact.to_dict() for fact in of(definition)]


def text(definition: Definition) -> str:
    return "\n".join(f"{fact.label}: {fact.value}" for fact in of(definition))


def fits_a_form(definition: Definition) -> bool:
    """Return whether a form can show all: the facts are short, and command and input are whole in
    them."""
    given = question_record.of(definition).input
    is_whole = definition.script is None and (given is None or given.text is not None)
    return is_whole and len(text(definition)) <= FORM_CHARS


def _pairs(definition: Definition) -> Iterator[tuple[str, str]]:
    about = question_record.of(definition)
    yield from _command(definition)
    of_rule = about.command
    if of_rule and of_rule != definition.command and " ".join(of_rule) not in " ".join(definition.command):
        yield "Asked about", quoted.words(of_rule)
    for why in about.unheld or ():
        yield "What it runs is not held", quoted.quoted(why)
    yield "Directory", quoted.quoted(definition.cwd)
    yield "Host", quoted.quoted(definition.host or "this machine")
    yield from _sandbox(definition)
    yield from _variables(definition, about)
    yield from _input(definition, about)
    yield from _sinks(definition.notification)
    for one in parts.of_job(definition).values():
        yield from one.facts()
    limit = f"{definition.timeout_ms / 1000:g} s" if definition.timeout_ms else "none"
    yield "Time limit", limit
    yield "Asked for", quoted.quoted(definition.owner)
    because = f": {quoted.quoted(about.reason)}" if about.reason else ""
    yield "Asked by", f"{quoted.quoted(str(about.rule))}{because}"


def _command(definition: Definition) -> Iterator[tuple[str, str]]:
    if definition.shell is None:
        yield "Command", quoted.words(definition.command)
    else:
        yield from _lines("Command", definition.command[0])
        if definition.script is not None:
            yield "Command", f"{definition.script.bytes:,} bytes, SHA-256 {definition.script.sha256}"
            yield "Command", "only its beginning is shown here: read script in the directory of the job"
        yield "Read by", quoted.words(definition.shell)
    if definition.pty:
        yield "Terminal", "yes"
    if definition.systemd_scope:
        yield "Systemd scope", "yes"


def _lines(label: str, script: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a script as a fact of its own, because a script is read line by line."""
    lines = script.split("\n")
    for number, line in enumerate(lines, 1):
        yield label if len(lines) == 1 else f"{label}, line {number} of {len(lines)}", quoted.quoted(line)


def _sandbox(definition: Definition) -> Iterator[tuple[str, str]]:
    """Yield all of the sandbox, whatever members it has."""
    asked = "; the call asks to leave it (elevated)" if definition.elevated else ""
    sandbox = definition.sandbox
    yield "Sandbox", (quoted.quoted(sandbox.mode) if sandbox else "none") + asked
    for name, value in ({} if sandbox is None else sandbox.to_dict()).items():
        if name == "mode" or value in (None, "", [], {}):
            continue
        shown_value = quoted.quoted(str(value))
        if isinstance(value, list | dict):
            texts = [value_ if isinstance(value_, str) else repr(value_) for value_ in value]
            shown_value = quoted.words(texts) if len(texts) <= _LISTED else f"{len(texts)} entries"
        yield f"Sandbox {name}", shown_value


def _variables(definition: Definition, about: Approval) -> Iterator[tuple[str, str]]:
    for name, value in definition.env.items():
        yield "Variable", quoted.word(f"{name}={value}")
    for name in definition.masked_env:
        yield "Variable", f"{name}={_MASKED}"
    if definition.env_files:
        yield "Variables of", quoted.words(definition.env_files)
    for name, known in (about.file_env or {}).items():
        if name not in definition.env and name not in definition.masked_env:
            yield "Variable of a file", name if known is None else quoted.word(f"{name}={known}")


def _input(definition: Definition, about: Approval) -> Iterator[tuple[str, str]]:
    given = about.input
    if definition.stdin == "file":
        yield "Input", f"the file {quoted.quoted(definition.stdin_path or '')}"
    elif definition.stdin in _INPUTS:
        yield "Input", _INPUTS[definition.stdin]
    elif given is None:
        yield "Input", "none"
    if given is not None:
        yield "Input data", f"{given.bytes:,} bytes, SHA-256 {given.sha256}"
        if given.text is None:
            yield "Input data", "too long to be shown here: read stdin.data in the directory of the job"
        else:
            yield from _lines("Input data", given.text)


def _sinks(notification: Notification) -> Iterator[tuple[str, str]]:
    if notification.notify_command:
        yield from _lines("At its end runs", notification.notify_command)
    if notification.notify_file:
        yield "At its end writes to", quoted.quoted(notification.notify_file)
    for watch in notification.every_watch:
        if watch.command or watch.file:
            yield "At lines with", quoted.quoted(watch.pattern)
        if watch.command:
            yield from _lines("  runs", watch.command)
        if watch.file:
            yield "  writes to", quoted.quoted(watch.file)
