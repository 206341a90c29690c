"""Ends with a code and without a word: timeout(1) that ended its command, and a shell with `set -e`."""

from __future__ import annotations

import re
import shlex

from outlive.core import shell_strings
from outlive.core.records import Definition
from outlive.parts import last_words
from outlive.parts.failures.causes import line_ends

_TIMED_OUT = 124
_STOPS = re.compile(r"^[ \t]*set[ \t]+(?:-o[ \t]+errexit\b|-[a-zA-Z]*e)", re.MULTILINE)
_SHEBANG = re.compile(r"#!.*sh[ \t]+-[a-zA-Z]*e")


def of_timeout(definition: Definition, code: int) -> str | None:
    """Return that timeout(1) ended the command; None if it did not."""
    if code != _TIMED_OUT or "timeout" not in last_words.of_command(definition).deciding:
        return None
    return (
        f"Exit code {code} is that of `timeout`: its time ran out, and it ended its command. What that did until then may "
        "have taken effect."
    )


def of_set_e(definition: Definition, said: str, errors: str) -> str | None:
    """Return how to find the command that ended a script with `set -e`, where none said a word. `said`: the end of the
    output, `errors`: what of it are errors."""
    if errors.strip() or last_words.reports(said):
        return None
    text = shell_strings.run_by(definition.command, definition.shell) or ""
    is_option = any(word[:1] == "-" and "e" in word for word in (definition.shell or [])[1:])
    if _STOPS.search(text.replace(";", "\n")) or (is_option and any(sign in text for sign in ";\n")):
        return _advice("`set -x` at its start (bash -x) shows which") if _is_of(text, said) else None
    for name, data in line_ends.scripts(definition):
        script = data.decode("utf-8", "replace")
        if (_STOPS.search(script) or _SHEBANG.match(script)) and _is_of(script, said):
            return _advice(f"`bash -x {shlex.quote(name)}` shows which")
    return None


def _advice(how: str) -> str:
    return f"It may have ended at a command that failed without a word (set -e): {how}."


def _is_of(script: str, said: str) -> bool:
    """Return whether the script itself may have printed the last line, so that what failed said nothing."""
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
    return all(word in script for word in re.findall(r"[^\W\d_]+", last))
