"""Patterns of terminal control sequences in text (ECMA-48; xterm's ctlseqs), in 7-bit and 8-bit forms.

Every pattern takes linear time: what may follow an introducer never contains another introducer, and quantifiers are
possessive, so no character is examined more than a few times whatever a job prints. The patterns are strings, compiled
(and cached by `re`) at their first use: that takes milliseconds, and most output has no escape sequence."""

MAX_SEQUENCE_BYTES = 4_096  # a longer unfinished sequence is garbage, not a sequence

CSI = r"(?:\x1b\[|\x9b)"
_STRING = r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])"  # DCS SOS OSC PM APC
# A newline ends a string although ECMA-48 allows it in some: one stray introducer must not swallow
# the lines after it.
_BODY = r"[^\x07\n\x18\x1a\x1b\x80-\x9f]"
_STRING_END = r"(?:\x07|\x1b\\|\x9c)"
_MOTION = r"[0-9;]*+[CDGK`a]"

# Moves the cursor within its line or erases there. Groups: parameters, final character.
MOTION = CSI + r"([0-9;]*+)([CDGK`a])"

# Every other sequence. A sequence that was broken off matches too, but of an overlong string only
# its introducer does.
NOISE = "|".join(
    (
        rf"{CSI}(?!{_MOTION})[0-?]*+[ -/]*+[@-~]?",
        rf"{_STRING}(?:{_BODY}*+{_STRING_END}|{_BODY}{{0,{MAX_SEQUENCE_BYTES}}}+(?!{_BODY}))?",
        r"\x1b(?!\[)[ -/]*+[0-~]?",
    )
)

# A sequence that has begun and has not ended yet.
UNFINISHED = rf"(?:{CSI}[0-?]*+[ -/]*+|{_STRING}{_BODY}*+\x1b?|\x1b[ -/]*+)\Z"
