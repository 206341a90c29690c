"""What is loaded at its first use, because most processes need none of it: libraries, and modules of our own by name."""

from __future__ import annotations

from outlive.annotations import Any


def named(name: str) -> Any:
    """Return what `module:name` names. Errors: ImportError."""
    module, _, inside = name.partition(":")
    # Not importlib.import_module: it takes 0.3 ms of each call of the command line, and `python -X importtime`, with the
    # tests that read it, would not see the module
    return getattr(__import__(module, fromlist=(inside,)), inside)


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
