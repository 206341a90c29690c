"""What `doctor` looks at: one module a topic, one function a check. A check takes the `Place` and returns a `Finding`;
whoever adds one writes it down in CHECKS.
"""

from __future__ import annotations

from outlive.errors import OutliveError
from outlive.jobs.doctor import clients, install, jobs, kernel, resources, root, service, session
from outlive.jobs.doctor.finding import Finding, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from outlive.jobs.doctor.finding import Place

# Name → check, in the order in which they are told.
CHECKS: dict[str, Callable[[Place], Finding]] = {
    "python": install.python,
    "configuration": install.configuration,
    "root": root.root,
    "file_system": root.file_system,
    "space": root.space,
    "jobs": jobs.jobs,
    "supervision": jobs.supervision,
    "kernel": kernel.features,
    "who_is_blocked": kernel.blocked,
    "open_files": resources.open_files,
    "pipes": resources.pipes,
    "memory": resources.memory,
    "zombies": resources.zombies,
    "logout": session.logout,
    "service": service.service,
    "scopes": service.scopes,
    "sandbox": clients.sandbox,
    "clients": clients.clients,
}


def run(place: Place) -> dict[str, Finding]:
    """Every check. One that cannot be made says so and holds up no other one."""
    return {name: _tried(check, place) for name, check in CHECKS.items()}


def _tried(check: Callable[[Place], Finding], place: Place) -> Finding:
    try:
        return check(place)
    except (OSError, OutliveError, ValueError) as error:
        return warn(f"it could not be looked at: {error}", "Run `outlive doctor` as the user whose jobs these are.")
