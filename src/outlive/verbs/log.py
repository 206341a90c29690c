"""Read a job's output: `log` by line, by position, or by what is in it; `tail` the last lines of both streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from outlive import limits, parts
from outlive.answers import sentences
from outlive.answers.job import Job
from outlive.answers.output import Excerpt
from outlive.answers.reading import Log, LoggedJob, LogLines, Tail
from outlive.core.ids import short_id
from outlive.core.records import STREAM_NAMES, STREAMS
from outlive.errors import argument, invalid
from outlive.jobs import adoption, job_answer, lookup, several
from outlive.jobs.context import Context
from outlive.jobs.interaction import merged_logs, shown_output
from outlive.jobs.interaction.merged_logs import NamedLog
from outlive.jobs.told import known_to_session
from outlive.part import LogCall
from outlive.render import head_and_tail, window
from outlive.render.decode import MAX_HELD_BYTES, leading_cut, trailing_cut
from outlive.render.search import Matched, search
from outlive.render.sources import Excerpted, Source, View, lines_of
from outlive.render.times import Clock
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Pattern

_ANY_CASE_S = 2.0  # for which a pattern without a match is looked for in any case
_TIMELESS = "When these lines were printed is not known: the job has no usable file `order`."


def log(ctx: Context, *, job: str | None = None, **how: Any) -> Log:
    """Return what a job printed, or several jobs, which an argument of a part names."""
    with several.one_or_several(ctx, job, how) as jobs:
        return _of_several(ctx, jobs, **how) if job is None else _of_one(ctx, jobs[0], **how)


def _of_several(
    ctx: Context,
    jobs: list[JobDir],
    *,
    offset: int | None = None,
    since_seq: int | None = None,
    limit: int | None = None,
    max_bytes: int,
    times: bool = False,
    **how: Any,
) -> Log:
    """Return the last lines of several jobs, in the order in which they were printed."""
    one_alone = next((name for name, at in (("offset", offset), ("since_seq", since_seq)) if at is not None), None)
    if one_alone is not None:
        hint = f"{argument('limit')} shows more of the last lines of several jobs."
        raise invalid(one_alone, f"{argument(one_alone)} goes with one job", hint=hint)
    logs = [_of_one(ctx, one, limit=limit, max_bytes=max_bytes, times=True, alone=False, **how) for one in jobs]
    definitions = [job.read_meta() for job in jobs]
    named = [
        NamedLog(one.name, short_id(one.job_id), log.lines.shown.output, log.lines.times or ())
        for one, log in zip(definitions, logs, strict=True)
    ]
    merged = merged_logs.merged(named, limits.LOG_LINES if limit is None else limit, max_bytes)
    hints = [f"{one.name}: {log.losses.hint}" for one, log in zip(named, logs, strict=True) if log.losses.hint]
    if merged.left_out:
        hints.insert(0, "These are the last lines: limit and max_bytes show more, log of one job all of its own.")
    answer = logs[0]
    answer.jobs = [
        LoggedJob(
            job_id=log.job.job_id,
            name=one.name,
            state=log.job.state,
            exit_code=None if log.ended is None else log.ended.exit_code,
            next_seq=log.lines.shown.next_seq,
        )
        for one, log in zip(named, logs, strict=True)
    ]
    total, matches = (sum(getattr(log.lines, name) or 0 for log in logs) for name in ("total_lines", "matches"))
    answer.lines = LogLines(
        shown=Excerpt(output=merged.output, since_seq=0, next_seq=0, truncated=False),
        times=merged.times if times else None,
        first_line=None,
        last_line=None,
        total_lines=total,
        matches=None if answer.lines.matches is None else matches,
    )
    answer.hint = sentences(*hints)
    return answer


def _of_one(
    ctx: Context,
    job_dir: JobDir,
    *,
    alone: bool = True,
    offset: int | None = None,
    limit: int | None = None,
    since_seq: int | None = None,
    stream: str = "both",
    search: str | None = None,
    context: int | None = None,
    max_bytes: int,
    raw: bool = False,
    encoding: str | None = None,
    times: bool = False,
    follow: bool = False,
    propagate: bool = False,
    **of_parts: Any,
) -> Log:
    """Return lines [offset, offset + limit), the output after `since_seq`, the lines that match
    `search`, or those that a part chooses by its own arguments, `of_parts`. A negative offset counts from the end. With
    `times`, say when each line was printed. `alone`: the answer is about this job alone."""
    given = {"search": search, "offset": offset, "since_seq": since_seq, "encoding": encoding, "times": times or None}
    if since_seq is not None and offset is not None:
        message = f"give {argument('offset')} (lines) or {argument('since_seq')} (position), not both"
        raise invalid("offset", message)
    view = View(max_bytes, raw, decoding=window.decoding(encoding))
    inspection = adoption.inspect_and_adopt(ctx, job_dir)
    with Output(job_dir) as output:
        reader = _Reader(job_dir, output, STREAMS[stream], view, more=not inspection.state.finished, times=times)
        lines = reader.lines
        ctx.progress = lambda: (lines.searched_to or lines.known_to(), lines.end, "bytes")
        beyond = None if since_seq is None else known_to_session.beyond(since_seq, lines.end)
        with closing(lines):
            if offset is not None and offset < 0:  # from the end
                lines.count()
                offset = max(0, offset + lines.total())
            how = {"limit": limit, "max_bytes": max_bytes, "raw": raw}
            call = LogCall(ctx, inspection.definition, output, reader.stream, lines, {**given, **of_parts, **how})
            asked = parts.functions_for("log_lines", lambda name: call.given.get(name) is not None)
            chosen = next((show(call, call.given[name]) for name, show in asked), None)
            if isinstance(chosen, LogLines):
                shown = chosen
            elif search is not None:
                shown = _search(ctx, reader, search, (since_seq, offset), context, **how)
            else:
                lines.count()
                shown = reader.read(offset, limit, since_seq)
        losses = job_answer.losses(inspection, output)
        timeless = _TIMELESS if shown.times and not any(shown.times) else None
        unread = shown_output.not_utf_8(ctx, output)
    if alone and stream == "both" and search is None and chosen is None:
        known_to_session.mark_seen(ctx, job_dir, shown.shown.next_seq)
    return Log(
        job=Job(job_id=job_dir.job_id, state=inspection.state.state),
        ended=job_answer.how_ended(inspection, job_dir),
        timeout_ms=inspection.definition.timeout_ms,
        lines=shown,
        losses=losses,
        hint=sentences(beyond, shown.hint, timeless, losses.hint, unread),  # how to read on goes before what is lost
    )


def _search(
    ctx: Context, reader: _Reader, pattern: str, start: tuple[int | None, int | None], context: int | None, **how: Any
) -> LogLines:
    """Search from `start` on, which is since_seq and offset; `how`: limit, max_bytes and raw."""
    wanted, lines = Pattern(pattern, field="search"), reader.lines
    lines.count()
    since_seq, offset = start
    position = since_seq if since_seq is not None else lines.start_of(offset or 0)
    how["context"] = limits.SEARCH_CONTEXT_LINES if context is None else context
    most_s = limits.MCP_SEARCH_S if ctx.face == "mcp" else None  # a person can interrupt it
    shown = _matching(reader, wanted, position, most_s, how)
    if shown.matches or shown.shown.next_seq < lines.end:
        return shown
    cut = _in_one_stream(reader, wanted, position, most_s, how)
    if cut is None:
        shown.hint = sentences(shown.hint, _in_any_case(reader, pattern, position))
    return cut or shown


def _matching(
    reader: _Reader, wanted: Pattern, position: int, most_s: float | None, how: Mapping[str, Any]
) -> LogLines:
    """Return the lines that match from `position` on."""
    matched = Matched(**how)
    shown = search(reader.lines, wanted, position, matched, most_s, reader.text)
    shown.times = reader.times_of(matched)
    reader.output.not_utf_8 |= matched.not_utf_8
    return shown


def _in_one_stream(
    reader: _Reader, wanted: Pattern, position: int, most_s: float | None, how: Mapping[str, Any]
) -> LogLines | None:
    """Return the lines of one stream that match from `position` of the merged output on, where what the other stream
    printed may stand within a line; None if no line does."""
    if reader.stream is not None or not all(reader.output.sizes):
        return None
    starts = reader.output.offsets_at(position)
    for stream, name in enumerate(STREAM_NAMES):
        with closing((alone := reader.of(stream)).lines):
            alone.lines.count()
            shown = _matching(alone, wanted, starts[stream], most_s, how)
            if not shown.matches:
                continue
            rest = f" More follows: {shown.hint}" if shown.shown.next_seq < alone.lines.end else ""
            shown.hint = f"Output of both streams is mixed within lines: this is stream={name} alone.{rest}"
            shown.shown.since_seq, shown.shown.next_seq, shown.shown.gaps = position, reader.lines.end, None
            return shown
    return None


def _in_any_case(reader: _Reader, pattern: str, position: int) -> str | None:
    """Return what finds lines if a pattern that matched none would do so in letters of another case."""
    flagged = f"(?i){pattern}"
    if len(flagged) > limits.MAX_PATTERN_CHARS:
        return None
    first = Matched(limit=1, context=0, max_bytes=1, raw=False)
    search(reader.lines, Pattern(flagged, field="search"), position, first, _ANY_CASE_S, reader.text)
    return f"{flagged} finds line {first.first}." if first.matches else None


def tail(
    ctx: Context, *, job: str, tail_lines: int, max_bytes: int, stream: str = "both", encoding: str | None = None
) -> Tail:
    """Return the end of stdout, of stderr or of both as exact text."""
    wanted, only = window.decoding(encoding), STREAMS[stream]
    streams = (0, 1) if only is None else (only,)
    with lookup.open_job(ctx, job) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        with Output(job_dir) as output:
            tails = window.tails(output, tail_lines, max_bytes, streams, wanted, more=not inspection.state.finished)
            lost = job_answer.losses(inspection, output)
            cut = window.cut_tails(tails, output, more=not inspection.state.finished)
            unread = shown_output.not_utf_8(ctx, output)
        return Tail(
            job=Job(job_id=job_dir.job_id, state=inspection.state.state),
            ended=job_answer.how_ended(inspection, job_dir),
            timeout_ms=inspection.definition.timeout_ms,
            tails=tails,
            stdout_log_path=job_dir.log_path(0),
            stderr_log_path=job_dir.log_path(1),
            losses=lost,
            hint=sentences(cut, lost.hint, unread),
        )


class _Reader:
    """Reads the merged stream, or one stream's log. Positions and line numbers are those of what is read."""

    def __init__(
        self, job: JobDir, output: Output, stream: int | None, view: View, *, more: bool, times: bool = False
    ) -> None:
        self._job = job
        self.output = output
        self.stream = stream
        self._view = view
        self._more = more
        self._times = times
        self._clock = Clock(output, stream) if times else None
        self._parts: list[Excerpted] | None = None
        self._text = window.text_of(output, view.decoding)
        self.lines = lines_of(job, output, stream, self._text)

    def of(self, stream: int) -> _Reader:
        """Return a reader of one stream alone."""
        return _Reader(self._job, self.output, stream, self._view, more=self._more, times=self._times)

    @property
    def text(self) -> Callable[[int, int], str] | None:
        """What returns the text of [start, stop); None: it is UTF-8."""
        if self._text is None:
            return None
        of = self._text.of
        return lambda start, stop: of(start, stop, self.stream, final=not self._more and stop >= self.lines.end)

    def times_of(self, matched: Matched) -> list[str | None] | None:
        """Return when the lines that a search shows were printed."""
        clock, start_of = self._clock, self.lines.start_of
        if clock is None:
            return None
        return [None if number is None else clock.at(start_of(number)) for number in matched.numbers]

    def read(self, offset: int | None, limit: int | None, since_seq: int | None) -> LogLines:
        return self.output.steady(self._read, offset, limit, since_seq)

    def _read(self, offset: int | None, limit: int | None, since_seq: int | None) -> LogLines:
        total = self.lines.total()
        start, stop, hint = self._range(offset, limit, since_seq, total)
        forward = since_seq is not None or offset is not None
        if forward:  # show the first part that fits, and tell where to go on
            shown = self._first(start, stop)
            if shown.next_seq < stop and not (self._more and shown.next_seq + MAX_HELD_BYTES >= self.lines.end):
                hint = self._go_on(shown.next_seq, since_seq is not None)
        else:
            shown = self._show(start, stop, self._view.max_bytes)
        first, last = self._numbers(start, max(start, shown.next_seq if forward else stop), shown.next_seq)
        if not hint and first is None and total and not shown.gaps:
            hint = f"No line is here: there are {total:,} lines, and offset counts from 0."
        times = None if self._clock is None else self._clock.of_parts(self._parts or [])
        return LogLines(shown=shown, times=times, first_line=first, last_line=last, total_lines=total, hint=hint)

    def _numbers(self, start: int, stop: int, shown_to: int) -> tuple[int | None, int | None]:
        """Return the numbers of the first and the last line shown, from 1."""
        hole = self.lines.hole
        if not hole.kept(start, stop):
            return None, None
        first = hole.stop if hole.holds(start) and hole.start < hole.stop else start
        last = max(first, hole.minus(shown_to, 1))
        return self.lines.before(first) + 1, self.lines.before(last) + 1

    def _range(
        self, offset: int | None, limit: int | None, since_seq: int | None, total: int
    ) -> tuple[int, int, str | None]:
        """Return (start, stop, hint); start and stop are positions."""
        end = self.lines.end
        if since_seq is not None:
            start = min(since_seq, end)
            if limit is None:
                return start, end, None
            return start, max(start, self._stop_of(self.lines.before(start) + limit)), None
        if offset is not None:
            start = self.lines.start_of(offset) if offset < total else end
            return start, end if limit is None else self._stop_of(offset + limit), None
        count = limits.LOG_LINES if limit is None else limit
        first = max(0, total - count)
        hint = None
        if first and limit is None:
            hint = f"Lines {first + 1} to {total} of {total} are shown; offset (from 0) and limit show others."
        return (self.lines.start_of(first) if first < total else end), end, hint

    def _stop_of(self, line: int) -> int:
        return self.lines.start_of(line, behind_gap=True)

    def _first(self, start: int, stop: int) -> Excerpt:
        """Return the beginning of [start, stop), as much as the budget shows."""
        room = max_bytes = self._view.max_bytes
        while True:
            fitting = self._fit(start, stop, room)
            shown = self._show(start, fitting, limits.MAX_SHOWN_BYTES * 4)
            smaller = head_and_tail.less_room(min(room, self.lines.hole.kept(start, fitting)), shown.output, max_bytes)
            if smaller is None:
                return shown
            room = smaller

    def _fit(self, start: int, stop: int, max_bytes: int) -> int:
        """Return the end of the whole lines that fit into the budget; a line that is too long is cut."""
        hole = self.lines.hole
        if hole.kept(start, stop) <= max_bytes:
            return stop
        data = self.lines.read(start, hole.plus(start, max_bytes))
        newline = data.rfind(b"\n")
        if newline >= 0:
            return hole.plus(start, newline + 1)
        whole = len(data) - trailing_cut(data)
        if not whole:  # even a tiny budget shows one whole character, so that readers get on
            at = hole.plus(start, len(data))
            whole = len(data) + leading_cut(self.lines.read(at, at + 3))
        return hole.plus(start, whole)

    def _go_on(self, stop: int, by_position: bool) -> str:
        if by_position:
            return f"More follows: since_seq={stop} shows it."
        line = self.lines.before(stop)
        if self.lines.start_of(line) == stop:
            return f"More follows: offset={line} shows it."
        return f"More of this line follows: since_seq={stop} shows it."

    def _show(self, start: int, stop: int, max_bytes: int) -> Excerpt:
        raw, lines = self._view.raw, None if self.stream is None else self.lines
        source = Source(
            self._job, self.output, raw=raw, more=self._more, text=self._text, stream=self.stream, lines=lines
        )
        source.parts = None if self._clock is None else []
        shown = window.shown(source, start, stop, View(max_bytes, raw))
        self._parts = source.parts
        return shown
