"""`outlive inbox` at a terminal: one question after the other, answered in place.

What a job prints stands behind `|`, with every character visible: it cannot look like our own lines."""

from __future__ import annotations

import os
import termios
from typing import Any

from outlive import limits
from outlive.cli import human, stdio, summary
from outlive.cli.main import ANSWERED, INTERRUPTED
from outlive.cli.text import Style
from outlive.core.quoted import visible
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.parts.approvals.answers import APPROVAL, Inbox, Question
from outlive.parts.approvals.at_terminal import ask
from outlive.parts.approvals.at_terminal.text import NOTHING, about
from outlive.parts.approvals.person import require_person_here
from outlive.parts.approvals.verbs.inbox import question_of
from outlive.verbs import spelling
from outlive.verbs.spec import GlobalOptions, Verb
from outlive.verbs.write import submit

_WAY = "outlive inbox"
EMPTY = "."  # stands for an empty line: Enter alone leaves the question for later
_TYPE = f"Type a line for it (Enter: later, {EMPTY}: an empty line, ^D: stop): "
CHANGED = "it does not ask this any more: nothing was typed"
_BEHIND = "  | "


def ask_all(ctx: Context, verb: Verb, _options: GlobalOptions, **_args: Any) -> int:
    """Ask about what waits, the oldest first, until nothing is left that the person did not put off. Return the exit
    status. Errors: denied inside a job."""
    require_person_here(ctx.store)
    later: set[tuple[str, str]] = set()
    asked = 0
    while True:
        found: Inbox = verb.run(ctx)
        left = [one for one in found.questions if (one.job_id, one.since) not in later]
        if not left:
            stdio.text(_rest(found, asked))
            return ANSWERED
        question, asked = left[0], asked + 1
        # Else what was typed ahead, or Enter that was pressed twice, would answer a question that the person has not read
        termios.tcflush(0, termios.TCIFLUSH)
        try:
            stdio.text(("\n" if asked > 1 else "") + f"[{len(left)} left]\n")
            was_answered = _approval(ctx, question) if question.kind == APPROVAL else _input(ctx, question)
        except OutliveError as error:  # another one was faster, or the job has ended
            stdio.note(human.error(spelling.spelled(error, spelling.CLI, ()).to_dict()))
            was_answered = False
        except (KeyboardInterrupt, EOFError) as stop:
            stdio.note("\n")
            return ANSWERED if isinstance(stop, EOFError) else INTERRUPTED
        if not was_answered:
            later.add((question.job_id, question.since))


def _rest(found: Inbox, asked: int) -> str:
    if not found.questions:
        return "Nothing waits for you any more.\n" if asked else NOTHING
    many = len(found.questions)
    return f"\n{'1 question waits' if many == 1 else f'{many} questions wait'} for later.\n"


def _approval(ctx: Context, question: Question) -> bool:
    """Ask whether a command may run. Return whether the person answered."""
    with lookup.open_known(ctx.caller, question.job_id) as job:
        inspection = adoption.inspect_and_adopt(ctx, job)
        if not ask.is_pending(job, inspection):
            return False
        stdio.text(ask.shown(inspection))
        said = _read(ask.QUESTION)
        after = ask.take(ctx, job, inspection, said, _WAY)
        return after is not inspection


def _input(ctx: Context, question: Question) -> bool:
    """Ask for a line for a program. Return whether the person answered."""
    stdio.text(about(question.to_dict(), Style()))
    seen = summary.last_lines(ctx, question.job_id) or ""
    stdio.text("".join(f"{_BEHIND}{visible(one)}\n" for one in seen.splitlines()))
    said = _read(_TYPE, echo=question.echo is not False)
    if not said:
        return False
    answer = type_line(ctx, question, said, wait_ms=limits.REACTION_MS)
    if answer is None:
        stdio.note(f"[{CHANGED}]\n")
        return False
    for one in (answer.get("output") or "").splitlines():
        stdio.text(f"{_BEHIND}{visible(one)}\n")
    for warning in answer.get("warnings") or ():
        stdio.note(f"[{visible(warning)}]\n")
    return True


def type_line(ctx: Context, question: Question, said: str, *, wait_ms: int) -> dict[str, Any] | None:
    """Type a line into a program, and return the answer of `submit`; None, with nothing typed, if the program does not ask
    this question any more. Errors: as for `submit`."""
    with lookup.open_known(ctx.caller, question.job_id) as job:
        now = question_of(ctx, job)
    if now is None or (now.question, now.since) != (question.question, question.since):
        return None
    text = "" if said == EMPTY else said
    how = {"wait_ms": wait_ms, "timeout_ms": limits.WRITE_MS, "max_bytes": limits.TAIL_BYTES}
    return submit(ctx, job=question.job_id, text=text, **how).to_dict()  # type: ignore[arg-type]


def _read(prompt: str, *, echo: bool = True) -> str:
    """Return the line that the person types. Errors: EOFError at the end of the input."""
    before = termios.tcgetattr(0)
    try:
        if not echo:  # before it asks: who types at once must not see it either
            silent = termios.tcgetattr(0)
            silent[3] &= ~termios.ECHO
            termios.tcsetattr(0, termios.TCSADRAIN, silent)
        stdio.text(prompt)
        data = os.read(0, limits.TERMINAL_LINE_BYTES + 1)  # not sys.stdin, which would keep the lines behind this one
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        if not echo:
            stdio.text("\n")
    if not data:
        raise EOFError
    return data.decode("utf-8", "surrogateescape").rstrip("\n")
