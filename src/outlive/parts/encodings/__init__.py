"""Output in other encodings than UTF-8, and output that is no text in any."""

from __future__ import annotations

from outlive.part import Part


class Encodings(Part):
    name = "encodings"
    arguments = {"max_bytes": "outlive.parts.encodings.arguments:ARGUMENTS"}
    decoding = "outlive.parts.encodings.marks:decoding"
    in_place_of = "outlive.parts.encodings.not_text:in_place_of"
    not_utf_8 = "outlive.parts.encodings.saying:how_to_read"
    after_waits = ("outlive.parts.encodings.text",)


PART = Encodings()
