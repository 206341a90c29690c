"""What a call that waits long may import after its wait: it loads that before, since an update may replace the files.

It takes an eighth of a second and 11 MB, which a short call is spared.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

from outlive import parts
from outlive.supervisor import large_code

# With what these import at once; a unit test follows their imports
_NAMES = (
    *("cli.help", "cli.human", "cli.live.progress", "cli.refusal", "cli.summary"),
    *("cli.text", "config.file", "jobs.conditions.job_wait", "jobs.diagnosis.deleted"),
    *("jobs.diagnosis.findings", "jobs.interaction.prompt"),
    "jobs.told.notices",
    *("jobs.starting.adopting", "jobs.starting.scope"),
    *("launch.engine", "launch.from_cli", "supervisor.guardian"),
)


def load() -> None:
    ours = (f"outlive.{name}" for name in _NAMES)
    for name in (*ours, *parts.after_waits()):
        # A library that is not installed, or a file that an update takes away now; an answer that needs it says so
        with suppress(ImportError, OSError):
            importlib.import_module(name)
    large_code.load()
