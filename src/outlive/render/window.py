"""The part of a job's output that an answer shows: bounded, cut between lines, with the exact place
of what is left out."""

from __future__ import annotations

import functools
import re
from typing import Literal

from outlive import parts
from outlive.answers.output import Cut, Shown, Tails
from outlive.core.records import AUTO, STREAM_NAMES
from outlive.render import head_and_tail
from outlive.render.decode import hides_bytes, leading_cut, trailing_cut
from outlive.render.plain_text import without_rest
from outlive.render.sources import Decoding, Excerpted, Source, Text, View, gaps_in
from outlive.store.job_dir import JobDir
from outlive.store.output.gap import Hole
from outlive.store.output.merged import Output

_RENDERED_BYTES = 512 * 1024  # of more output it is not tried whether what is shown of it fits
_SAMPLE_BYTES = 16_384  # of output, its beginning: whether it is text
_FRAME_BYTES = 40  # a line of a spinner has fewer
_MOVES = rb"[\x1b\r](?!\n)"


def decoding(encoding: str | None) -> Decoding | None:
    """Return how output is decoded for a call that names this encoding, or none; None: as UTF-8. Errors: invalid_argument
    (`encoding`)."""
    found: Decoding | None = parts.first("decoding", encoding)
    return found


def text_of(output: Output, wanted: Decoding | None) -> Text | None:
    """Return the text of an output; None if it is UTF-8. `wanted`: what `decoding` returned; None: no call names an
    encoding."""
    decode = wanted or decoding(None)
    return None if decode is None else decode(output)


def show(job: JobDir, output: Output, since: int, stop: int, view: View, *, more: bool, failed: bool = False) -> Shown:
    """Return the merged output of [since, stop), shortened if it is longer than the view has room for. `more`: output
    can still follow, so an incomplete character or escape sequence at the end is left to the next answer. `failed`: it is
    that of a command that did, whose failures are looked for in all of it."""
    text = text_of(output, view.decoding) if since < output.end else None
    source = Source(job, output, raw=view.raw, more=more, text=text)
    source.replay = view.replay
    if view.replay and not view.raw and text is None:
        instead = output.steady(_instead, source, since, min(stop, source.end))
        if instead is not None:
            return instead
    return shown(source, since, stop, view, failed=failed)


def shown(source: Source, since: int, stop: int, view: View, *, failed: bool = False) -> Shown:
    """Return what `show` returns of text. Positions are those of the source."""
    output = source.output
    if not view.raw and view.max_bytes < source.hole.kept(since, min(stop, source.end)) <= _RENDERED_BYTES:
        whole = output.steady(_whole, source, since, min(stop, source.end), view.max_bytes)
        if whole is not None:
            return whole
    # Problem matchers are for bytes that are ASCII where a program is
    if (
        view.show == AUTO
        and not source.has_own_newline
        and source.hole.kept(since, min(stop, source.end)) > view.max_bytes
    ):
        for choose in parts.functions("chosen"):
            chosen = output.steady(functools.partial(choose, failed=failed), source, since, stop, view)
            if isinstance(chosen, Shown):
                return chosen
    return shortened(source, since, stop, view.max_bytes)


def _instead(source: Source, since: int, stop: int) -> Shown | None:
    """Return what a part shows in place of [since, stop), where that is no text."""
    if since >= stop or source.hole.crossed_by(since, stop):
        return None
    sample = source.read(since, min(stop, since + _SAMPLE_BYTES))
    instead = None if sample.isascii() else parts.first("in_place_of", sample, stop - since)
    if instead is None:
        return None
    cut = Cut(from_seq=since, to_seq=stop, bytes=stop - since, lines=None)
    return Shown(output=instead, since_seq=since, next_seq=stop, truncated=cut)


