"""What `doctor` looks at: one module a topic, one function a check. A check takes the `Place` and returns a `Finding`;
whoever adds one writes it down in CHECKS.
"""

from __future__ import annotations

from outlive.actions.checks import clients, installation, jobs, kernel, limits_of_processes, root, service, session
from outlive.actions.checks.finding import Finding, warn
from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from outlive.actions.checks.finding import Place

# Name → check, in the order in which they are told.
CHECKS: dict[str, Callable[[Place], Finding]] = {
    "python": installation.python,
    "configuration": installation.configuration,
    "root": root.root,
    "file_system": root.file_system,
    "space": root.space,
    "jobs": jobs.jobs,
    "supervision": jobs.supervision,
    "kernel": kernel.features,
    "who_is_blocked": kernel.blocked,
    "open_files": limits_of_processes.open_files,
    "pipes": limits_of_processes.pipes,
    "memory": limits_of_processes.memory,
    "zombies": limits_of_processes.zombies,
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
