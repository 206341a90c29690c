"""Places in a job's output and on its screen."""

from __future__ import annotations

from outlive.answers import FULL_ONLY, Part, field, optional


class LeftOut(Part):
    """One of several spans that are not shown."""

    from_seq: int = field("First byte not shown.")
    to_seq: int = field("First byte shown again.")
    lines: int | None = field("How many lines; null where counting them would cost more than the answer.")


class Cut(Part):
    """What is not shown, as positions in the merged output: from the first span left out to the last."""

    from_seq: int = field("First byte not shown.")
    to_seq: int = field("First byte shown again.")
    bytes: int = field("How many bytes.")
    lines: int | None = field("How many lines; null where counting them would cost more than the answer.")
    gaps: list[LeftOut] | None = optional("Each span left out, where the lines shown were chosen.", brief=FULL_ONLY)


class Gap(Part):
    """One gap, as a whole, also where only a part of it was asked for."""

    from_seq: int = field("First byte that is gone.")
    to_seq: int = field("First byte that is there again.")
    bytes: int = field("How many bytes.")
    lines: int = field("How many lines; the numbers of those behind it count them.")


class Cursor(Part):
    """Where the cursor is."""

    row: int = field("From 0: lines[row].")
    column: int = field("From 0.")
    visible: bool = field("Is it shown?")
