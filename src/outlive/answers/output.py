"""What answers show of a job's output, and places in it and on its screen."""

from __future__ import annotations

from typing import Literal

from outlive.answers import BELOW, FULL_ONLY, HIDDEN, LAST, READABLE, Fields, field, optional

OUTPUT = (
    "Both streams in the order of arrival, rendered for reading unless raw; with cursor it ends with the screen. "
    "kill: the end of what the job printed after the signal."
)
GAPS = optional("What lies between the bytes shown and no call can show any more: the output passed the job's quota.")
ALTERNATE = "Does a program fill the whole screen, as editors do?"


class LeftOut(Fields):
    """One of several spans that are not shown."""

    from_seq: int = field("First byte not shown.")
    to_seq: int = field("First byte shown again.")
    lines: int | None = field("How many lines; null where counting them would cost more than the answer.")


class Cut(Fields):
    """What is not shown, as positions in the merged output: from the first span left out to the last."""

    from_seq: int = field("First byte not shown.")
    to_seq: int = field("First byte shown again.")
    bytes: int = field("How many bytes.")
    lines: int | None = field("How many lines; null where counting them would cost more than the answer.")
    gaps: list[LeftOut] | None = optional("Each span left out, where the lines shown were chosen.", brief=FULL_ONLY)


class Gap(Fields):
    """One gap, as a whole, also where only a part of it was asked for."""

    from_seq: int = field("First byte that is gone.")
    to_seq: int = field("First byte that is there again.")
    bytes: int = field("How many bytes.")
    lines: int = field("How many lines; the numbers of those behind it count them.")


class Cursor(Fields):
    """Where the cursor is."""

    row: int = field("From 0: lines[row].")
    column: int = field("From 0.")
    visible: bool = field("Is it shown?")


class Excerpt(Fields):
    """`output` shows [since_seq, next_seq), except for the span that `truncated` names (False: none) and except for `gaps`, of
    which nothing is left."""

    output: str = field(OUTPUT, place=LAST, human=BELOW)
    since_seq: int = field("Position at which output starts.", brief=FULL_ONLY)
    next_seq: int = field("Pass this as since_seq to go on.")
    truncated: Cut | Literal[False] = field("What is not shown, as positions in the merged output.", without=("gaps",))
    gaps: list[Gap] | None = GAPS


class Shown(Excerpt):
    """With `cursor` the output ends with the screen that a program fills, instead of what draws it
    (jobs/interaction/screen.py); with `alternate_screen` that is the alternate screen."""

    alternate_screen: bool | None = optional(ALTERNATE)
    cursor: Cursor | None = optional("Where the cursor is.")


class Tails(Fields):
    """The ends of both streams."""

    stdout_tail: str = field("The end of stdout, exact text.", place=LAST, human=BELOW, brief=READABLE)
    stderr_tail: str = field("The end of stderr, exact text.", place=LAST, human=BELOW, brief=READABLE)
    truncated: bool = field("Is there more than is included?")
    encoding: str = field("How the text was decoded; invalid bytes are U+FFFD.", brief=FULL_ONLY, human=HIDDEN)
    stdout_observed_bytes: int = field("Bytes of stdout there are.", brief=FULL_ONLY)
    stderr_observed_bytes: int = field("Bytes of stderr there are.", brief=FULL_ONLY)
    stdout_included_bytes: int = field("Bytes of stdout in stdout_tail.", brief=FULL_ONLY)
    stderr_included_bytes: int = field("Bytes of stderr in stderr_tail.", brief=FULL_ONLY)
    gaps: list[Gap] | None = GAPS


SEEN = optional("The end of what it put out so far, when output is empty.", place=LAST, human=BELOW, brief=FULL_ONLY)
SNIPPET = optional("The end of what it put out so far, when output is empty.", place=LAST, human=BELOW)
