"""Where output comes from that answers show: both streams as they came, or one of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, Protocol, TypeAlias

from outlive.answers.output import Gap
from outlive.config import Config
from outlive.core.ids import short_id
from outlive.core.record import Value
from outlive.core.records import PLAIN
from outlive.render.decode import decode, hides_bytes, leading_cut
from outlive.render.plain_text import readable, without_begun, without_rest
from outlive.render.redraws import replayed, without_frames
from outlive.store.job_dir import JobDir
from outlive.store.output.gap import Hole
from outlive.store.output.line_index import Lines
from outlive.store.output.merged import Output

_COUNTED_GAP_BYTES = 4 * 1024**2  # lines of a larger gap are not counted for a poll


class Text(Protocol):
    """Output of which a stream is not UTF-8, as text. A part makes it (`decoding` in part.py). Positions are those of bytes;
    `stream`: 0 or 1, whose log they are of; None: both, merged."""

    name: str  # of the encoding

    def of(self, start: int, stop: int, stream: int | None = None, *, final: bool) -> str:
        """Return the text of [start, stop). `final`: nothing follows, so a character at its end that is not complete is
        shown as one that is not valid."""

    def feed(self, stream: int, at: int, data: bytes) -> str:
        """Return the text that is complete with `data`, which stands at `at` of a log."""

    def shown(self, start: int, stop: int, stream: int | None, *, more: bool) -> tuple[str, int]:
        """Return what `Source.text` does. `more`: as of a Source."""

    def pieces(self, start: int, stop: int, stream: int | None) -> list[tuple[int, bytes]]:
        """Return what is complete in [start, stop), as (stream, UTF-8)."""

    def has_own_newline(self, stream: int | None) -> bool:
        """Return whether lines end elsewhere than at bytes 0x0A."""

    def lines(self, stream: int | None, start: int, stop: int) -> bytes:
        """Return bytes [start, stop) with 0x0A where a newline ends, and nowhere else."""

    def lines_of(self, job: JobDir, stream: int | None) -> Lines:
        """Return the lines. Close them after use."""


# Takes an output and returns its text; None if it is UTF-8
Decoding: TypeAlias = Callable[[Output], Text | None]


def lines_of(job: JobDir, output: Output, stream: int | None, text: Text | None) -> Lines:
    """Return the lines of the merged output, or of one log. Close it after use."""
    return Lines(job, output, stream) if text is None else text.lines_of(job, stream)


class Excerpted(Value):
    """A part of an excerpt: its text, where its bytes begin, and these with 0x0A where a line ends; None: a line of ours."""

    text: str
    start: int = 0
    data: bytes | None = None


class Source:
    """Output as a source of what is shown: the merged output, or with `lines` the log of one stream, which has positions of
    its own."""

    def __init__(
        self,
        job: JobDir,
        output: Output,
        *,
        raw: bool,
        more: bool,
        text: Text | None = None,
        stream: int | None = None,
        lines: Lines | None = None,
    ) -> None:
        self.output = output
        self.name = short_id(job.job_id) + ("" if stream is None else f" stream={('stdout', 'stderr')[stream]}")
        self.raw = raw
        self.parts: list[Excerpted] | None = None  # if a list: those of the excerpt that was made last
        self.replay = False  # whether lines that were drawn again are shown as they were last drawn
        self._job = job
        self._more = more
        self._text = text
        self._stream = stream
        self._lines = lines

    @property
    def hole(self) -> Hole:
        return self.output.gap.merged if self._lines is None else self._lines.hole

    @property
    def end(self) -> int:
        return self.output.end if self._lines is None else self._lines.end

    @property
    def has_own_newline(self) -> bool:
        """Whether lines end elsewhere than at bytes 0x0A."""
        return self._text is not None and self._text.has_own_newline(self._stream)

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes in which 0x0A ends a line."""
        if self._lines is not None:
            return self._lines.read(start, stop)
        if self._text is not None and self.has_own_newline:
            return self._text.lines(None, start, stop)
        return self.output.read(start, stop)

    def part(self, start: int, stop: int, text: str) -> Excerpted:
        """Return the text of [start, stop) as a part of an excerpt."""
        return Excerpted(text, start, self.read(start, stop) if self.parts is not None else b"")

    def text(self, start: int, stop: int) -> tuple[str, int]:
        """Return the text of [start, stop), and how many bytes at its end are held back until more
        output comes. No gap may lie in between."""
        if self._text is not None:
            whole, held = self._text.shown(start, stop, self._stream, more=self._more)
        else:
            pieces = self._pieces(start, stop)
            whole, held = decode(pieces, more=self._more and stop == self.end)
            cut_end = self._more or stop < self.end
            self.output.not_utf_8 |= hides_bytes(whole, pieces, cut_start=start > 0, cut_end=cut_end)
        if self.raw:
            return whole, held
        whole = without_rest(whole, start, self.read)
        if self._more or stop < self.end:
            whole = without_begun(whole)
        return without_frames(replayed(whole)) if self.replay else readable(whole), held

    def _pieces(self, start: int, stop: int) -> list[tuple[int, bytes]]:
        if self._stream is None:
            return self.output.pieces(start, stop)
        data = self.output.shown_stream(self._stream, start, stop)
        return [(self._stream, data[leading_cut(data) if start else 0 :])]

    def lines_between(self, start: int, stop: int) -> int | None:
        """Return how many newlines are still there; None if the index does not have them and
        counting would take long."""
        if self._lines is not None:
            return lines_kept(self._lines, start, stop)
        if self.hole.kept(start, stop) <= _COUNTED_GAP_BYTES:
            return self.read(start, stop).count(b"\n")
        with closing(lines_of(self._job, self.output, None, self._text)) as lines:
            if self.hole.kept(max(start, lines.known_to()), stop) > _COUNTED_GAP_BYTES:
                return None
            return lines_kept(lines, start, stop)


def gaps_in(hole: Hole, start: int, stop: int) -> list[Gap]:
    """Return the gap as answers have it, if any of it lies in [start, stop): always the whole gap."""
    if not hole.crossed_by(start, stop):
        return []
    return [Gap(from_seq=hole.start, to_seq=hole.stop, bytes=hole.stop - hole.start, lines=hole.lines)]


def lines_kept(lines: Lines, start: int, stop: int) -> int:
    """Return how many newlines of [start, stop) are still there."""
    hole = lines.hole
    gone = hole.lines if hole.crossed_by(start, stop) and start <= hole.start else 0
    return lines.before(stop) - lines.before(start) - gone


class View(Value):
    """At most `max_bytes` of text, with escape sequences if `raw`. `show`: what is chosen of longer output; `auto`:
    the lines that report a failure, which `matchers` of the configuration and those built in name, the end and the beginning; `plain`: the
    beginning and the end. `decoding` of the output (`decoding` in window.py)."""

    max_bytes: int
    raw: bool = False
    show: str = PLAIN
    matchers: tuple[Any, ...] = ()
    decoding: Decoding | None = None
    replay: bool = False  # as of a Source
    goes_on: bool = False  # the command works: of steps that are all alike only the last ones are shown


def view_of(
    config: Config, max_bytes: int, *, raw: bool = False, show: str | None = None, decoding: Decoding | None = None
) -> View:
    """Return the view of a call."""
    matchers = config.get("output", "problem_matcher")
    return View(max_bytes, raw, show or config.get("output", "show"), matchers, decoding, replay=True)
