"""What the jobs of a caller may reach: the boundary of a part, or none. All of it is asked in a caller.

Where the configuration and the caller know no sandbox, and a job has none, no part is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from outlive import parts
from outlive.core.records import Definition, GrantedSandbox, Sandbox
from outlive.errors import OutliveError
from outlive.jobs.conditions.condition import Condition
from outlive.jobs.context import Principal
from outlive.launch.engines import Host
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output

Check = Callable[[int, str, str], None]  # of an open file, by its path, for the argument of this name. Errors: denied


class Reach:
    """What a caller may have looked at for it: the server itself asks for ports, servers and files of a condition, and is
    in no sandbox."""

    def require(self, definition: Definition, conditions: Iterable[Condition]) -> None:
        """Errors: denied for a condition that asks for more than the caller's jobs could."""

    def sees(self, path: str) -> bool:
        """Return whether a job of the caller would see what is at this path now."""
        return True


class Boundary:
    """What a part decides about what jobs may reach. The base is that of no part: it lets nothing run that was to have a
    boundary."""

    def of_call(self, caller: Principal, host: Host | None, cwd: str, args: dict[str, Any]) -> Sandbox | None:
        """Return the sandbox of a job that a call defines, as it is stored; None for a job without. Errors: denied,
        invalid_argument, sandbox_unavailable."""
        _missing()

    def granted(self, caller: Principal, host: Host | None, args: Mapping[str, Any]) -> GrantedSandbox:
        """Return the sandbox of a call with these arguments (sandbox, network, git, elevated) on a host. Errors: denied,
        invalid_argument."""
        _missing()

    def require(self, caller: Principal, definition: Definition, doing: str) -> None:
        """Refuse what would let a caller do more than its own ceiling by way of a stored job. Errors: denied."""
        _missing()

    def renewed(self, caller: Principal, definition: Definition) -> Sandbox:
        """Return the sandbox of a stored job that has one, as it is to start now. Errors: config_error,
        sandbox_unavailable."""
        _missing()

    def require_usable(self, caller: Principal, definition: Definition) -> None:
        """Check that the sandbox of a job can be set up. Errors: sandbox_unavailable, invalid_argument."""
        _missing()

    def require_sinks(self, caller: Principal, definition: Definition) -> None:
        """Check that a job may write the files that its notifications go to, and that its commands for them, which run on
        this machine also for a job on another one, may do no more than a job of this caller here. Errors: denied."""
        _missing()

    def require_readable(self, sandbox: Sandbox, path: str, field: str) -> None:
        """Check that a job sees what is at this path. Errors: denied."""
        _missing()

    def inherited(self, sandbox: Sandbox, environment: dict[str, str]) -> dict[str, str]:
        """Return what of an environment a job gets. Nothing without the part: a supervisor that goes on with the job runs no
        notification command then."""
        return {}

    def cause(self, inspection: Inspection, output: Output) -> str | None:
        """Return what of its sandbox may have made a job fail; None if its output does not look like that."""

    def gone(self, definition: Definition) -> str | None:
        """Return which of the files that a job's command names are gone with its sandbox; None if it names none."""

    def not_set_up(self, message: str) -> OutliveError:
        """Return the error about a sandbox that could not be set up, as its supervisor says."""
        return OutliveError("sandbox_unavailable", f"the sandbox could not be set up: {message}; nothing was run")

    def reach(self, caller: Principal) -> Reach | None:
        """Return what a caller may have looked at for it; None where nothing limits it. Errors: sandbox_unavailable."""
        _missing()


def applies(caller: Principal) -> bool:
    """Return whether jobs of this caller may have a boundary, whatever a call asks for."""
    return caller.config.uses("sandbox") or bool(caller.rights.sandbox)


def of_call(caller: Principal, host: Host | None, cwd: str, args: dict[str, Any]) -> Sandbox | None:
    """Return the sandbox of a job that a call defines (`Boundary.of_call`)."""
    return of_part().of_call(caller, host, cwd, args) if _is_asked(caller, args) else None


def granted(caller: Principal, host: Host | None, args: Mapping[str, Any]) -> GrantedSandbox:
    """Return the sandbox of a call with these arguments (`Boundary.granted`); mode "off" for none."""
    return of_part().granted(caller, host, args) if _is_asked(caller, args) else GrantedSandbox("off", "open", "write")


def _is_asked(caller: Principal, args: Mapping[str, Any]) -> bool:
    return bool(applies(caller) or args.get("sandbox") or args.get("network"))


def require(caller: Principal, definition: Definition, doing: str) -> None:
    """Check that a caller may do this with a stored job (`Boundary.require`). Errors: denied."""
    if applies(caller) or definition.sandbox is not None:
        of_part().require(caller, definition, doing)


def require_usable(caller: Principal, definition: Definition) -> None:
    """Check that the sandbox of a job, if it has one, can be set up (`Boundary.require_usable`)."""
    if definition.sandbox is not None:
        of_part().require_usable(caller, definition)


def renewed(caller: Principal, definition: Definition) -> Sandbox | None:
    """Return the sandbox that a stored job has if it starts now (`Boundary.renewed`); None for a job without."""
    return None if definition.sandbox is None else of_part().renewed(caller, definition)


def require_sinks(caller: Principal, definition: Definition) -> None:
    """Check the files and commands that the notifications of a job go to (`Boundary.require_sinks`)."""
    if not definition.notification.is_empty and (applies(caller) or definition.sandbox is not None):
        of_part().require_sinks(caller, definition)


def inherited(definition: Definition, environment: dict[str, str]) -> dict[str, str]:
    """Return what of an environment a job gets."""
    return environment if definition.sandbox is None else of_part().inherited(definition.sandbox, environment)


def reading_in(sandbox: Sandbox | None) -> Check | None:
    """Return what refuses to give a job in this sandbox a file that it does not see, unless the caller named the file
    itself: a link in the workspace may be the work of an earlier job. None for a job without a sandbox."""
    if sandbox is None:
        return None

    def check(fd: int, path: str, field: str) -> None:
        real = os.readlink(f"/proc/self/fd/{fd}")
        if real != path:
            of_part().require_readable(sandbox, real, field)

    return check


def reach(caller: Principal, conditions: Iterable[Condition]) -> Reach | None:
    """Return what a caller over MCP may have looked at for it by these conditions; None where nothing limits it. Errors:
    sandbox_unavailable."""
    is_asked = caller.face == "mcp" and look_outside(conditions) and applies(caller)
    return of_part().reach(caller) if is_asked else None


def look_outside(conditions: Iterable[Condition]) -> bool:
    """Return whether any of these conditions looks at the machine, not at the job, as those of parts do."""
    return any(one.name in parts.conditions() for one in conditions)


def of_part() -> Boundary:
    """Return the boundary of the part that has one."""
    boundary: Boundary | None = parts.only("boundary")
    return boundary or Boundary()


def _missing() -> NoReturn:
    raise OutliveError(
        "not_supported",
        f"a sandbox needs {parts.not_there(['sandbox'])}; nothing was run",
        hint="Install outlive whole.",
    )
