"""Whether a command failed because of Windows line ends, in the command or in a file that it runs.

A shell, the kernel and env take the CR for a part of the last word of the line.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import islice

from outlive.core import shell_strings
from outlive.core.quoted import quoted
from outlive.core.records import Definition
from outlive.jobs.programs import without_starters
from outlive.system import fds

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
    for name, data in scripts(definition):
        first = data.partition(b"\n")[0]
        runs = first.startswith(b"#!")
        if first.endswith(b"\r") if runs and not _is_shell(first) else b"\r\n" in data:
            return name
    return None


def scripts(definition: Definition) -> Iterator[tuple[str, bytes]]:
    """Yield the files that the command names as scripts of a shell, or as programs that begin with #!, and the beginning
    of each."""
    if definition.host is not None or definition.sandbox is not None:  # whether it is there outside is not for the job
        return
    for name, is_script in islice(_files(definition), _MOST_FILES):
        data = _beginning(os.path.join(definition.cwd, name))
        if data and (is_script or data.startswith(b"#!")):
            yield name, data


def _files(definition: Definition) -> Iterator[tuple[str, bool]]:
    """Yield the files that the command names as programs, and as scripts of a shell (True)."""
    text = shell_strings.run_by(definition.command, definition.shell)
    each = (
        [definition.command]
        if text is None
        else [one.words for one in shell_strings.every(shell_strings.commands(text)) if not one.kind]
    )
    each = [words for words in each if words]  # a definition that was damaged has none
    for words in each:
        rest = without_starters(words)
        program = rest[0]
        if shell_strings.is_shell(program) or program in (".", "source"):
            script = next((word for word in rest[1:] if word[:1] not in "-+"), None)
            if script is not None:
                yield script, True
        elif "/" in program:
            yield program, False


def _is_shell(shebang: bytes) -> bool:
    return any(shell_strings.is_shell(word) for word in shebang[2:].decode("utf-8", "replace").split())


def _beginning(path: str) -> bytes:
    try:
        with fds.Closing(fds.open_regular(path)) as fd:
            return os.pread(fd, _READ_BYTES, 0)
    except OSError:
        return b""
