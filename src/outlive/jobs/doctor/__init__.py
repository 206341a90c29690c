"""The checks of `outlive doctor`: one module a topic, one function a check, all of them listed in
CHECKS.

A check takes the `Place` and returns a `Finding`.
"""

from __future__ import annotations

from collections.abc import Callable

from outlive.errors import OutliveError
from outlive.jobs.doctor import jobs, kernel, processes, resources, root, setup, systemd
from outlive.jobs.doctor.finding import Finding, Place, warn

# Name → check, in the order of the answer.
CHECKS: dict[str, Callable[[Place], Finding]] = {
    "python": setup.python,
    "configuration": setup.configuration,
    "root": root.root,
    "file_system": root.file_system,
    "space": root.space,
    "gc": root.automatic,
    "jobs": jobs.jobs,
    "supervision": jobs.supervision,
    "processes": processes.processes,
    "version": processes.version,  # after supervision, which asks the supervisors
    "kernel": kernel.features,
    "who_is_blocked": kernel.blocked,
    "sandbox": setup.sandbox,
    "open_files": resources.open_files,
    "pipes": resources.pipes,
    "memory": resources.memory,
    "zombies": resources.zombies,
    "logout": systemd.logout,
    "service": systemd.service,
    "scopes": systemd.scopes,
    "clients": setup.clients,
    "serving": processes.serving,
    "audit": setup.audit,
}


def run(place: Place) -> dict[str, Finding]:
    """Return what each check found. A check that cannot be made says so, and holds up no other."""
    return {name: _tried(check, place) for name, check in CHECKS.items()}


def _tried(check: Callable[[Place], Finding], place: Place) -> Finding:
    try:
        return check(place)
    except (OSError, OutliveError, ValueError) as error:
        return warn(f"this could not be checked: {error}", "Run `outlive doctor` as the user whose jobs these are.")
