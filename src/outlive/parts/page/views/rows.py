"""The output of a job as the rows of a page: any of them at once, however long the output is.

A row is a line. The gap (store/output/gap.py) is one row, whatever was in it. Rows are counted
from 0, lines of the answer from 1, as `log` counts them.
"""

from __future__ import annotations

import sys
import time
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from outlive.core.record import Value
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.parts.page.views import questions, samples
from outlive.render.sources import gaps_in, lines_of
from outlive.render.window import text_of
from outlive.store import history
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import pause

MOST_ROWS = 2_000  # of one answer
ROW_BYTES = 16_384  # of one row; the rest of a longer line is not shown
_PAGE_BYTES = 1 << 20  # rows that take more are read one by one
_TAIL_BYTES = 1 << 17  # shown while the lines are not counted yet
_COUNT_S = 0.15  # so long an answer waits for lines to be counted
_TOGETHER_S = 0.4  # what is printed within this comes in one answer: a viewer costs little
LOST = 2  # in place of a stream: bytes that another program cut out of a log


class Wanted(Value):
    """Rows from `row` on, or around the one with position `seq` or with `line`; by default the last
    ones."""

    row: int | None = None
    seq: int | None = None
    line: int | None = None
    most: int = 200
    times: bool = False  # say when each was printed


def rows(
    ctx: Context, job_id: str, wanted: Wanted, *, known: Mapping[str, object] | None = None, wait_ms: int = 0
) -> dict[str, object]:
    """Return rows of a job's output.

    With `wait_ms`, answer only when something differs from `known`, which holds `end`, `state` and
    `events` of an earlier answer. Errors: job_not_found.
    """
    with lookup.open_job(ctx, job_id) as job:
        if wait_ms and known is not None:
            _changed(ctx, job, known, time.monotonic() + wait_ms / 1000)
        inspection = adoption.inspect_and_adopt(ctx, job)
        with Output(job) as output:
            page = Page(job, output)
            with closing(page.lines):
                page.count(whole=wanted.row is not None or wanted.line is not None)
                page.samples = samples.taken(inspection, job) if wanted.times else []
                answer = output.steady(page.read, wanted)
            lost = job_answer.losses(inspection, output)
            return {
                **_about(inspection, job, output),
                **answer,
                **job_answer.waiting(inspection, output).to_dict(),
                **questions.question(inspection, output),
                **(supervisor.to_dict() if (supervisor := job_answer.stopped(inspection)) else {}),
                **lost.to_dict(),
                **({"hint": lost.hint} if lost.hint else {}),
            }


def _about(inspection: Inspection, job: JobDir, output: Output) -> dict[str, object]:
    state = inspection.state
    return {
        "job_id": job.job_id,
        "state": state.state,
        **(ended.to_dict() if (ended := job_answer.how_ended(inspection, job)) else {}),
        "pty": inspection.definition.pty,
        "end": output.end,
        "events": history.size(job),
        "over": state.finished and not inspection.supervised,
        "gaps": [gap.to_dict() for gap in gaps_in(output.gap.merged, 0, output.end)],
    }


def _changed(ctx: Context, job: JobDir, known: Mapping[str, object], deadline: float) -> None:
    """Wait until something of the job differs from what is known."""
    with closing(ControlClient(job, output=True)) as control:
        while time.monotonic() < deadline:
            adoption.require_in_place(job)
            inspection = adoption.inspect_and_adopt(ctx, job)
            with Output(job) as output:
                about = _about(inspection, job, output)
            if about["over"] or any(about[name] != known.get(name) for name in ("state", "end", "events")):
                if not inspection.state.finished:
                    pause((), time.monotonic() + _TOGETHER_S)
                return
            control.pause(deadline)


