"""Does a logout end jobs?"""

from __future__ import annotations

import os

from outlive.jobs.doctor.finding import Finding, ok, warn
from outlive.system import cgroup, systemd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.doctor.finding import Place

WAY_OUT = "Set [exec] systemd_scope = true (or run --systemd-scope), and once: loginctl enable-linger {user}."


def logout(place: Place) -> Finding:
    """KillUserProcesses ends what is in the scope of a login session; the manager of a user that does not linger ends
    with the last of them, and all of its own units with it."""
    if not systemd.is_init():
        return ok("systemd is not the init here: no logind ends the processes of a user", systemd=False)
    user, settings = _user(), systemd.logind_settings()
    kills, lingers = systemd.kills_processes_of(user, settings), systemd.lingers(user)
    where = systemd.unit_of(cgroup.unit_path(), contained=systemd.is_container())
    facts = {"systemd": True, "kills_user_processes": kills, "lingers": lingers, "unit": where.name or None}
    return _judged(where, user, kills=kills, lingers=lingers, facts=facts)


def _judged(where: systemd.Unit, user: str, *, kills: bool, lingers: bool, facts: dict[str, Any]) -> Finding:
    told = f"KillUserProcesses={'yes' if kills else 'no'} for {user}, who {'lingers' if lingers else 'does not linger'}"
    if where.kind == systemd.SESSION and kills:
        return warn(f"{told}: a logout ends this session with every job in it", WAY_OUT.format(user=user), **facts)
    if where.kind == systemd.USER_UNIT and not lingers and user != "root":
        advice = f"Keep it when nobody is logged in: loginctl enable-linger {user}."
        return warn(
            f"{told}: {where.name} ends some seconds after the last logout, with every job in it", advice, **facts
        )
    return ok(f"{told}: a logout ends no job that is started from here", **facts)


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
