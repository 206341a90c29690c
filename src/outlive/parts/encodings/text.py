"""Output of which a stream is not UTF-8: its text, and where its lines end.

Positions are those of bytes, as ever, and any position will do: a decoder begins at a place before it where a character
surely begins, and what it makes of those bytes is dropped. A character belongs to the read that has its last byte, so
reads one after the other give the text of the whole. That holds for stateful encodings too if each line ends in the
initial state, as they demand; the first _BACK_BYTES of a stream are exact in any case."""

from __future__ import annotations

import codecs
import os
import re
from functools import partial

from outlive.errors import invalid
from outlive.parts.encodings.encodings import Encoding, asked, of_head
from outlive.parts.encodings.secret_spans import SecretSpans
from outlive.render.decode import MAX_HELD_BYTES
from outlive.render.plain_text import MAX_SEQUENCE_BYTES, UNFINISHED
from outlive.render.sources import Decoding
from outlive.store.job_dir import MASKS, JobDir
from outlive.store.output import forms
from outlive.store.output.line_index import Lines
from outlive.store.output.masks import Find, Span
from outlive.store.output.merged import Output

Placed = list[tuple[int, int, bytes]]  # stream, position in its log, bytes

_MARK_BYTES = 4  # a byte order mark has at most so many
_BACK_BYTES = 262_144  # read before a position to find where a character begins
UTF_8 = "utf-8"


def decoding(name: str) -> Decoding:
    """Return what finds the text of an output of which a call says the encoding. Errors: invalid_argument (`encoding`)."""
    return partial(of, wanted=asked(name))


def of(output: Output, wanted: Encoding | None = None) -> Text | None:
    """Return the text of an output; None if it is UTF-8. Without `wanted` a byte order mark at the beginning of a stream says
    its encoding. Errors: invalid_argument (`encoding`) if values may stand in that output that are not found in it."""
    heads = [output.read_stream(stream, 0, _MARK_BYTES) if output.sizes[stream] > 1 else b"" for stream in (0, 1)]
    encodings = [of_head(head, wanted) for head in heads]
    unknown = {one.name for one in encodings if one is not None}.difference(forms.SEARCHED)
    if unknown and output.job.has(MASKS[0]):
        found = f"are not found in {min(unknown)}, only in {', '.join(forms.SEARCHED)}"
        raise invalid("encoding", f"the masked values of this job {found}")
    if encodings == [None, None]:
        return None
    return Text(output, (encodings[0] or Encoding(UTF_8), encodings[1] or Encoding(UTF_8)))


class Text:
    """Both streams of an output as text; `encodings`: of stdout and of stderr."""

    def __init__(self, output: Output, encodings: tuple[Encoding, Encoding]) -> None:
        secrets_of = output.job.secrets_of
        find = None if secrets_of is None else secrets_of(output.job.job_id)
        self.encodings = encodings
        self.name = next((one.name for one in encodings if one.name != UTF_8), UTF_8)
        self._output = output
        self._streams = [_Stream(output, stream, encoding, find) for stream, encoding in enumerate(encodings)]

    def has_own_newline(self, stream: int | None) -> bool:
        """Return whether lines end elsewhere than at bytes 0x0A in a stream, or (None) in one of both."""
        return any(one.has_own_newline for number, one in enumerate(self.encodings) if stream in (None, number))

    def of(self, start: int, stop: int, stream: int | None = None, *, final: bool) -> str:
        """Return the text of [start, stop) of the merged output, or of one log. No gap may lie in
        between. `final`: nothing follows, so a character that is not complete is U+FFFD."""
        placed = self._placed(start, stop, stream)
        text = [self._streams[number].feed(at, data) for number, at, data in placed]
        if final:
            text += [self._streams[number].end() for number in (0, 1) if stream in (None, number)]
        return "".join(text)

    def feed(self, stream: int, at: int, data: bytes) -> str:
        """Return the text that is complete with `data`, which stands at `at` of a log."""
        return self._streams[stream].feed(at, data)

    def pieces(self, start: int, stop: int, stream: int | None) -> list[tuple[int, bytes]]:
        """Return what is complete in [start, stop), as (stream, UTF-8)."""
        placed = self._placed(start, stop, stream)
        return [(number, self.feed(number, at, data).encode("utf-8", "replace")) for number, at, data in placed]

    def shown(self, start: int, stop: int, stream: int | None, *, more: bool) -> tuple[str, int]:
        """Return the text, and how many bytes at its end are held back until more output comes: a
        character or an escape sequence that is not complete, or a lone CR."""
        at_end = stop >= self._output.end_of(stream)
        text = self.of(start, stop, stream, final=at_end and not more)
        placed = self._placed(start, stop, stream) if more and at_end else []
        if not placed:
            return text, 0
        number, _, last = placed[-1]
        cut = min(self._streams[number].pending, len(last), MAX_HELD_BYTES)
        if cut:  # what an invalid byte is shown as, the next one may decide
            text = self.of(start, stop - cut, stream, final=False)
        begun = _begun(text)
        if begun:
            held = len(text[-begun:].encode(self.encodings[number].name, "replace")) + cut
            # Only if these bytes are that text: the encoder may have chosen others
            fits = held <= min(MAX_HELD_BYTES, stop - start)
            if fits and self.of(start, stop - held, stream, final=False) == text[:-begun]:
                return text[:-begun], held
        return text, cut

    def lines_of(self, job: JobDir, stream: int | None) -> Lines:
        """Return the lines of the merged output, or of one log. Close it after use."""
        if self.has_own_newline(stream):
            return EncodedLines(job, self._output, stream, self)
        return Lines(job, self._output, stream)

    def lines(self, stream: int | None, start: int, stop: int) -> bytes:
        """Return bytes [start, stop) with 0x0A where a newline ends, and nowhere else."""
        if stream is not None:
            parts = [(stream, start, self._output.read_stream(stream, start, stop))]
        else:
            parts = self._output.placed(start, stop)
        return b"".join(self._lines(number, at, data) for number, at, data in parts)

    def _lines(self, stream: int, at: int, data: bytes) -> bytes:
        encoding = self.encodings[stream]
        if not encoding.has_own_newline:
            return data
        before = at % encoding.width
        behind = -(at + len(data)) % encoding.width
        whole = self._output.read_stream(stream, at - before, at) + data
        if len(whole) != before + len(data):  # the rest of this unit is in the gap
            whole = bytes(before) + data
        return encoding.lines(whole + bytes([1]) * behind)[before : before + len(data)]

    def _placed(self, start: int, stop: int, stream: int | None) -> Placed:
        """Return the runs of [start, stop) without missing bytes."""
        if stream is None:
            pieces = self._output.placed(start, stop)
        else:
            pieces = [(stream, start, self._output.read_stream(stream, start, stop))]
        kept: Placed = []
        for number, at, data in pieces:
            spans = self._output.missing[number].around(at, at + len(data))
            kept += [(number, low, data[low - at : high - at]) for low, high in spans]
        return kept


