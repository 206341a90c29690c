"""Put data into a job's stdin, or type it into its terminal: `write` as it is, `submit` with Enter, also several texts as
answers to one question after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from outlive import limits
from outlive.answers import advice
from outlive.answers.writing import Written
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import stdin
from outlive.jobs.interaction.reaction import Reaction
from outlive.render import ends
from outlive.render.plain_text import readable
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Pattern

_QUESTION_LINES = 3  # of what was printed before the first text
_QUESTION_BYTES = 1024


def write(ctx: Context, *, job: str, data: str = "", eof: bool = False, **how: Any) -> Written:
    """Write `data`, then end the input if `eof`. `how` is as for `stdin.deliver`. On a terminal `eof` is a character,
    and more can be typed after it."""
    sent = data.encode("utf-8", "surrogateescape")
    with lookup.open_job(ctx, job) as job_dir:
        answer = stdin.deliver(ctx, job_dir, stdin.Input(sent, eof=eof, is_exact=True), **how)
    answer.warnings = [*(answer.warnings or ()), *_spelt_out(sent)] or None
    return answer


def _spelt_out(sent: bytes) -> list[str]:
    """Return a warning for a newline that was meant, and written as two characters."""
    if not sent.endswith(b"\\n"):
        return []
    told = "the last two characters were a backslash and an n, not a newline"
    return [f"{told}: in JSON a newline is written with one backslash, in bash as $'\\n'"]


def submit(
    ctx: Context,
    *,
    job: str,
    text: str | None = None,
    texts: Sequence[str] = (),
    expect: Sequence[str] = (),
    wait_ms: int = 0,
    timeout_ms: int,
    max_bytes: int,
) -> Written:
    """Send `text` and what ends a line, in one write: a carriage return to a terminal, a newline to a stdin that is
    open. Or send each of `texts` so, when the job asks for it; with `expect`, `text` is one of these. Errors: as for
    write."""
    if texts and text is not None:
        raise invalid("texts", f"give {argument('text')} or {argument('texts')}, not both")
    field = "texts" if texts else "text"
    if expect and not texts:
        texts = (text or "",)
    if expect and len(expect) != len(texts):
        each = f"for each of {argument('texts')}" if field == "texts" else f"for {argument('text')}"
        message = f"{argument('expect')} has one entry {each}: {len(expect)} and {len(texts)}"
        hint = None if field == "texts" else f"{argument('texts')} takes several, one for each prompt."
        raise invalid("expect", message, hint=hint)
    with lookup.open_job(ctx, job) as job_dir:
        if texts:
            exchange = _Exchange(ctx, job_dir, texts, expect, wait_ms, field=field)
            return exchange.run(timeout_ms=timeout_ms, max_bytes=max_bytes)
        given = stdin.Input((text or "").encode("utf-8", "surrogateescape"), "text", enter=True)
        return stdin.deliver(ctx, job_dir, given, timeout_ms=timeout_ms, wait_ms=wait_ms, max_bytes=max_bytes)


class _Exchange:
    """Types `texts`, one for each prompt, as long as the job asks for them. `expect`: what each prompt
    holds, as a RE2 pattern or as it stands; empty: anything. `field`: the argument that holds the texts."""

    def __init__(
        self, ctx: Context, job: JobDir, texts: Sequence[str], expect: Sequence[str], wait_ms: int, *, field: str
    ) -> None:
        self._ctx = ctx
        self._job = job
        self._texts = texts
        self._expect = expect
        self._field = field
        self._wait_ms = max(wait_ms, limits.REACTION_MS)
        # A command line waits as long as it takes
        self._deadline = time.monotonic() + limits.MCP_CALL_MS / 1000 if ctx.face == "mcp" else None
        self._sent = 0

    def run(self, *, timeout_ms: int, max_bytes: int) -> Written:
        """Type the texts, and answer with all that the job printed meanwhile. Errors: as for
        `stdin.deliver`."""
        inspection = adoption.inspect_and_adopt(self._ctx, self._job)
        pty = inspection.definition.pty
        lines = [stdin.Input(text.encode("utf-8", "surrogateescape"), self._field, enter=True) for text in self._texts]
        count = sum(len(line.typed(pty=pty)) for line in lines)
        inspection = stdin.require_writable(self._ctx, self._job, count, field=self._field)
        reaction = Reaction(self._ctx, self._job, self._left_ms(), max_bytes)
        done, written, why = stdin.Put(0, 0), 0, None
        for line in lines:
            reaction.settled(typed=self._sent > 0)
            why = self._reason_to_stop(reaction)
            if why is not None:
                break
            reaction.begin_again(self._left_ms())
            try:
                done = stdin.put_all(self._ctx, self._job, line, timeout_ms=self._left_ms(timeout_ms), pty=pty)
            except OutliveError as error:
                if error.code == "invalid_argument" and self._sent:  # what was typed before is worth knowing
                    why = f"Text {self._sent + 1} was not sent: {error.message}."
                    break
                if not adoption.inspect_and_adopt(self._ctx, self._job).state.finished:
                    raise
                why = self._ended()  # meanwhile, and what it said is worth telling
                break
            written += done.written
            if done.written < done.wanted:
                why = f"It did not read text {self._sent + 1} whole."
                break
            self._sent += 1
        else:
            reaction.settled()
        last = lines[max(0, self._sent - 1)]
        said = reaction.answer(last.typed(pty=pty) if self._sent else b"", last.data, done.typed)
        said.since.advised = said.since.advised.with_more(advice.WRITTEN, why)
        all_sent = done.changed(written=written, wanted=written)  # `why` says what was not
        answer = stdin.answered(self._ctx, self._job, inspection, all_sent, said)
        answer.sent = self._sent
        return answer

    def _left_ms(self, most_ms: int | None = None) -> int:
        """Return how long the next step may take."""
        most_ms = self._wait_ms if most_ms is None else most_ms
        if self._deadline is None:
            return most_ms
        return max(1, min(most_ms, round((self._deadline - time.monotonic()) * 1000)))

    def _reason_to_stop(self, reaction: Reaction) -> str | None:
        """Return why the next text is not typed now; None if the job asks for it."""
        number = self._sent + 1
        inspection = adoption.inspect_and_adopt(self._ctx, self._job)
        if inspection.state.finished:
            return self._ended()
        if not reaction.waits:
            return (
                f"It does not ask for text {number} of {len(self._texts)} yet: wait until input, then submit the rest."
            )
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return f"The call lasted {limits.MCP_CALL_MS / 1000:g} s: submit the rest, from text {number} on, in another one."
        wanted = self._expect[self._sent] if self._expect else ""
        with Output(self._job) as output:
            question = self._question(output, reaction, job_answer.waiting(inspection, output).prompt or "")
        if _holds(question, wanted):
            return None
        return f"Text {number} was not sent: it asks {question.strip()!r}, not {wanted!r}."

    def _ended(self) -> str:
        return f"It ended before text {self._sent + 1} of {len(self._texts)}."

    def _question(self, output: Output, reaction: Reaction, prompt: str) -> str:
        """Return what the job asks: its prompt; if that has no word, such as `>`, also what was printed
        before it, since the last text and without the echo of that."""
        if any(char.isalpha() for char in prompt):
            return prompt
        if not self._sent:
            return ends.last_lines(output, _QUESTION_LINES, _QUESTION_BYTES) or prompt
        asked = readable(output.read(reaction.before, output.end).decode("utf-8", "replace")).lstrip("\n")
        return asked.removeprefix(self._texts[self._sent - 1].strip()) or prompt


def _holds(question: str, wanted: str) -> bool:
    """Return whether a question holds this text, or a match of this RE2 pattern."""
    if wanted in question:
        return True
    try:
        return next(Pattern(wanted, field="expect").hits(question.encode()), None) is not None
    except OutliveError:  # no pattern: it was meant as it stands
        return False
