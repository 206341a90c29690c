"""The sandbox of a caller's jobs: what a call gets, and what a stored job may still have."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from typing import Any

from outlive.config import default_path, state_directory
from outlive.core.records import Definition, Sandbox
from outlive.errors import OutliveError
from outlive.jobs.context import Principal
from outlive.launch import engines
from outlive.launch.engines import Host
from outlive.sandbox import access, bubblewrap, gitconfig, modes, visible_paths
from outlive.system import own_programs

_XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


def of_call(caller: Principal, host: Host | None, cwd: str, args: dict[str, Any]) -> Sandbox | None:
    """Return the sandbox of a job that this call defines, as it is stored; None for a job without.

    Where a host does not share our files, this is the sandbox of the job's notification commands,
    which run here; the host makes that of the job, of the same mode. Errors: denied,
    invalid_argument, sandbox_unavailable.
    """
    elevated = bool(args.get("elevated"))
    asked = granted(caller, host, args.get("sandbox"), args.get("network"), args.get("git"), elevated=elevated)
    if asked.mode == modes.OFF:
        return None
    is_apart = host is not None and host.engine.mirrors
    sandbox = gitconfig.noted(resolved(caller, asked, needed=not is_apart), caller.env)
    if is_apart:
        return sandbox
    access.require_visible(sandbox, cwd, "cwd")
    return sandbox


def granted(
    caller: Principal,
    host: Host | None,
    mode: str | None,
    network: str | None = None,
    git: str | None = None,
    *,
    elevated: bool = False,
) -> modes.Granted:
    """Return the sandbox of a call that asks for this on a host. Errors: denied, invalid_argument."""
    return modes.granted(bounds(caller, None if host is None else host.name), mode, network, git, elevated=elevated)


def bounds(caller: Principal, host: str | None = None) -> modes.Bounds:
    """Return the default and the ceiling of this caller on a host (None: this machine): the
    stricter of the configuration's and its own."""
    return modes.bounds(caller.config.sandbox_of(host), caller.ceiling)


def resolved(caller: Principal, asked: modes.Granted, *, needed: bool = True) -> Sandbox:
    """Return the sandbox as it is stored. Unless it is `needed`, it may have no bwrap: nothing can
    run in it then. Errors: sandbox_unavailable."""
    sandbox = access.resolved(
        granted=asked,
        settings=caller.config.sandbox_of(None),
        environment=caller.env,
        workspace=(caller.rights.workdir if caller.rights else None) or caller.cwd,
        homes=_homes(caller),
        ours=_ours(caller, needed=needed),
    )
    own_programs.know(sandbox.roots)
    return sandbox


def renewed(caller: Principal, definition: Definition) -> Sandbox | None:
    """Return the sandbox of a stored job as it is to start now, whatever this caller may: what a new job in its place
    is kept from, it is kept from too. None for a job without. Errors: config_error, sandbox_unavailable."""
    before = definition.sandbox
    if before is None:
        return None
    ours = _ours(caller, needed=not is_apart(caller, definition))
    now = access.stricter(before, settings=caller.config.sandbox_of(None), homes=_homes(caller), ours=ours)
    now = gitconfig.noted(now, caller.env)
    own_programs.know(now.roots)
    return Sandbox.replace(now, added=[*dict.fromkeys((*before.added, *_added(before, now)))])


def _added(before: Sandbox, now: Sandbox) -> Iterator[str]:
    """Yield what of the places that a job is shown is kept from it now, and was not before."""
    shown = visible_paths.visible(now)
    for path in (*now.hide, *now.protect):
        if path not in (*before.hide, *before.protect) and visible_paths.is_in(path, shown):
            yield path
    folders = [path for path in now.git_folders if path not in before.git_folders]
    for path in (os.path.normpath(os.path.join(root, folder)) for folder in folders for root in now.roots):
        if visible_paths.is_in(path, now.roots) and os.path.isdir(path):
            yield path


def _ours(caller: Principal, *, needed: bool) -> access.Ours:
    try:
        bwrap = bubblewrap.find(caller.config.sandbox_of(None)["bwrap"])
    except OutliveError:
        if needed:
            raise
        bwrap = ""
    return access.Ours(_secret(caller), bubblewrap.installed(), bwrap)


def _homes(caller: Principal) -> list[str]:
    homes = [caller.env.get("HOME"), os.path.expanduser("~")]
    try:
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:  # a user that the system does not list, as in some containers
        pass
    return list(dict.fromkeys(path.rstrip("/") for path in homes if path and os.path.isabs(path) and path != "/")) or [
        "/nonexistent"
    ]


