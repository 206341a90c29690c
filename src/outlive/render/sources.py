"""Where output comes from that answers show: both streams as they came, or one of them."""

from __future__ import annotations

from outlive.core.ids import short_id
from outlive.render.decode import decode, decode_exact
from outlive.render.plain_text import readable
from outlive.store.output.line_index import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.job_dir import JobDir
    from outlive.store.output.gap import Hole
    from outlive.store.output.merged import Output

_COUNTED_GAP_BYTES = 4 * 1024**2  # lines of a larger gap are not counted for a poll


class Merged:
    """The merged output as a source of what is shown."""

    def __init__(self, job: JobDir, output: Output, *, raw: bool, more: bool) -> None:
        self.output = output
        self.name = short_id(job.job_id)
        self.raw = raw
        self._job = job
        self._more = more

    @property
    def hole(self) -> Hole:
        return self.output.gap.merged

    @property
    def end(self) -> int:
        return self.output.end

    def read(self, start: int, stop: int) -> bytes:
        return self.output.read(start, stop)

    def text(self, start: int, stop: int) -> tuple[str, int]:
        """Return the text of [start, stop), and how many bytes at its end are held back until more
        output comes. No gap may lie in between."""
        whole, held = decode(self.output.pieces(start, stop), more=self._more and stop == self.end)
        return whole if self.raw else readable(whole), held

    def lines_between(self, start: int, stop: int) -> int | None:
        """Return how many newlines are still there; None if the index does not have them and
        counting would take long."""
        lines = Lines(self._job, self.output)
        try:
            if self.hole.kept(max(start, lines.known_to()), stop) > _COUNTED_GAP_BYTES:
                return None
            if self.hole.kept(start, stop) <= _COUNTED_GAP_BYTES:
                return self.read(start, stop).count(b"\n")
            return lines_kept(lines, start, stop)
        finally:
            lines.close()


class StreamLog:
    """The log of one stream as a source of what is shown. Positions are offsets in that log."""

    def __init__(self, job: JobDir, output: Output, lines: Lines, stream: int, *, raw: bool) -> None:
        self.output = output
        self.name = f"{short_id(job.job_id)} stream={('stdout', 'stderr')[stream]}"
        self._stream = stream
        self.raw = raw
        self._lines = lines

    @property
    def hole(self) -> Hole:
        return self._lines.hole

    @property
    def end(self) -> int:
        return self._lines.end

    def read(self, start: int, stop: int) -> bytes:
        return self._lines.read(start, stop)

    def text(self, start: int, stop: int) -> tuple[str, int]:
        whole = decode_exact(self.output.shown_stream(self._stream, start, stop), cut_start=start > 0)
        return whole if self.raw else readable(whole), 0

    def lines_between(self, start: int, stop: int) -> int:
        return lines_kept(self._lines, start, stop)


def lines_kept(lines: Lines, start: int, stop: int) -> int:
    """Return how many newlines of [start, stop) are still there."""
    hole = lines.hole
    gone = hole.lines if hole.crossed_by(start, stop) and start <= hole.start else 0
    return lines.before(stop) - lines.before(start) - gone