class Page:
    """Rows of one snapshot of the output."""

    def __init__(self, job: JobDir, output: Output) -> None:
        self._output = output
        self._text = text_of(output, None)
        self.lines = lines_of(job, output, None, self._text)
        self.counted = True
        self.samples: list[tuple[int, int]] = []  # where the output ended, and when, in ms

    def count(self, *, whole: bool) -> None:
        """Count lines, all of them if `whole`, else for a moment."""
        self.counted = self.lines.count(None if whole else time.monotonic() + _COUNT_S)

    def read(self, wanted: Wanted) -> dict[str, object]:
        row, seq, line = wanted.row, wanted.seq, wanted.line
        count = max(1, min(wanted.most, MOST_ROWS))
        if not self.counted:
            return self._uncounted(seq, count)
        total = self._total()
        around = self.row_at(seq) if seq is not None else None if line is None else self._row_of(line - 1)
        if around is not None:
            row = max(0, around - count // 4)
        first = max(0, total - count) if row is None else max(0, min(row, total))
        shown = self._rows(first, min(count, total - first))
        if wanted.times:
            shown = [self._timed(one) if isinstance(one, list) else one for one in shown]
        answer = {"total_rows": total, "total_lines": self.lines.total(), "first_row": first, "rows": shown}
        return answer if around is None else {**answer, "row": around}

    def _timed(self, row: list[Any]) -> list[Any]:
        """Return a row with the time in ms from which on it was printed, and whether that is when. Only the beginning of
        a run has a time; what comes later came after the last sample that did not have it."""
        line, seq, runs, *length = row
        start, _, when_ns = self._output.run_at(seq)
        at = bisect_right(self.samples, (seq, sys.maxsize))
        sampled_ms = self.samples[at - 1][1] if at and start != seq else 0
        return [line, seq, runs, length[0] if length else 0, max((when_ns or 0) // 1_000_000, sampled_ms), start == seq]

    def _uncounted(self, seq: int | None, count: int) -> dict[str, object]:
        """Return rows without their numbers, for the time until all lines are counted."""
        start = max(0, self.lines.end - _TAIL_BYTES) if seq is None else seq
        start, data = self.lines.take(start, _TAIL_BYTES)
        cut = data.find(b"\n") + 1 if start else 0
        split_rows = self._split(start + cut, start + len(data), None)
        split_rows = split_rows[-count:] if seq is None else split_rows[:count]
        return {"total_rows": None, "counted": self.lines.known_to(), "first_row": None, "rows": split_rows}

    # --- rows and lines ---

    def _edges(self) -> tuple[int, int] | None:
        """Return how many rows are before the gap, the last of which may be the beginning of a
        line, and the first line behind it; None without a gap."""
        hole = self.lines.hole
        if not hole.stop:
            return None
        last = self.lines.before(hole.start)
        return last + (self.lines.start_of(last) < hole.start), last + hole.lines

    def _total(self) -> int:
        edges, total = self._edges(), self.lines.total()
        return total if edges is None else edges[0] + 1 + max(0, total - edges[1])

    def _row_of(self, line: int) -> int:
        edges = self._edges()
        if edges is None or line < edges[0]:
            return max(0, line)
        return edges[0] if line < edges[1] else edges[0] + 1 + line - edges[1]

    def row_at(self, seq: int) -> int:
        edges, hole = self._edges(), self.lines.hole
        seq = min(seq, max(0, self.lines.end - 1))
        if edges is not None and hole.holds(seq):
            return edges[0]
        line = self.lines.before(seq)
        return line if edges is None or seq < hole.start else edges[0] + 1 + line - edges[1]

    def _rows(self, first: int, count: int) -> list[object]:
        edges = self._edges()
        if edges is None:
            return self._lines(first, first + count)
        kept, behind = edges
        hole = self.lines.hole
        stop = first + count
        split_rows = self._lines(first, min(stop, kept), before=hole.start) if first < kept else []
        if first <= kept < stop:
            split_rows.append({"gap": gaps_in(hole, 0, self.lines.end)[0].to_dict()})
        low = max(first, kept + 1)
        if low < stop:
            split_rows += self._lines(behind + low - kept - 1, behind + stop - kept - 1, after=hole.stop)
        return split_rows

    def _lines(self, first: int, stop: int, *, after: int = 0, before: int | None = None) -> list[object]:
        """Return lines [first, stop), which are all on one side of the gap."""
        begin = max(after, self.lines.start_of(first))
        end = self.lines.end if before is None else before
        finish = min(end, self.lines.start_of(stop))
        if finish - begin <= _PAGE_BYTES:
            return self._split(begin, finish, first)[: stop - first]
        split_rows: list[object] = []
        for line in range(first, stop):
            start = max(after, self.lines.start_of(line))
            finish = min(end, self.lines.start_of(line + 1))
            if start >= finish and line > first:
                break
            split_rows += self._split(*self._shown_part(start, finish), line, whole=finish - start)[:1]
        return split_rows

    def _shown_part(self, start: int, stop: int) -> tuple[int, int]:
        """Return what is shown of a line that may be too long: the last of the texts that
        overwrite each other, else its beginning."""
        if stop - start <= ROW_BYTES:
            return start, stop
        tail = self.lines.read(stop - ROW_BYTES, stop)
        overwritten = tail.find(b"\r", 0, -2)
        return (start, start + ROW_BYTES) if overwritten < 0 else (stop - ROW_BYTES + overwritten + 1, stop)

    def _split(self, start: int, stop: int, line: int | None, *, whole: int = 0) -> list[object]:
        """Return [start, stop) as rows `[line, position, [stream, text, …], length?]`. A length
        tells that not all of the line is shown."""
        split_rows: list[object] = []
        runs: list[object] = []
        at = begin = start
        for stream, offset, data in self._output.placed(start, stop):
            for kind, place, part in self._kept(stream, offset, data):
                pieces = self._pieces(kind, place, part)
                for number, (piece, size) in enumerate(pieces):
                    if piece:
                        runs += [kind, piece]
                    at += size
                    if number < len(pieces) - 1:
                        split_rows.append(_row(line, begin, at, runs, whole))
                        begin, runs, line = at, [], None if line is None else line + 1
        if runs or (not split_rows and begin == start < stop):
            split_rows.append(_row(line, begin, at, runs, whole))
        return split_rows

    def _pieces(self, kind: int, offset: int, data: bytes) -> list[tuple[str | int, int]]:
        """Return what is shown of a part of a run, cut behind newlines, each with its bytes; of a part
        that is missing, how many bytes it is. The last piece ends no line."""
        if kind == LOST:
            return [(len(data), len(data))]
        if self._text is None:
            pieces = data.split(b"\n")
            sizes = [*(len(piece) + 1 for piece in pieces[:-1]), len(pieces[-1])]
            return [(piece.decode("utf-8", "replace"), size) for piece, size in zip(pieces, sizes, strict=True)]
        at, of_lines = offset, self._text.lines(kind, offset, offset + len(data))
        cut: list[tuple[str | int, int]] = []
        for ends in of_lines.split(b"\n"):
            size = min(len(ends) + 1, offset + len(data) - at)
            piece = self._text.feed(kind, at, data[at - offset : at - offset + size])
            cut.append((piece.removesuffix("\n"), size))
            at += size
        return cut

    def _kept(self, stream: int, offset: int, data: bytes) -> list[tuple[int, int, bytes]]:
        """Return the parts of a run, each with its position in the log, those that are missing under
        LOST."""
        gone = self._output.missing[stream]
        at, end = offset, offset + len(data)
        if not gone.crossed_by(at, end):
            return [(stream, at, data)]
        low, high = max(gone.start, at), min(gone.stop, end)
        spans = (stream, at, low), (LOST, low, high), (stream, high, end)
        return [(kind, start, data[start - at : stop - at]) for kind, start, stop in spans]


def _row(line: int | None, begin: int, stop: int, runs: list[object], whole: int) -> list[object]:
    size = max(whole, stop - begin)
    if size > ROW_BYTES:
        runs = _clipped(runs)
    return [None if line is None else line + 1, begin, runs, *([size] if size > ROW_BYTES else [])]


def _clipped(runs: list[object]) -> list[object]:
    """Return what is shown of a long line."""
    clipped: list[object] = []
    room = ROW_BYTES
    for kind, text in zip(runs[::2], runs[1::2], strict=True):
        if not isinstance(text, str):  # bytes that are LOST
            clipped += [kind, text]
            continue
        overwritten = text.rfind("\r", 0, -1)
        if len(text) > room and overwritten >= 0:
            clipped, text = [], text[max(overwritten + 1, len(text) - ROW_BYTES) :]
        clipped += [kind, text[:room]]
        room = max(0, room - len(text))
    return clipped