def _secret(caller: Principal) -> list[str]:
    """Return what is ours, by each way to name it. A server takes what it keeps from its own environment."""
    ours = [caller.store.path, *([caller.config.path] if caller.config.path else [])]
    for env in (caller.env, os.environ):
        ours += [env.get("OUTLIVE_ROOT", ""), env.get("OUTLIVE_CONFIG", "")]
        ours += [os.path.dirname(default_path(env)), state_directory(env)]
        ours += [os.path.join(env[name], "outlive") for name in _XDG if env.get(name)]
    return [path for path in dict.fromkeys(ours) if os.path.isabs(path) and path.strip("/")]


def require(caller: Principal, definition: Definition, doing: str) -> None:
    """Refuse what would let this caller do more than its own ceiling by way of a stored job. A caller whose ceiling is
    off may do what it wants without the job; what the job itself is kept from is in `renewed`.

    Errors: denied.
    """
    sandbox = definition.sandbox
    if not (caller.config.uses("sandbox") or caller.ceiling or sandbox):
        return
    limit = bounds(caller, definition.host)
    if limit.most_mode == modes.OFF:
        return
    if not modes.within(sandbox, limit):
        had = (
            "without a sandbox"
            if sandbox is None
            else f"in the sandbox {sandbox.mode} with network {sandbox.network}, git {sandbox.git}"
        )
        raise OutliveError(
            "denied",
            f"the job was defined {had}; this caller may {doing} one of at most {limit.most_mode} with network "
            f"{limit.most_network}, git {limit.most_git}",
            hint="Run the command as a new job.",
        )
    assert sandbox is not None
    same = modes.Granted(sandbox.mode, sandbox.network, sandbox.git)
    own = resolved(caller, same, needed=not is_apart(caller, definition))
    _require_shown(sandbox, own, may_hide=doing in ("start", "restart"))


def _require_shown(sandbox: Sandbox, own: Sandbox, *, may_hide: bool) -> None:
    """Refuse a stored job that is shown what this caller's own jobs are not, whatever its mode: its variables and its
    input are the caller's. `may_hide`: what was hidden since is hidden from the job when it starts. Errors: denied."""
    shown, of_own = visible_paths.visible(sandbox), visible_paths.visible(own)
    more = [path for path in shown if not visible_paths.is_in(path, of_own) or visible_paths.is_in(path, own.hide)]
    if not may_hide:
        hidden = [path for path in own.hide if not visible_paths.is_in(path, sandbox.hide)]
        more += [path for path in hidden if visible_paths.is_in(path, shown)]
    if not more:
        return
    may = "write" if sandbox.mode == "workspace-write" and more[0] in sandbox.roots else "read"
    raise OutliveError(
        "denied",
        f"the job may {may} {more[0]}, this caller may not",
        hint="Run the command as a new job, or start outlive in that directory.",
    )


def is_apart(caller: Principal, definition: Definition) -> bool:
    """Return whether a job runs on a host that does not share our files."""
    if definition.host is None:
        return False
    return engines.host_of(caller.config, definition.host).engine.mirrors


def require_usable(caller: Principal, definition: Definition) -> None:
    """Errors: sandbox_unavailable if the job's bwrap is gone, invalid_argument if its directory is
    not visible to it."""
    sandbox = definition.sandbox
    if sandbox is None or is_apart(caller, definition):
        return
    if not bubblewrap.may_run(sandbox.bwrap):
        raise bubblewrap.unavailable(f"{sandbox.bwrap} is gone, or a job could write it", bubblewrap.INSTALL)
    access.require_visible(sandbox, definition.cwd, "cwd")


def inherited(definition: Definition, environment: dict[str, str]) -> dict[str, str]:
    sandbox = definition.sandbox
    return environment if sandbox is None else visible_paths.filtered(environment, sandbox.environment)


def require_sinks(definition: Definition) -> None:
    """Check the files that notifications go to: the job must be able to write them. Errors: denied."""
    if definition.sandbox is None or definition.notification.is_empty:
        return
    if not definition.sandbox.bwrap:  # on this machine there is none, and the commands would run here
        bubblewrap.find(None)
    files = [("notify_file", definition.notification.notify_file)]
    files += [("watch", watch.file) for watch in definition.notification.every_watch]
    for field, path in files:
        if path is not None:
            access.require_writable(definition.sandbox, path, field)


def not_set_up(message: str) -> OutliveError:
    what = f"the sandbox could not be set up: {message}"
    if message.startswith("bwrap"):  # what we say ourselves is about directories, and has its advice in it
        return bubblewrap.unavailable(what)
    return OutliveError("sandbox_unavailable", f"{what}; nothing was run")
