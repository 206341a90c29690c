"""The checks of `outlive doctor`: one module a topic, one function a check. What a part needs is checked by the part.

A check takes the `CheckContext` and returns a `Finding`.
"""

from __future__ import annotations

from collections.abc import Callable

from outlive import parts
from outlive.core.object_reference import resolve_name
from outlive.errors import OutliveError
from outlive.parts.doctor import jobs, kernel, processes, resources, root, setup, systemd
from outlive.parts.finding import CheckContext, Finding, warn

Check = Callable[[CheckContext], Finding]
# Name → check, in the order of the answer; None: here stands that of a part
_OF_THE_HEART: dict[str, Check | None] = {
    "python": setup.python,
    "configuration": setup.configuration,
    "root": root.root,
    "file_system": root.file_system,
    "space": root.space,
    "gc": None,
    "jobs": jobs.jobs,
    "supervision": jobs.supervision,
    "processes": processes.processes,
    "version": processes.version,  # after supervision, which asks the supervisors
    "kernel": kernel.features,
    "who_is_blocked": kernel.blocked,
    "sandbox": None,
    "open_files": resources.open_files,
    "pipes": resources.pipes,
    "memory": resources.memory,
    "zombies": resources.zombies,
    "logout": systemd.logout,
    "service": systemd.service,
    "scopes": systemd.scopes,
}


def every() -> dict[str, Check]:
    """Return each check by its name."""
    of_parts = {name: code for part in parts.every() for name, code in part.checks.items()}
    found = {**_OF_THE_HEART, **{name: resolve_name(code) for name, code in of_parts.items()}}
    return {name: check for name, check in found.items() if check is not None}


def run(context: CheckContext) -> dict[str, Finding]:
    """Return what each check found. A check that cannot be made says so, and holds up no other."""
    return {name: _tried(check, context) for name, check in every().items()}


def _tried(check: Callable[[CheckContext], Finding], context: CheckContext) -> Finding:
    try:
        return check(context)
    except (OSError, OutliveError, ValueError) as error:
        return warn(f"this could not be checked: {error}", "Run `outlive doctor` as the user whose jobs these are.")
