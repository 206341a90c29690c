"""Does the end of a service or of a container end jobs?"""

from __future__ import annotations

import subprocess

from outlive.jobs.doctor.finding import Finding, fail, ok, warn
from outlive.system import cgroup, systemd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.doctor.finding import Place

_ASK_S = 3.0
_SPARING = frozenset({"process", "none"})  # mixed ends the rest of the group too, with SIGKILL (systemd.kill(5))


def service(place: Place) -> Finding:
    where = systemd.unit_of(cgroup.unit_path(), contained=systemd.is_container())
    return judged(where, _kill_mode(where) if where.kind in (systemd.SERVICE, systemd.USER_UNIT) else None)


def judged(where: systemd.Unit, kill_mode: str | None) -> Finding:
    """What the control group we are in means for the jobs that are started from here. `kill_mode`: None if not known."""
    facts = {"kind": where.kind, "unit": where.name or None, "group": where.path, "kill_mode": kill_mode}
    if where.kind == systemd.CONTAINER:
        advice = "Keep the root on a volume: what ran is told as lost or reboot afterwards, with its output."
        return warn(f"in a container ({where.path or '/'}): its stop ends every job in it", advice, **facts)
    if where.kind in (systemd.SERVICE, systemd.USER_UNIT) and where.name.endswith(".service"):
        if kill_mode in _SPARING:
            return ok(f"in {where.name} with KillMode={kill_mode}: jobs outlive its restart", **facts)
        advice = "Give jobs scopes of their own ([exec] systemd_scope = true), or set KillMode=process in the unit."
        told = f"in {where.name} with KillMode={kill_mode or 'control-group (the default; it could not be asked)'}"
        return warn(f"{told}: its stop or restart ends every job in it", advice, **facts)
    if where.name:
        return ok(f"in {where.name}: jobs end with that scope, and with no service", **facts)
    return ok("in no unit of systemd and no container that can be seen", **facts)


def scopes(place: Place) -> Finding:
    """Are jobs to get scopes of their own, and could they?"""
    import shutil

    program = shutil.which("systemd-run", path=place.env.get("PATH"))
    asked = place.config is not None and bool(place.config.get("exec", "systemd_scope"))
    could = program is not None and systemd.is_init()
    facts = {"asked": asked, "program": program, "systemd": systemd.is_init()}
    why_not = "systemd is not the init here" if program else "there is no systemd-run"
    if asked and not could:
        return fail(
            f"asked for ([exec] systemd_scope = true), but {why_not}",
            "No job can be started: set systemd_scope = false.",
            **facts,
        )
    told = "each job gets one" if asked else "not asked for" + ("" if could else f", and {why_not}")
    return ok(told, **facts)


def _kill_mode(where: systemd.Unit) -> str | None:
    words = [
        "systemctl",
        *(["--user"] if where.kind == systemd.USER_UNIT else []),
        "show",
        "--property=KillMode",
        "--value",
    ]
    try:
        done = subprocess.run(
            [*words, "--", where.name], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None