def _whole(source: Source, since: int, stop: int, max_bytes: int) -> Shown | None:
    """Return all of [since, stop), where escape sequences and what was drawn again take so much of it that the rest fits."""
    if source.hole.crossed_by(since, stop):
        return None
    data = source.read(since, stop)
    if not re.search(_MOVES, data) and data.count(b"\n") * _FRAME_BYTES < len(data):
        return None
    text, held = source.text(since, stop)
    if len(text.encode("utf-8", "replace")) > max_bytes:
        return None
    return _excerpt(source, [source.part(since, stop, text)], since, stop - held)


def _excerpt(source: Source, parts: list[Excerpted], since: int, stop: int, cut: Cut | Literal[False] = False) -> Shown:
    """Return [since, stop) as these parts, one below the other."""
    if source.parts is not None:
        source.parts = parts
    text = head_and_tail.joined(*(part.text for part in parts))
    gaps = gaps_in(source.hole, since, stop) or None
    return Shown(output=text, since_seq=since, next_seq=stop, truncated=cut, gaps=gaps)


def shortened(source: Source, since: int, stop: int, max_bytes: int) -> Shown:
    """Return [since, stop) shortened to its head and tail. Positions are those of the source."""
    room = max_bytes
    while True:
        shown = source.output.steady(_fitted, source, since, stop, room)
        smaller = head_and_tail.less_room(room, shown.output, max_bytes)
        if smaller is None:
            return shown
        room = smaller


def _fitted(source: Source, since: int, stop: int, room: int) -> Shown:
    """Return [since, stop) shortened to `room` raw bytes."""
    hole = source.hole
    since = min(since, source.end)
    stop = min(max(stop, since), source.end)
    if since < stop and hole.start < stop < hole.stop:
        stop = hole.stop
    if hole.kept(since, stop) <= room:
        parts, held = _parts(source, since, stop)
        return _excerpt(source, parts, since, stop - held)
    head_bytes = room // 3  # the tail gets two thirds, because errors and results stand at the end
    from_seq = hole.plus(since, head_and_tail.cut_head(source.read(since, hole.plus(since, head_bytes))))
    tail_start = hole.minus(stop, room - head_bytes)
    to_seq = hole.plus(tail_start, head_and_tail.cut_tail(source.read(tail_start, stop)))
    count, lines = hole.kept(from_seq, to_seq), source.lines_between(from_seq, to_seq)
    cut = Cut(from_seq=from_seq, to_seq=to_seq, bytes=count, lines=lines)
    marks = [Excerpted(f"{head_and_tail.omitted(from_seq, count, lines, source.name)}\n")]
    if hole.crossed_by(from_seq, to_seq):
        marks.append(_gone(hole))
    head, _ = _parts(source, since, from_seq)
    tail, held = _parts(source, to_seq, stop)
    return _excerpt(source, [*head, *marks, *tail], since, stop - held, cut)


def _parts(source: Source, start: int, stop: int) -> tuple[list[Excerpted], int]:
    """Return the text of [start, stop) with a line in the place of a gap, and how many bytes at its
    end are held back."""
    hole, held = source.hole, 0
    parts: list[Excerpted] = []
    crossed = hole.crossed_by(start, stop)
    if crossed and start < hole.start:
        parts.append(source.part(start, hole.start, source.text(start, hole.start)[0]))
    if crossed:
        parts.append(_gone(hole))
        start = hole.stop
    if not crossed or stop > start:
        text, held = source.text(start, stop)
        parts.append(source.part(start, stop, text))
    return parts, held


def _gone(hole: Hole) -> Excerpted:
    return Excerpted(f"{head_and_tail.gone(hole.stop - hole.start, hole.lines)}\n")


