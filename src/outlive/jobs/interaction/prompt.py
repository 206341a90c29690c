"""Say what a job that waits for input asks, and how to answer it."""

from __future__ import annotations

from outlive import limits
from outlive.core.ids import short_id
from outlive.render.decode import decode
from outlive.render.plain_text import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.inspect import Inspection
    from outlive.store.output.merged import Output


def text(found: Inspection, output: Output) -> str:
    """Return the unfinished last line; empty for a program that fills the screen."""
    if found.state.terminal:
        from outlive.jobs.interaction import screen  # late: most jobs have no terminal

        if screen.alternate_since(found, output, output.end) is not None or screen.is_painted(found, output):
            return ""
    shown, _ = decode(output.pieces(max(0, output.end - limits.PROMPT_BYTES), output.end), more=False)
    return readable(shown).rpartition("\n")[2].strip()[-limits.PROMPT_CHARS :]


def hint(found: Inspection, answer: dict[str, Any]) -> str:
    """Return how to answer the job; `answer` holds what `job_answer.waiting` says."""
    if answer.get("echo") is False:
        return (
            "It asks for a password (what is typed is not shown). Have a person type it: "
            f"`outlive attach {short_id(found.definition.job_id)}` in a terminal; submit types one that you were given."
        )
    if found.definition.pty:
        return "Answer with submit (types text and Enter) or send-keys (C-c, Up, q); screen shows the terminal."
    return "Answer with write (a line needs its newline); eof ends the input."
