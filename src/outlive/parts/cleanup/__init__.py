"""Which of the jobs that have ended are deleted, and when: by the verb `gc`, and without it when another job is over.

Each supervisor loads code of this part, and with that this package. So its declaration is in a module of its own (part.py), which
is loaded when it is asked for: it and the class of parts are 70 kB, and no supervisor needs them.
"""

from __future__ import annotations

from typing import Any

from outlive.core.object_reference import resolve_name

GC = "gc"  # the verb, the section of the configuration, and the check of `outlive doctor`


def __getattr__(name: str) -> Any:
    if name != "PART":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.part:PART")
