"""The output of a job as the rows of a page: any of them at once, however long the output is.

A row is a line. The gap (store/output/gap.py) is one row, whatever was in it. Rows are counted
from 0, lines of the answer from 1, as `log` counts them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.control_client import ControlClient
from outlive.jobs.waiting import Pause
from outlive.render.window import gaps_in
from outlive.store import history
from outlive.store.output.line_index import Lines
from outlive.store.output.merged import Output

if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

MOST_ROWS = 2_000  # of one answer
ROW_BYTES = 16_384  # of one row; the rest of a longer line is not shown
_PAGE_BYTES = 1 << 20  # rows that take more are read one by one
_TAIL_BYTES = 1 << 17  # shown while the lines are not counted yet
_COUNT_S = 0.15  # so long an answer waits for lines to be counted
_TOGETHER_S = 0.4  # what is printed within this comes in one answer: a viewer costs little
LOST = 2  # in place of a stream: bytes that another program cut out of a log


def rows(
    ctx: Context,
    *,
    job_id: str,
    row: int | None = None,
    seq: int | None = None,
    line: int | None = None,
    count: int = 200,
    known: dict[str, Any] | None = None,
    wait_ms: int = 0,
) -> Waiting[dict[str, Any]]:
    """Return `count` rows from `row` on, or around the one with position `seq` or with `line`; by
    default the last ones.

    With `wait_ms`, answer only when something differs from `known`, which holds `end`, `state` and
    `events` of an earlier answer. Errors: job_not_found.
    """
    with lookup.open_job(ctx, job_id) as job:
        if wait_ms and known is not None:
            yield from _changed(ctx, job, known, time.monotonic() + wait_ms / 1000)
        found = adoption.inspect_and_adopt(ctx, job)
        with Output(job) as output:
            page = _Page(job, output)
            try:
                yield from page.count(whole=row is not None or line is not None)
                answer = output.steady(page.read, row, seq, line, max(1, min(count, MOST_ROWS)))
            finally:
                page.lines.close()
            return {
                **_about(found, job, output),
                **answer,
                **job_answer.waiting(found, output),
                **job_answer.unresponsive(found),
                **job_answer.losses(found, output),
            }


def _about(found: Inspection, job: JobDir, output: Output) -> dict[str, Any]:
    state = found.state
    return {
        "job_id": job.job_id,
        **job_answer.state_and_end(found),
        "pty": found.definition.pty,
        "end": output.end,
        "events": history.size(job),
        "over": state.finished and not found.supervised,
        "gaps": gaps_in(output.gap.merged, 0, output.end),
    }


def _changed(ctx: Context, job: JobDir, known: dict[str, Any], deadline: float) -> Waiting[None]:
    """Wait until something of the job differs from what is known."""
    control = ControlClient(job, output=True)
    try:
        while time.monotonic() < deadline:
            adoption.require_in_place(job)
            found = adoption.inspect_and_adopt(ctx, job)
            with Output(job) as output:
                about = _about(found, job, output)
            if about["over"] or any(about[name] != known.get(name) for name in ("state", "end", "events")):
                if not found.state.finished:
                    yield Pause((), time.monotonic() + _TOGETHER_S)
                return
            yield from control.pause(deadline)
    finally:
        control.close()


class _Page:
    """Rows of one snapshot of the output."""

    def __init__(self, job: JobDir, output: Output) -> None:
        self._output = output
        self.lines = Lines(job, output)
        self.counted = True

    def count(self, *, whole: bool) -> Waiting[None]:
        """Count lines, all of them if `whole`, else for a moment."""
        until = time.monotonic() + _COUNT_S
        for step in self.lines.count():
            yield step
            if not whole and time.monotonic() >= until:
                self.counted = False
                return

    def read(self, row: int | None, seq: int | None, line: int | None, count: int) -> dict[str, Any]:
        if not self.counted:
            return self._uncounted(seq, count)
        total = self._total()
        around = self._row_at(seq) if seq is not None else None if line is None else self._row_of(line - 1)
        if around is not None:
            row = max(0, around - count // 4)
        first = max(0, total - count) if row is None else max(0, min(row, total))
        found = {"total_rows": total, "first_row": first, "rows": self._rows(first, min(count, total - first))}
        return found if around is None else {**found, "row": around}

    def _uncounted(self, seq: int | None, count: int) -> dict[str, Any]:
        """Return rows without their numbers, for the time until all lines are counted."""
        start = max(0, self.lines.end - _TAIL_BYTES) if seq is None else seq
        start, data = self.lines.take(start, _TAIL_BYTES)
        cut = data.find(b"\n") + 1 if start else 0
        found = self._split(start + cut, start + len(data), None)
        found = found[-count:] if seq is None else found[:count]
        return {"total_rows": None, "counted": self.lines.known_to(), "first_row": None, "rows": found}

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

    def _row_at(self, seq: int) -> int:
        edges, hole = self._edges(), self.lines.hole
        seq = min(seq, max(0, self.lines.end - 1))
        if edges is not None and hole.holds(seq):
            return edges[0]
        line = self.lines.before(seq)
        return line if edges is None or seq < hole.start else edges[0] + 1 + line - edges[1]

    def _rows(self, first: int, count: int) -> list[Any]:
        edges = self._edges()
        if edges is None:
            return self._lines(first, first + count)
        kept, behind = edges
        hole = self.lines.hole
        stop = first + count
        found = self._lines(first, min(stop, kept), before=hole.start) if first < kept else []
        if first <= kept < stop:
            found.append({"gap": gaps_in(hole, 0, self.lines.end)[0]})
        low = max(first, kept + 1)
        if low < stop:
            found += self._lines(behind + low - kept - 1, behind + stop - kept - 1, after=hole.stop)
        return found

    def _lines(self, first: int, stop: int, *, after: int = 0, before: int | None = None) -> list[Any]:
        """Return lines [first, stop), which are all on one side of the gap."""
        begin = max(after, self.lines.start_of(first))
        end = self.lines.end if before is None else before
        finish = min(end, self.lines.start_of(stop))
        if finish - begin <= _PAGE_BYTES:
            return self._split(begin, finish, first)[: stop - first]
        found: list[Any] = []
        for line in range(first, stop):
            start = max(after, self.lines.start_of(line))
            finish = min(end, self.lines.start_of(line + 1))
            if start >= finish and line > first:
                break
            found += self._split(*self._shown_part(start, finish), line, whole=finish - start)[:1]
        return found

    def _shown_part(self, start: int, stop: int) -> tuple[int, int]:
        """Return what is shown of a line that may be too long: the last of the texts that
        overwrite each other, else its beginning."""
        if stop - start <= ROW_BYTES:
            return start, stop
        tail = self.lines.read(stop - ROW_BYTES, stop)
        overwritten = tail.find(b"\r", 0, -2)
        return (start, start + ROW_BYTES) if overwritten < 0 else (stop - ROW_BYTES + overwritten + 1, stop)

    def _split(self, start: int, stop: int, line: int | None, *, whole: int = 0) -> list[Any]:
        """Return [start, stop) as rows `[line, position, [stream, text, …], length?]`. A length
        tells that not all of the line is shown."""
        found: list[Any] = []
        runs: list[Any] = []
        at = begin = start
        for stream, offset, data in self._output.placed(start, stop):
            for kind, text in self._kept(stream, offset, data):
                pieces = text.split(b"\n") if kind != LOST else [text]
                for number, piece in enumerate(pieces):
                    ends = number < len(pieces) - 1
                    if piece:
                        runs += [kind, len(piece) if kind == LOST else piece.decode("utf-8", "replace")]
                    at += len(piece) + ends
                    if ends:
                        found.append(_row(line, begin, at, runs, whole))
                        begin, runs, line = at, [], None if line is None else line + 1
        if runs or (not found and begin == start < stop):
            found.append(_row(line, begin, at, runs, whole))
        return found

    def _kept(self, stream: int, offset: int, data: bytes) -> list[tuple[int, bytes]]:
        """Return the parts of a run, those that are missing under LOST."""
        found: list[tuple[int, bytes]] = []
        at, end = offset, offset + len(data)
        for low, high in self._output.missing[stream]:
            low, high = max(low, at), min(high, end)
            if low < high:
                found += [(stream, data[at - offset : low - offset]), (LOST, data[low - offset : high - offset])]
                at = high
        return [*found, (stream, data[at - offset :])]


def _row(line: int | None, begin: int, stop: int, runs: list[Any], whole: int) -> list[Any]:
    size = max(whole, stop - begin)
    if size > ROW_BYTES:
        runs = _clipped(runs)
    return [None if line is None else line + 1, begin, runs, *([size] if size > ROW_BYTES else [])]


def _clipped(runs: list[Any]) -> list[Any]:
    """Return what is shown of a long line."""
    found: list[Any] = []
    room = ROW_BYTES
    for kind, text in zip(runs[::2], runs[1::2], strict=True):
        if kind == LOST:
            found += [kind, text]
            continue
        overwritten = text.rfind("\r", 0, -1)
        if len(text) > room and overwritten >= 0:
            found, text = [], text[max(overwritten + 1, len(text) - ROW_BYTES) :]
        found += [kind, text[:room]]
        room = max(0, room - len(text))
    return found
