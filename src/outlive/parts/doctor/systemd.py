"""Whether a logout, or the end of a service, of a login session or of a container, ends jobs."""

from __future__ import annotations

import os
import pwd
import subprocess

from outlive.errors import OutliveError
from outlive.parts.doctor import logind
from outlive.parts.finding import CheckContext, Finding, fail, ok, warn
from outlive.system import cgroup, fds, own_programs, systemd

_ASK_S = 3.0
_MARKS = ("/.dockerenv", "/run/.containerenv")
# mixed ends the rest of the group too, with SIGKILL (systemd.kill(5))
_SPARING = frozenset({"process", "none"})
_WAY_OUT = "Set [exec] systemd_scope = true (or run --systemd-scope), and once: loginctl enable-linger {user}."


def _is_container() -> bool:
    """Return whether this is a container, by the marks that engines leave."""
    is_marked = any(os.path.exists(mark) for mark in _MARKS)
    return is_marked or any(word.startswith(b"container=") for word in fds.content("/proc/1/environ").split(b"\0"))


def service(context: CheckContext) -> Finding:
    where = systemd.unit_of(cgroup.unit_path(), contained=_is_container())
    return judged_service(where, _kill_mode(where) if where.kind in (systemd.SERVICE, systemd.USER_UNIT) else None)


def judged_service(where: systemd.Unit, kill_mode: str | None) -> Finding:
    """Judge what the control group of this process means for jobs.

    `kill_mode`: None if it is not known.
    """
    facts = {"kind": where.kind, "unit": where.name or None, "group": where.path, "kill_mode": kill_mode}
    if where.kind == systemd.CONTAINER:
        advice = "Keep the root on a volume: a job that ran is then reported as lost or reboot, with its output."
        return warn(f"in a container ({where.path or '/'}): stopping it ends every job in it", advice, **facts)
    if where.kind in (systemd.SERVICE, systemd.USER_UNIT) and where.name.endswith(".service"):
        if kill_mode in _SPARING:
            return ok(f"in {where.name} with KillMode={kill_mode}: jobs outlive its restart", **facts)
        advice = "Give jobs scopes of their own ([exec] systemd_scope = true), or set KillMode=process in the unit."
        told = f"in {where.name} with KillMode={kill_mode or 'control-group (the default; it could not be asked)'}"
        return warn(f"{told}: stopping or restarting it ends every job in it", advice, **facts)
    if where.name:
        return ok(f"in {where.name}: jobs end with that scope, and with no service", **facts)
    return ok("in no systemd unit and no container, as far as can be seen", **facts)


def scopes(context: CheckContext) -> Finding:
    """Check that jobs can get systemd scopes of their own, if the configuration asks for that."""
    try:
        program, missing = own_programs.find("systemd-run", context.env), ""
    except OutliveError as error:
        program, missing = None, error.message
    asked = context.config is not None and bool(context.config.get("exec", "systemd_scope"))
    could = program is not None and systemd.is_init()
    facts = {"asked": asked, "program": program, "systemd": systemd.is_init()}
    why_not = "systemd is not the init here" if program else missing
    if asked and not could:
        return fail(
            f"asked for ([exec] systemd_scope = true), but {why_not}",
            "No job can be started: set systemd_scope = false.",
            **facts,
        )
    told = "each job gets one" if asked else "not asked for" + ("" if could else f", and {why_not}")
    return ok(told, **facts)


def _kill_mode(where: systemd.Unit) -> str | None:
    try:
        program = own_programs.find("systemctl", os.environ)
    except OutliveError:
        return None
    words = [
        program,
        *(["--user"] if where.kind == systemd.USER_UNIT else []),
        "show",
        "--property=KillMode",
        "--value",
    ]
    try:
        done = subprocess.run(
            [*words, "--", where.name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_S,
            check=False,
            env=own_programs.environment(os.environ),
            cwd=own_programs.ELSEWHERE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None


# --- logout ---------------------------------------------------------------------------------------


def logout(context: CheckContext) -> Finding:
    """Check whether a logout ends jobs.

    With KillUserProcesses, logind ends what is in the scope of a login session. The service manager
    of a user that does not linger ends with the last session, and takes all of its own units with
    it.
    """
    if not systemd.is_init():
        return ok("systemd is not the init here: no logind ends the processes of a user", systemd=False)
    user, settings = _user(), logind.settings()
    kills, lingers = logind.kills_processes_of(user, settings), systemd.lingers(user)
    where = systemd.unit_of(cgroup.unit_path(), contained=_is_container())
    facts = {"systemd": True, "kills_user_processes": kills, "lingers": lingers, "unit": where.name or None}
    told = f"KillUserProcesses={'yes' if kills else 'no'} for user {user}, lingering {'on' if lingers else 'off'}"
    if where.kind == systemd.SESSION and kills:
        return warn(f"{told}: a logout ends this session with every job in it", _WAY_OUT.format(user=user), **facts)
    if where.kind == systemd.USER_UNIT and not lingers and user != "root":
        advice = f"Keep the service manager after the last logout: loginctl enable-linger {user}."
        return warn(
            f"{told}: {where.name} ends some seconds after the last logout, with every job in it", advice, **facts
        )
    return ok(f"{told}: a logout ends no job that is started from here", **facts)


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
