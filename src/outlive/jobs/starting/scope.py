"""A transient systemd scope for a job, from which its supervisor is launched."""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.records import Definition
from outlive.errors import OutliveError, argument
from outlive.jobs.context import Principal
from outlive.launch.systemd_scope import Launcher
from outlive.system.waiting import pause


def entered(caller: Principal, definition: Definition) -> Launcher | None:
    """Return a launcher in a scope of the job's own, which is a control group that systemd delegates; None where a part
    needs one and none can be had: the answer then says what the part could not do. Errors: launch_failed; then nothing
    was started."""
    if definition.systemd_scope:
        return _entered(caller, definition.job_id)
    try:
        return _entered(caller, definition.job_id)
    except OutliveError:
        return None


def _entered(caller: Principal, job_id: str) -> Launcher:
    launcher: Launcher | None = None
    deadline = time.monotonic() + limits.LAUNCH_S
    try:
        launcher = Launcher(job_id, caller.env)
        while not launcher.is_there():
            if time.monotonic() >= deadline:
                raise OSError(f"systemd-run made no scope within {limits.LAUNCH_S:.0f} s")
            pause((launcher.fileno(),), deadline)
    except BaseException as error:
        if launcher is not None:
            launcher.give_up()
        if isinstance(error, OSError):
            raise OutliveError("launch_failed", f"{error}; nothing was run", hint=_without_scope(caller)) from error
        raise
    return launcher


def _without_scope(caller: Principal) -> str:
    flag = f"{argument('no_systemd_scope')}, or " if caller.face == "cli" else ""
    return (
        "A scope needs a systemd that can be reached (`systemctl status`, for a user `systemctl --user status`); "
        f"`outlive doctor` tells. Without one: {flag}systemd_scope = false in [exec] of the configuration."
    )
