"""Shell strings that are longer than a word of execve(2) may be.

Such a script reaches its shell as a file of its own, an fd that it closes before the first command.
The word in the place of the string has it read and evaluate that: `$0`, `$-`, the numbers of lines
and stdin are then as with `-c`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlive.core.ids import sha256_of
from outlive.system import fds, spawn

# A start file of the shell may have closed the fd, or opened another file in its place. So the script
# has an end of its own; without that nothing runs, and the exit code is not that of an empty script
_LOST = f"echo 'outlive: fd {fds.SCRIPT}, which had the script, was closed or replaced by a start file of the shell' >&2; exit 126"
_BASH_END, _END = "\0", ".end"
_BASH = (
    f'IFS= read -rd "" BASH_EXECUTION_STRING <&{fds.SCRIPT} || {{ {_LOST}; }}; '
    f'exec {fds.SCRIPT}<&-; eval "$BASH_EXECUTION_STRING"'
)
_ANY = (
    f'set -- "$(command -p cat <&{fds.SCRIPT})"; case $1 in '
    f'*{_END}) eval "set --; exec {fds.SCRIPT}<&-; ${{1%{_END}}}";; *) {_LOST};; esac'
)
_SHELLS = frozenset({"sh", "dash", "ash", "ksh", "mksh", "zsh"})
_WITH_VALUE = frozenset("oO")  # the last letter of options such as `-euo pipefail`
_PIECE_BYTES = 1 << 20
CHANGED = "its script is not the one that it was defined with"


def can_read(wrapper: list[str]) -> bool:
    """Return whether `wrapper` is a shell that is known here, with options of which the last has it run a string."""
    if os.path.basename(wrapper[0]) == "busybox" and len(wrapper) > 1:
        wrapper = wrapper[1:]
    options, last = wrapper[1:-1], wrapper[-1]
    name = os.path.basename(wrapper[0])
    known = name == "bash" or name in _SHELLS
    if not known or last[:1] != "-" or "c" not in last or not last[1:].isalpha() or _WITH_VALUE & {*last}:
        return False
    before = "-"
    for word in options:
        if word[:1] not in ("-", "+") and before[-1] not in _WITH_VALUE:
            return False  # a file, whose argument the string would be
        before = word
    return True


def reading(wrapper: list[str]) -> tuple[str, str]:
    """Return what this shell runs to read a script, and what stands behind the script in its file."""
    return (_BASH, _BASH_END) if os.path.basename(wrapper[0]) == "bash" else (_ANY, _END)


def _written(source: int, copy: int) -> Iterator[bytes]:
    """Write the rest of `source` into `copy`, and yield its pieces."""
    while piece := os.read(source, _PIECE_BYTES):
        fds.write_all(copy, piece)
        yield piece


def copied(source: int, size: int, sha256: str, end: str) -> int:
    """Return an fd of a copy in memory of the script behind `source`, with `end` behind it. Errors:
    spawn.BeforeExec if it is not the script with this size and digest; OSError."""
    if os.fstat(source).st_size != size:
        raise spawn.BeforeExec(0, CHANGED)
    copy = fds.memory_file("script", b"")
    try:
        if sha256_of(_written(source, copy)) != sha256:
            raise spawn.BeforeExec(0, CHANGED)
        fds.write_all(copy, end.encode())
        os.lseek(copy, 0, os.SEEK_SET)
    except BaseException:
        os.close(copy)
        raise
    return copy
