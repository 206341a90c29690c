"""Libraries that are loaded at their first use, because most processes need none of them."""

from __future__ import annotations

from outlive.annotations import Any


def re2() -> Any:
    """Return RE2: regular expressions that take linear time, whatever the pattern. Errors: ImportError."""
    import re2  # late: 4 ms and a megabyte, for searches alone

    return re2


def line_options() -> Any:
    """Return options of RE2 for a pattern that is matched line by line."""
    chosen = re2().Options()
    chosen.log_errors = False
    chosen.never_nl = True  # [^x] and \s stay inside their line
    return chosen
