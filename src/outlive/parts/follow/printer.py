"""Print a job's output as it comes, so that nothing in it acts on the terminal."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from outlive.cli.text import cut
from outlive.render.plain_text import UNFINISHED, readable

STDERR = 1
_RED, _RESET = "\x1b[31m", "\x1b[0m"
# Select Graphic Rendition: it changes how the characters after it look, and nothing else
_SGR = re.compile(r"(\x1b\[[0-9;:]*m)")
_UNFINISHED = re.compile(UNFINISHED)
_LONG = 65_536  # characters of a line that is printed before its end is known
_CLEAR = "\r\x1b[K"


class Printer:
    """Turns pieces of both streams into what is written to stdout. Each line is printed whole when it is complete, so
    the streams never mix within one. On a terminal the line that is being written is shown meanwhile on a row of its
    own: a prompt, or progress that overwrites itself. `wanted` tells which lines are printed, by their bytes as
    text. `timed`: the pieces come with their times, and each line begins with that of its first piece."""

    def __init__(
        self,
        *,
        terminal: bool = False,
        colour: bool = False,
        raw: bool = False,
        width: Callable[[], int] = lambda: 80,
        wanted: Callable[[str], bool] | None = None,
        timed: bool = False,
    ) -> None:
        self._terminal = terminal
        self._colour = colour
        self._raw = raw
        self._width = width
        self._wanted = wanted
        self._timed = timed
        self._begun_at = ["", ""]  # the time in front of the begun line of each stream
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(2)]
        self._open = ["", ""]  # the begun line of each stream
        self._last = 0  # the stream that was written last
        self._row = ""  # what of a begun line stands on the last row
        self._out: list[bytes] = []

    def feed(self, stream: int, data: bytes, at: str = "") -> None:
        """Take a piece of a stream, which was printed `at`."""
        self._last = stream
        if self._raw and self._wanted is None and not self._timed:
            self._out.append(data)
            return
        if not self._open[stream]:
            self._begun_at[stream] = at
        text = self._open[stream] + self._decoders[stream].decode(data)
        whole, newline, rest = text.rpartition("\n")
        if newline:
            self._lines(stream, whole, at=at)
            self._begun_at[stream] = at
        if len(rest) > _LONG:
            self._lines(stream, rest)
            rest = ""
        self._open[stream] = rest

    def note(self, text: str) -> None:
        """Print a line of ours between those of the job."""
        self._write(f"{text}\n")

    def take(self) -> bytes:
        """Return what is to be written now."""
        if self._terminal and not self._raw:
            self._show_begun()
        out = b"".join(self._out)
        self._out.clear()
        return out

    def finish(self) -> bytes:
        """Return the rest: lines that were begun and will not be completed."""
        for stream in (1 - self._last, self._last):
            rest = self._open[stream] + self._decoders[stream].decode(b"", True)
            self._open[stream] = ""
            if rest:
                is_last = stream == self._last and not self._terminal
                self._lines(stream, rest, end="" if is_last else "\n")
        return self.take()

    def _lines(self, stream: int, text: str, end: str = "\n", at: str = "") -> None:
        """Print whole lines, of which all but the first began `at`."""
        lines = text.split("\n")
        stamps = [self._begun_at[stream], *[at] * (len(lines) - 1)]
        if self._wanted is not None:
            wanted = [number for number, line in enumerate(lines) if self._wanted(line)]
            if not wanted:
                return
            lines, stamps = [lines[one] for one in wanted], [stamps[one] for one in wanted]
        if not self._raw and not text.replace("\n", "").isprintable():
            show = _coloured if self._colour else readable
            lines = [show(line) for line in lines]
        if stream == STDERR and self._colour:
            lines = [f"{_RED}{line.replace(_RESET, _RESET + _RED)}{_RESET}" if line else "" for line in lines]
        if self._timed:
            lines = [stamp + line for stamp, line in zip(stamps, lines, strict=True)]
        self._write("\n".join(lines) + end)

    def _write(self, text: str) -> None:
        if self._row:
            self._out.append(_CLEAR.encode())
            self._row = ""
        self._out.append(text.encode("utf-8", "backslashreplace"))

    def _show_begun(self) -> None:
        """Show the line that was written to last, as much of it as fits on one row: more could not be taken back."""
        stream = self._last if self._open[self._last] else 1 - self._last
        text = _begun(self._open[stream]) if self._wanted is None else ""
        text = self._begun_at[stream] + text if self._timed and text else text
        row = cut(text.expandtabs(), max(1, self._width() - 1))
        if row == self._row:
            return
        grown = row[len(self._row) :] if self._row and row.startswith(self._row) else None
        shown = row if grown is None else grown
        if stream == STDERR and self._colour and shown:
            shown = f"{_RED}{shown}{_RESET}"
        self._out.append(f"{_CLEAR if grown is None and self._row else ''}{shown}".encode("utf-8", "backslashreplace"))
        self._row = row


def _coloured(line: str) -> str:
    """Return a line without its newline as a terminal shows it in the end, with its colours, which end with it. A line
    that overwrites itself loses its colours."""
    if "\x1b[" in line:
        parts = _SGR.split(line.removesuffix("\r"))
        if len(parts) > 1 and all(readable(text) == text for text in parts[::2]):
            return "".join(parts) + _RESET
    return readable(line)


def _begun(line: str) -> str:
    """Return the text of a line that is not complete yet: its end may be half a sequence."""
    return readable(_UNFINISHED.sub("", line))
