"""Code that few jobs need: a terminal emulator (40 ms, 5 MB), RE2 (4 ms, 1.7 MB), the sandbox (9 ms, 0.9 MB), and what
parts of outlive add.

All other code that guardian and supervisor may need is imported before they are forked: an update of outlive may
replace its files at any time. This code is imported when a job asks for it, before its command is spawned. A fork
server imports it ahead: its pairs share the pages.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress

from outlive import parts
from outlive.core.records import Definition

_RE2 = "re2"
_SANDBOX = parts.in_supervisor(parts.CONFINES)
_ALL = (parts.EMULATOR, _RE2, _SANDBOX, *map(parts.in_supervisor, parts.IN_SUPERVISOR))


def missing(definition: Definition, noting: Iterable[str]) -> list[str]:
    """Return the modules that this job needs, and that are not loaded. `noting`: the parts of its request."""
    needed = {
        parts.EMULATOR: definition.pty,
        _RE2: bool(definition.notification.every_watch),
        _SANDBOX: definition.sandbox is not None,
    }
    names = [name for name, is_needed in needed.items() if is_needed]
    names += map(parts.in_supervisor, (*parts.needed(definition.kept), *noting))
    return [name for name in names if name not in sys.modules]


def load(modules: Iterable[str] = _ALL) -> None:
    """Import these modules. A job whose library is missing runs: its events say that it has no watches, and its
    terminal answers with a guess. Without a part that it needs it is not started (added.py)."""
    for name in modules:
        with suppress(ImportError, OSError):  # OSError: an update takes its file away now
            importlib.import_module(name)
