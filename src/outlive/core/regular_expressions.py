"""RE2: regular expressions that take linear time, whoever wrote them."""

from __future__ import annotations

from outlive.annotations import Any


def re2() -> Any:
    """Return the library. It is loaded at the first use: 4 ms and a megabyte, for searches alone.
    Errors: ImportError."""
    import re2  # late: see above

    return re2


def options() -> Any:
    """Return options for a pattern that is matched line by line."""
    chosen = re2().Options()
    chosen.log_errors = False
    chosen.never_nl = True  # [^x] and \s stay inside their line
    return chosen
