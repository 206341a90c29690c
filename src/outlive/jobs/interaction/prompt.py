"""Say what a job that waits for input asks, and how to answer it."""

from __future__ import annotations

from outlive import limits, parts
from outlive.answers.job import Prompt
from outlive.core.quoted import escape, visible
from outlive.jobs.interaction import screen
from outlive.render.decode import decode
from outlive.render.plain_text import readable
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output


def text(inspection: Inspection, output: Output) -> str:
    """Return the unfinished last line, of a job without a terminal what was added to it since the last input; empty for
    a program that fills the screen."""
    if inspection.state.terminal:
        if screen.alternate_since(inspection, output, output.end) is not None or screen.is_painted(inspection, output):
            return ""
    waiting = inspection.state.waiting
    start = max(output.end - limits.PROMPT_BYTES, (waiting and waiting.answered) or 0)
    shown, _ = decode(output.pieces(start, output.end), more=False)
    # What `readable` would take out or leave unseen, a prompt shows: it is a name of what is asked for
    shown = visible(shown, lambda char: char if char < "\xa0" else escape(char))
    return readable(shown).rpartition("\n")[2].strip()[-limits.PROMPT_CHARS :]


def hint(inspection: Inspection, asks: Prompt) -> str:
    """Return how to answer the job; `asks` is what `job_answer.waiting` says."""
    if inspection.definition.pty:
        hidden = asks.echo is False
        said: str | None = parts.first("how_to_answer", inspection, hidden=hidden)
        what = "It asks for a password (what is typed is not shown): submit" if hidden else "Answer with submit, which"
        return said or f"{what} types text and Enter."
    return "Answer with submit (a line) or write (text as it is); write with eof ends the input."
