"""RE2: regular expressions that take linear time, whatever the pattern. Loaded at its first use, by searches alone."""

from __future__ import annotations

from typing import Any


def re2() -> Any:
    """Return the module. Errors: ImportError."""
    import re2  # late: 4 ms and a megabyte

    return re2


def line_options() -> Any:
    """Return options for a pattern that is matched line by line."""
    chosen = re2().Options()
    chosen.log_errors = False
    chosen.never_nl = True  # [^x] and \s stay inside their line
    return chosen