def _begun(text: str) -> int:
    """Return how many characters at the end may go on: an escape sequence, or a CR."""
    end = text[-MAX_SEQUENCE_BYTES:]
    if "\x1b" in end or "\x9b" in end:
        unfinished = re.search(UNFINISHED, end)
        if unfinished:
            return len(unfinished[0])
    return int(end.endswith("\r"))


class _Stream:
    """Decodes one stream. What comes next goes on where the last bytes ended; any other position is looked for."""

    def __init__(self, output: Output, stream: int, encoding: Encoding, find: Find | None) -> None:
        """`find` finds what is not shown; None: all is."""
        self._output = output
        self._stream = stream
        self._encoding = encoding
        self._secrets = None if find is None else SecretSpans(output, stream, encoding.name, find)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._at = 0

    def feed(self, at: int, data: bytes) -> str:
        """Return the text that is complete with `data`, which stands at `at` of the log."""
        text, end = [], at + len(data)
        for secret in self._secrets_in(at, end):
            text.append(self._feed(at, data[: max(0, secret.start - at)]))
            if secret.start >= at or self._at != at:  # else its label stands in what was fed before
                text += [self.end(), secret.label]
            data = data[secret.stop - at :]
            at = self._at = min(end, secret.stop)
        return "".join(text) + self._feed(at, data)

    def _secrets_in(self, start: int, stop: int) -> list[Span]:
        return [] if self._secrets is None or start >= stop else self._secrets.between(start, stop)

    def _feed(self, at: int, data: bytes) -> str:
        if not data:
            return ""
        if self._decoder is None or at != self._at:
            self._decoder = self._encoding.decoder()
            self._at = self._begin(at)
            self._decode(self._at, self._output.read_stream(self._stream, self._at, at))
        skipped = max(0, self._at - at)  # the rest of a unit of which the beginning is gone
        self._at = at + len(data)
        return self._decode(at + skipped, data[skipped:])

    @property
    def pending(self) -> int:
        """How many bytes at the end are a character that is not complete."""
        return 0 if self._decoder is None else len(self._decoder.getstate()[0])

    def end(self) -> str:
        """Return what is shown of a character that will not be completed."""
        decoder, self._decoder = self._decoder, None
        return "" if decoder is None else decoder.decode(b"", True)

    def _decode(self, at: int, data: bytes) -> str:
        assert self._decoder is not None
        return self._decoder.decode(data[max(0, self._encoding.mark - at) :])

    def _begin(self, at: int) -> int:
        """Return where to begin, so that a character begins there: at or before `at`, or where the
        first unit begins behind bytes that are gone."""
        hole = self._output.gap.streams[self._stream]
        gone = self._output.missing[self._stream]
        least = max(span.stop if span.stop <= at else 0 for span in (hole, gone))
        width = self._encoding.width
        hidden = self._secrets_in(max(least, at - (_BACK_BYTES if width == 1 else 2 * width)), at)
        least = max(least, *(min(at, secret.stop) for secret in hidden), 0)
        if width > 1:  # one unit more: the first half of a surrogate pair may be before it
            return max(at - at % width - width, least + -least % width)
        if self._encoding.alone:
            return at
        start = max(least, at - _BACK_BYTES)
        if start == least:
            return start
        return start + self._output.read_stream(self._stream, start, at).rfind(b"\n") + 1


class EncodedLines(Lines):
    """Line numbers of a stream in which newlines are no bytes 0x0A. They are counted for each
    answer anew. Of bytes in a gap, the newlines are not known: there each byte 0x0A counts."""

    def __init__(self, job: JobDir, output: Output, stream: int | None, text: Text) -> None:
        self._text = text
        super().__init__(job, output, stream)

    def _index(self, job: JobDir, name: str) -> int:
        return os.memfd_create("lines", os.MFD_CLOEXEC)

    def read(self, start: int, stop: int) -> bytes:
        return self._text.lines(self._stream, start, stop)

    def take(self, start: int, count: int) -> tuple[int, bytes]:
        while True:
            at, data = super().take(start, count)
            of_lines = self.read(at, at + len(data))
            if len(of_lines) == len(data):  # else the gap grew over it
                return at, of_lines
