"""Which output may be of another encoding: the rest of this part is loaded for this alone."""

from __future__ import annotations

from outlive.core.object_reference import resolve_name
from outlive.part import Decoding, Output, Text

_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0")  # how byte order marks begin


def decoding(encoding: str | None) -> Decoding:
    """Return what finds the text of an output. `encoding`: that a call says; None: a byte order mark does. Errors:
    invalid_argument (`encoding`)."""
    if encoding is None:
        return _by_its_mark
    named: Decoding = resolve_name("outlive.parts.encodings.text:decoding")(encoding)
    return named


def _by_its_mark(output: Output) -> Text | None:
    """Return the text of an output of which a stream begins with a byte order mark; None of others."""
    if not any(output.read_stream(stream, 0, 2) in _MARKS for stream in (0, 1) if output.sizes[stream] > 1):
        return None
    text: Text | None = resolve_name("outlive.parts.encodings.text:of")(output)
    return text