def tails(
    output: Output,
    lines: int,
    max_bytes: int,
    streams: tuple[int, ...] = (0, 1),
    decoding: Decoding | None = None,
    *,
    more: bool = False,
) -> Tails:
    """Return the answer of `tail`: the last lines of each of these streams, as exact text. Lines
    before a gap do not belong to them. `decoding`: as of a View. `more`: output can still follow, so an
    incomplete character at the end is left out."""
    text = text_of(output, decoding)
    texts, included, crossed = ["", ""], [0, 0], False
    for stream in streams:
        shown = output.steady(_tail, output, stream, lines, max_bytes, text, more)
        texts[stream], included[stream] = shown[:2]
        crossed = crossed or shown[2]
    return Tails(
        stdout_tail=texts[0],
        stderr_tail=texts[1],
        truncated=any(included[stream] != output.sizes[stream] for stream in streams),
        encoding="utf-8" if text is None else text.name,
        stdout_observed_bytes=output.sizes[0],
        stderr_observed_bytes=output.sizes[1],
        stdout_included_bytes=included[0],
        stderr_included_bytes=included[1],
        gaps=gaps_in(output.gap.merged, 0, output.end) if crossed else None,
    )


def _tail(
    output: Output, stream: int, lines: int, max_bytes: int, text: Text | None, more: bool
) -> tuple[str, int, bool]:
    """Return the text, how many bytes it is, and whether there would be more of it without a gap."""
    data, crossed = _tail_bytes(output, stream, lines, max_bytes, text)
    size = output.sizes[stream]
    if text is not None:
        return text.of(size - len(data), size, stream, final=not more), len(data), crossed
    if len(data) < size:
        # Drop the rest of a character whose beginning was cut off
        data = data[leading_cut(data) :]
        whole = data.decode("utf-8", "surrogateescape")
        kept = without_rest(whole, size - len(data), functools.partial(output.read_stream, stream))
        data = kept.encode("utf-8", "surrogateescape")
    if more:
        data = data[: len(data) - trailing_cut(data)]
    shown = data.decode("utf-8", "replace")
    output.not_utf_8 |= hides_bytes(shown, [(stream, data)], cut_start=False, cut_end=False)
    return shown, len(data), crossed


def _ends_line(output: Output, stream: int, position: int, text: Text | None) -> bool:
    read = functools.partial(output.read_stream, stream) if text is None else functools.partial(text.lines, stream)
    return read(position - 1, position) == b"\n"


_CHAR_BYTES = 4  # at most


def cut_tails(tails: Tails, output: Output, *, more: bool) -> str | None:
    """Return which tails begin within a line, for which there was no room; None if none does. `more`: as of `tails`."""
    cut = []
    # With `more`, a character at the end that is not complete is not included
    width = _CHAR_BYTES if more or tails.encoding != "utf-8" else 1
    shown = (tails.stdout_tail, tails.stdout_included_bytes), (tails.stderr_tail, tails.stderr_included_bytes)
    for stream, (text, included) in enumerate(shown):
        begins = output.sizes[stream] - included
        near = output.read_stream(stream, max(0, begins - width), begins)
        if included and begins >= width and "\n" not in text[:-1] and b"\n" not in near:
            cut.append(STREAM_NAMES[stream])
    return f"Of the only line of {' and of '.join(cut)} the beginning has no room here." if cut else None


def _tail_bytes(output: Output, stream: int, lines: int, max_bytes: int, text: Text | None) -> tuple[bytes, bool]:
    """Return the bytes, of which those are 0x0A that end a line, and whether there would be more of
    them without a gap."""
    size, hole = output.sizes[stream], output.gap.streams[stream]
    # Lines before a span that was cut away do not belong to the tail either
    cut = output.missing[stream].stop
    start = max(0, size - max_bytes, cut)
    crossed = hole.crossed_by(start, size)
    first = hole.stop if crossed else start
    data = output.read_stream(stream, first, size) if text is None else text.lines(stream, first, size)
    at = len(data)
    if data.endswith(b"\n"):
        at -= 1
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            # Of a line whose beginning has no room nothing is shown if another one begins behind it
            is_within = start > cut and not crossed and not _ends_line(output, stream, start, text)
            begins = data.find(b"\n", 0, len(data) - 1) + 1 if is_within else 0
            return data[begins:], crossed
    return (data[at + 1 :] if lines else b""), False
