"""Output in other encodings than UTF-8, and output that is no text in any."""

from __future__ import annotations

from outlive.part import Context, Decoding, Output, Part, Text

_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0")  # how byte order marks begin


class Encodings(Part):
    name = "encodings"
    arguments = {"max_bytes": "outlive.parts.encodings.arguments:ARGUMENTS"}
    after_waits = ("outlive.parts.encodings.text", "outlive.parts.encodings.not_text", "outlive.parts.encodings.saying")

    def decoding(self, encoding: str | None) -> Decoding | None:
        if encoding is None:
            return _by_its_mark
        from outlive.parts.encodings import text

        return text.decoding(encoding)

    def in_place_of(self, sample: bytes, count: int) -> str | None:
        if sample.isascii():
            return None
        from outlive.parts.encodings import not_text

        return not_text.dump(sample, count) if not_text.is_no_text(sample) else None

    def not_utf_8(self, ctx: Context, output: Output) -> str | None:
        from outlive.parts.encodings import saying

        return saying.how_to_read(ctx, output)


def _by_its_mark(output: Output) -> Text | None:
    """Return the text of an output of which a stream begins with a byte order mark; None of others, for which nothing else of
    this part is loaded."""
    if not any(output.read_stream(stream, 0, 2) in _MARKS for stream in (0, 1) if output.sizes[stream] > 1):
        return None
    from outlive.parts.encodings import text

    return text.of(output)


PART = Encodings()
