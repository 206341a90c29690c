"""Whether a command failed because of Windows line ends, in the command or in a file that it runs.

A shell, the kernel and env take the CR for a part of the last word of the line.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator

from outlive.core.quoted import quoted
from outlive.core.records import Definition
from outlive.jobs.diagnosis import person
from outlive.jobs.pipelines import form

_COMMAND = (
    "The command has Windows line ends (CR LF), and a shell takes the CR for a part of the word: send it with LF alone."
)
_TAKEN = "has Windows line ends (CR LF), and the CR is taken for a part of the last word of a line"
# An error whose subject ends with a CR, as bash, env and others show it, or as it is
_SHOWN = re.compile(
    r"(?:\\r['’]|\^M|\r['’]?(?=[:'’])).*(?:not found|[Nn]o such|bad interpreter|unexpected|[Ii]nvalid|[Ii]llegal|numeric|ambiguous|[Cc]annot|can't)"
    r"|(?:unexpected|not found|[Nn]o such|[Ii]nvalid|[Ii]llegal).*(?:\\r['’]|\^M)"
)
_READ_BYTES = 65_536
_MOST_FILES = 20


def hint(definition: Definition, said: str) -> str | None:
    """Return the sentence about a command that failed; None if no CR seems to be the reason. `said`: the end of its
    output."""
    if definition.shell is not None and ("\r\n" in definition.command[0] or definition.command[0].endswith("\r")):
        return _COMMAND
    path = _file(definition)
    if path is not None:
        return f"{quoted(path)} {_TAKEN}: `sed -i 's/\\r$//' {shlex.quote(path)}` removes it."
    if _SHOWN.search(said):
        return f"A file that it runs or reads {_TAKEN}: `sed -i 's/\\r$//' FILE` removes it."
    return None


def _file(definition: Definition) -> str | None:
    """Return the first file that the command runs and that has such line ends."""
    if definition.host is not None or definition.sandbox is not None:  # whether it is there outside is not for the job
        return None
    for count, (name, is_script) in enumerate(_files(definition)):
        if count >= _MOST_FILES:
            break
        data = _beginning(os.path.join(definition.cwd, name))
        first = data.partition(b"\n")[0]
        runs = first.startswith(b"#!")
        if (runs and first.endswith(b"\r")) or (b"\r\n" in data and (is_script or (runs and _is_shell(first)))):
            return name
    return None


def _files(definition: Definition) -> Iterator[tuple[str, bool]]:
    """Yield the files that the command names as programs, and as scripts of a shell (True)."""
    if definition.shell is not None:
        each = form.simple_commands(definition.command[0])
    else:
        text = form.given_to_shell(definition.command)
        each = [definition.command] if text is None else form.simple_commands(text)
    for words in each:
        rest = list(words)
        while len(rest) > 1 and (
            rest[0].rpartition("/")[2] in _STARTERS or rest[0][:1] in "-0123456789" or "=" in rest[0]
        ):
            rest = rest[1:]
        program = rest[0]
        if form.is_shell(program) or program in (".", "source"):
            script = next((word for word in rest[1:] if word[:1] not in "-+"), None)
            if script is not None:
                yield script, True
        elif "/" in program:
            yield program, False


_STARTERS = frozenset(name for name in person.STARTERS if not form.is_shell(name)) | {
    "setsid",
    "exec",
    "command",
    "time",
}


def _is_shell(shebang: bytes) -> bool:
    return any(form.is_shell(word) for word in shebang[2:].decode("utf-8", "replace").split())


def _beginning(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.pread(fd, _READ_BYTES, 0) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
        finally:
            os.close(fd)
    except OSError:
        return b""
