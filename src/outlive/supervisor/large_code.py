"""Code that is large, and that few jobs need: a terminal emulator (40 ms, 5 MB) and RE2 (4 ms, 1.7 MB).

All other code that guardian and supervisor may need is imported before they are forked: an update of outlive may
replace its files at any time. This code is imported when a job asks for it, before its command is spawned. A fork
server imports it ahead: its pairs share the pages.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress

from outlive.core.records import Definition

_EMULATOR, _RE2 = "outlive.render.screen", "re2"


def missing(definition: Definition) -> list[str]:
    """Return the modules that this job needs, and that are not loaded."""
    needed = {_EMULATOR: definition.pty, _RE2: bool(definition.notification.every_watch)}
    return [name for name, is_needed in needed.items() if is_needed and name not in sys.modules]


def load(modules: Iterable[str] = (_EMULATOR, _RE2)) -> None:
    """Import these modules. A job whose library is missing runs: its events say that it has no watches, and its
    terminal answers with a guess."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)
